//! Paths of a rule: patterns as in `.gitignore`, beginning at the file system (`//`), at home
//! (`~/`), at the project (`/`), or where the agent works. Names only; no file is looked at.

use std::path::{Component, Path, PathBuf};

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
                segment => diagonal && is_like(segment, name),
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

/// One name against one segment: `*`, `?`, `[a-z]`, and a backslash before any of them.
fn is_like(segment: &str, name: &str) -> bool {
    let (pattern, name): (Vec<char>, Vec<char>) =
        (segment.chars().collect(), name.chars().collect());
    let (mut p, mut n) = (0, 0);
    let mut star: Option<(usize, usize)> = None;
    while n < name.len() {
        if pattern.get(p) == Some(&'*') {
            star = Some((p + 1, n));
            p += 1;
            continue;
        }
        match one(&pattern[p.min(pattern.len())..], name[n]) {
            Some(used) => (p, n) = (p + used, n + 1),
            None => match star {
                Some((after, from)) => {
                    star = Some((after, from + 1));
                    (p, n) = (after, from + 1);
                }
                None => return false,
            },
        }
    }
    pattern[p.min(pattern.len())..].iter().all(|c| *c == '*')
}

/// How much of a pattern one character takes, if it fits.
fn one(pattern: &[char], c: char) -> Option<usize> {
    match pattern {
        ['?', ..] => Some(1),
        ['\\', escaped, ..] => (*escaped == c).then_some(2),
        ['[', rest @ ..] => match rest.iter().skip(1).position(|c| *c == ']') {
            Some(end) => in_class(&rest[..=end], c).then_some(end + 3),
            None => (c == '[').then_some(1),
        },
        [first, ..] => (*first == c).then_some(1),
        [] => None,
    }
}

fn in_class(class: &[char], c: char) -> bool {
    let (negated, mut rest) = match class {
        ['!' | '^', rest @ ..] => (true, rest),
        rest => (false, rest),
    };
    let mut found = false;
    while let [first, after @ ..] = rest {
        (found, rest) = match after {
            ['-', last, after @ ..] => (found || (*first..=*last).contains(&c), after),
            _ => (found || *first == c, after),
        };
    }
    found != negated
}
