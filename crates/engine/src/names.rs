//! What a command may name: every word that could be a path, read generously, since a file too many
//! costs only a renewed trust. Text alone: it starts no shell and knows no disk.

/// A word that may be a path.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Name {
    /// What it is relative to.
    pub start: Start,
    /// The path from there.
    pub path: String,
    /// Whether a folder of that name stands for all files in it: a glob looks into it, or a
    /// variable holds it.
    pub whole: bool,
}

/// Where a name begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Start {
    /// In the folder that the command runs in.
    Here,
    /// In the project's folder, wherever the command runs.
    Project,
    /// Behind an expansion that only a shell could tell.
    Unknown,
}

/// What stands for an expansion while a text is taken apart.
const MARKS: [(char, Start); 3] =
    [('\u{e000}', Start::Here), ('\u{e001}', Start::Project), ('\u{e002}', Start::Unknown)];
/// An escaped space, which parts no words.
const SPACE: char = '\u{e003}';
const GLOBS: [char; 4] = ['*', '?', '[', '{'];
/// A longer word is no path.
const LONGEST: usize = 4_096;
/// Expansions inside expansions are read so deep.
const DEPTH: usize = 8;

/// Every name in a text, sorted, none twice.
pub(crate) fn names(text: &str) -> Vec<Name> {
    let mut names = Vec::new();
    gather(text, DEPTH, &mut names);
    names.sort();
    names.dedup();
    names
}

fn gather(text: &str, depth: usize, names: &mut Vec<Name>) {
    let (text, inner) = marked(text);
    let first = names.len();
    // Quotes end a word, are a part of it, or hold it with its spaces; the whole text may be one.
    let joined: String = text.chars().filter(|c| !is_quote(*c)).collect();
    let words = text.split(parts).chain(joined.split(parts)).chain(text.split(is_quote));
    for word in words.chain([text.as_str()]) {
        pieces(word, names);
    }
    if goes_to_project(&joined) {
        let relative = names[first..].iter_mut().filter(|name| name.start == Start::Here);
        relative.for_each(|name| name.start = Start::Project);
    }
    for text in inner.iter().filter(|_| depth > 0) {
        gather(text, depth - 1, names);
    }
}

fn is_quote(c: char) -> bool {
    matches!(c, '"' | '\'')
}

fn parts(c: char) -> bool {
    c.is_whitespace() || "\"'`;|&()<>".contains(c)
}

/// `cd "$CLAUDE_PROJECT_DIR" && …`: from there on nothing depends on where it was started.
fn goes_to_project(text: &str) -> bool {
    let mut words = text.split_whitespace();
    words.next() == Some("cd") && words.next().and_then(mark) == Some(Start::Project)
}

/// A word, what is assigned in it, and each entry of a list like that of `PATH`.
fn pieces(word: &str, names: &mut Vec<Name>) {
    if word.len() >= LONGEST {
        return;
    }
    let (left, value) = word.split_once('=').unwrap_or(("", word));
    let variable = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let assigned = !left.is_empty() && left.chars().all(variable);
    let listed = value.contains(':');
    for piece in [word, left, value].into_iter().chain(value.split(':').filter(|_| listed)) {
        take(piece, assigned || listed, names);
    }
}

/// The name in a word. Where a glob or an unknown cuts it short, the folder before that is meant,
/// and what follows the last expansion.
fn take(word: &str, whole: bool, names: &mut Vec<Name>) {
    let behind = word.trim_start_matches(is_mark);
    let start = match word.chars().take_while(|c| is_mark(*c)).count() {
        0 => Start::Here,
        1 => mark(word).unwrap_or(Start::Unknown),
        _ => Start::Unknown,
    };
    let path = if behind == word { word } else { behind.trim_start_matches('/') };
    let mut push = |path: &str, whole| {
        let path = path.replace(SPACE, " ");
        names.push(Name { start, path, whole });
    };
    let Some(cut) = path.find(|c| is_mark(c) || GLOBS.contains(&c)) else {
        if !matches!(path, "" | ".") {
            push(path, whole);
        }
        return;
    };
    match path[..cut].rfind('/') {
        Some(end) => push(&path[..end], true),
        // `*.sh` after a `cd`; not `[`, `{` or `-x$Y`.
        None if path[cut..].starts_with(['*', '?']) => push("", true),
        None => {}
    }
    match path.rfind(is_mark) {
        Some(at) => {
            let tail = path[at..].trim_start_matches(is_mark);
            take(&format!("{}{tail}", glyph(Start::Unknown)), whole, names);
        }
        None => push(path, whole),
    }
}

fn mark(word: &str) -> Option<Start> {
    let first = word.chars().next()?;
    MARKS.iter().find(|(glyph, _)| *glyph == first).map(|(_, start)| *start)
}

fn is_mark(c: char) -> bool {
    MARKS.iter().any(|(glyph, _)| *glyph == c)
}

fn glyph(start: Start) -> char {
    MARKS.iter().find(|(_, known)| *known == start).map_or(' ', |(glyph, _)| *glyph)
}

/// The text with a mark for each expansion and without escapes; and what stood inside of them.
fn marked(text: &str) -> (String, Vec<&str>) {
    let (mut out, mut inner) = (String::with_capacity(text.len()), Vec::new());
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let after = &rest[c.len_utf8()..];
        rest = match (c, expansion(rest)) {
            (_, Some(found)) => {
                out.push(glyph(found.start));
                inner.push(found.inner);
                found.after
            }
            ('\\', _) => match after.chars().next().filter(|c| c.is_whitespace()) {
                Some(space) => {
                    out.extend((space != '\n').then_some(SPACE));
                    &after[space.len_utf8()..]
                }
                None => after,
            },
            _ => {
                out.push(c);
                after
            }
        };
    }
    (out, inner)
}

