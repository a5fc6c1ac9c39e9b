//! Paths of a rule: patterns as in `.gitignore`, beginning at the file system (`//`), at home
//! (`~/`), at the project (`/`), or where the agent works. Names only; no file is looked at.

use std::path::{Component, Path, PathBuf};

use gambrel_model::glob::glob_matches;

use super::Asked;

/// Whether a path is, or for a tool that searches below it contains, one that a rule means.
pub fn meets(spec: &str, named: &str, asked: &Asked<'_>, searches: bool) -> bool {
    let home = asked.event.env.get("HOME").map(PathBuf::from);
    let at_home = |text: &str| Some(home.as_ref()?.join(text));
    let named = match named.strip_prefix("~/") {
        Some(rest) => at_home(rest).unwrap_or_else(|| named.into()),
        None => asked.event.cwd.join(named),
    };
    let named = parts(&named);
    let (bases, pattern) = bases(spec, asked);
    bases.iter().any(|base| {
        let base = parts(base);
        let pattern = segments(pattern);
        let inside = named.strip_prefix(base.as_slice());
        inside.is_some_and(|inside| covers(&pattern, inside))
            || searches && reaches(&base, &pattern, &named)
    })
}

/// Where a pattern begins; where that can be read in two ways, both.
fn bases<'s>(spec: &'s str, asked: &Asked<'_>) -> (Vec<PathBuf>, &'s str) {
    let event = asked.event;
    let home = event.env.get("HOME").map(PathBuf::from);
    if let Some(rest) = spec.strip_prefix("//") {
        return (vec!["/".into()], rest);
    }
    if let Some((rest, home)) = spec.strip_prefix("~/").zip(home) {
        return (vec![home], rest);
    }
    if spec.starts_with('/') {
        return (vec![event.project.clone(), asked.base.to_owned(), "/".into()], spec);
    }
    let spec = spec.strip_prefix("./").unwrap_or(spec);
    (vec![event.cwd.clone(), event.project.clone()], spec)
}

/// A name alone is looked for in every folder; a pattern with a slash begins at its base.
fn segments(pattern: &str) -> Vec<&str> {
    let anchored = pattern.trim_end_matches('/').contains('/');
    let names = pattern.split('/').filter(|name| !name.is_empty());
    let every = (!anchored).then_some("**");
    every.into_iter().chain(names).collect()
}

/// The names of a path, `.` and `..` settled.
fn parts(path: &Path) -> Vec<String> {
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

/// Whether a pattern names the path or a folder above it. `met[j]`: the names so far are met by
/// `pattern[..j]`.
fn covers(pattern: &[&str], names: &[String]) -> bool {
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

/// Whether a search below a folder may come upon what the pattern means.
fn reaches(base: &[String], pattern: &[&str], named: &[String]) -> bool {
    let fixed = pattern.iter().take_while(|name| !name.contains(['*', '?', '[']));
    let fixed = fixed.map(|name| (*name).to_owned());
    let lead: Vec<String> = base.iter().cloned().chain(fixed).collect();
    lead.starts_with(named) || named.starts_with(&lead)
}
