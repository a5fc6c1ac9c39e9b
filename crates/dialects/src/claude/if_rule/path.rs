//! Matches paths against patterns as in `.gitignore`. A pattern is relative to the root (`//`), the
//! home folder (`~/`), the project (`/`), or the agent's working folder. Reads no file.

use std::path::{Component, Path, PathBuf};

use gambrel_model::glob::glob_matches;

use super::IfQuery;

/// Whether a path matches a rule. For a tool that searches, also whether the path may contain a
/// matching one.
pub fn path_matches(spec: &str, named: &str, query: &IfQuery<'_>, searches: bool) -> bool {
    let home = query.event.context.env.get("HOME").map(PathBuf::from);
    let at_home = |text: &str| Some(home.as_ref()?.join(text));
    let named = match named.strip_prefix("~/") {
        Some(rest) => at_home(rest).unwrap_or_else(|| named.into()),
        None => query.event.cwd.join(named),
    };

    let named = path_components(&named);
    let (bases, pattern) = pattern_bases(spec, query);
    bases.iter().any(|base| {
        let base = path_components(base);
        let pattern = pattern_segments(pattern);
        let inside = named.strip_prefix(base.as_slice());
        inside.is_some_and(|inside| covers_path(&pattern, inside))
            || searches && may_contain(&base, &pattern, &named)
    })
}

/// The base folders of a pattern, and the pattern without its prefix. An ambiguous prefix has
/// several bases.
fn pattern_bases<'s>(spec: &'s str, query: &IfQuery<'_>) -> (Vec<PathBuf>, &'s str) {
    let event = query.event;
    let home = event.context.env.get("HOME").map(PathBuf::from);
    if let Some(rest) = spec.strip_prefix("//") {
        return (vec!["/".into()], rest);
    }
    if let Some((rest, home)) = spec.strip_prefix("~/").zip(home) {
        return (vec![home], rest);
    }
    if spec.starts_with('/') {
        return (vec![event.project.clone(), query.base.to_owned(), "/".into()], spec);
    }
    let spec = spec.strip_prefix("./").unwrap_or(spec);
    (vec![event.cwd.clone(), event.project.clone()], spec)
}

/// The segments of a pattern. A pattern without a slash matches in every folder.
fn pattern_segments(pattern: &str) -> Vec<&str> {
    let anchored = pattern.trim_end_matches('/').contains('/');
    let names = pattern.split('/').filter(|name| !name.is_empty());
    let every = (!anchored).then_some("**");
    every.into_iter().chain(names).collect()
}

/// The components of a path, with `.` and `..` resolved.
fn path_components(path: &Path) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for component in path.components() {
        match component {
            Component::ParentDir => drop(names.pop()),
            Component::Normal(name) => names.push(name.to_string_lossy().into_owned()),
            _ => {}
        }
    }
    names
}

/// Whether a pattern matches the path or a folder above it. `met[j]`: the names so far match
/// `pattern[..j]`.
fn covers_path(pattern: &[&str], names: &[String]) -> bool {
    let mut met = vec![false; pattern.len() + 1];
    met[0] = true;
    for (j, segment) in pattern.iter().enumerate() {
        met[j + 1] = met[j] && *segment == "**";
    }
    for name in names {
        let mut diagonal = std::mem::take(&mut met[0]);
        for (j, segment) in pattern.iter().enumerate() {
            let above = met[j + 1];
            met[j + 1] = match *segment {
                "**" => above || met[j] || diagonal,
                segment => diagonal && glob_matches(segment, name),
            };
            diagonal = above;
        }
        if met[pattern.len()] {
            return true;
        }
    }
    met[pattern.len()]
}

/// Whether a search below a folder may find a path that matches the pattern.
fn may_contain(base: &[String], pattern: &[&str], named: &[String]) -> bool {
    let fixed = pattern.iter().take_while(|name| !name.contains(['*', '?', '[']));
    let fixed = fixed.map(|name| (*name).to_owned());
    let lead: Vec<String> = base.iter().cloned().chain(fixed).collect();
    lead.starts_with(named) || named.starts_with(&lead)
}