struct Expansion<'t> {
    start: Start,
    inner: &'t str,
    after: &'t str,
}

/// The expansion that a text begins with.
fn expansion(text: &str) -> Option<Expansion<'_>> {
    if let Some(rest) = text.strip_prefix('`') {
        let (inner, after) = rest.split_once('`')?;
        return Some(Expansion { start: by_command(inner), inner, after });
    }
    let rest = text.strip_prefix('$')?;
    if let Some(body) = rest.strip_prefix('(') {
        let (inner, after) = balanced(body, '(', ')')?;
        return Some(Expansion { start: by_command(inner), inner, after });
    }
    if let Some(body) = rest.strip_prefix('{') {
        let (inner, after) = balanced(body, '{', '}')?;
        let (name, default) = variable(inner);
        let default = default.trim_start_matches([':', '-', '=', '+', '?', '%', '#']);
        return Some(Expansion { start: by_variable(name), inner: default, after });
    }
    let (name, after) = variable(rest);
    let special = rest.strip_prefix(['@', '*']);
    match (name, special) {
        ("", Some(after)) => Some(Expansion { start: Start::Unknown, inner: "", after }),
        ("", None) => None,
        _ => Some(Expansion { start: by_variable(name), inner: "", after }),
    }
}

/// The name of a variable, and what follows it.
fn variable(text: &str) -> (&str, &str) {
    let end = text.find(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    text.split_at(end.unwrap_or(text.len()))
}

fn by_variable(name: &str) -> Start {
    match name {
        "CLAUDE_PROJECT_DIR" | "CLAUDE_PLUGIN_ROOT" => Start::Project,
        "PWD" => Start::Here,
        _ => Start::Unknown,
    }
}

fn by_command(text: &str) -> Start {
    match text.split_whitespace().next() {
        Some("pwd") => Start::Here,
        _ => Start::Unknown,
    }
}

/// What stands before the bracket that closes, and what after it; one far away closes nothing, so
/// that many that are never closed take no time.
fn balanced(text: &str, open: char, close: char) -> Option<(&str, &str)> {
    let mut depth = 1_usize;
    for (at, c) in text.char_indices().take(LONGEST) {
        depth += usize::from(c == open);
        depth -= usize::from(c == close);
        if depth == 0 {
            return Some((&text[..at], &text[at + close.len_utf8()..]));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn has(text: &str, start: Start, path: &str, whole: bool) {
        let wanted = Name { start, path: path.into(), whole };
        let all = names(text);
        assert!(all.contains(&wanted), "{text}: {wanted:?} is not in {all:#?}");
    }

    #[test]
    fn expansions_that_stand_for_the_project_are_undone() {
        for opening in [
            "\"$CLAUDE_PROJECT_DIR\"",
            "\"${CLAUDE_PROJECT_DIR:-.}\"",
            "\"${CLAUDE_PROJECT_DIR:-$PWD}\"",
            "\"${CLAUDE_PROJECT_DIR:-$(pwd)}\"",
            "${CLAUDE_PROJECT_DIR:?}",
            "${CLAUDE_PROJECT_DIR%/}",
        ] {
            has(&format!("bash {opening}/hooks/x.sh"), Start::Project, "hooks/x.sh", false);
        }
        for opening in ["\"$(pwd)\"", "`pwd`", "$PWD"] {
            has(&format!("{opening}/hooks/x.sh -v"), Start::Here, "hooks/x.sh", false);
        }
        let root = "$(git rev-parse --show-toplevel 2>/dev/null || echo .)/hooks/x.sh";
        has(root, Start::Unknown, "hooks/x.sh", false);
    }

    #[test]
    fn folders_stand_for_what_is_in_them() {
        let held = "H=\"$CLAUDE_PROJECT_DIR/hooks\"; \"$H/x.sh\"";
        has(held, Start::Project, "hooks", true);
        has("for f in hooks/*.sh; do bash \"$f\"; done", Start::Here, "hooks", true);
        has("PATH=\"$CLAUDE_PROJECT_DIR/hooks:$PATH\" x.sh", Start::Project, "hooks", true);
        has("sh \"${CLAUDE_PROJECT_DIR}/hooks/$1.sh\"", Start::Project, "hooks", true);
        has("${H:-hooks/mine}/x.sh", Start::Here, "hooks/mine", false);
        has("cd tools && for f in *.sh; do sh $f; done", Start::Here, "", true);
        has("ruff check src", Start::Here, "src", false);
    }

    #[test]
    fn quotes_and_escapes_are_undone() {
        has(r"bash hooks/x\.sh", Start::Here, "hooks/x.sh", false);
        has(r"bash my\ hooks/x.sh", Start::Here, "my hooks/x.sh", false);
        has("bash \"$CLAUDE_PROJECT_DIR/my hooks/x.sh\"", Start::Project, "my hooks/x.sh", false);
        has("bash -c 'sh \"hooks/x.sh\"'", Start::Here, "hooks/x.sh", false);
    }

    #[test]
    fn after_a_cd_to_the_project_names_are_the_projects() {
        has("cd \"$CLAUDE_PROJECT_DIR\" && ./x.sh", Start::Project, "./x.sh", false);
        has("cd tools && ./x.sh", Start::Here, "./x.sh", false);
    }

    #[test]
    fn odd_text_is_no_trouble() {
        for text in ["${", "$(", "`", "$", "\\", "${${${", "$((", "ü$é`ß", "=", ":=:", "a=\\"] {
            names(text);
        }
    }
}
