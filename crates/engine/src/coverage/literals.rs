//! Texts in quotes, in a language that gambrel does not read: those that lead to a file which
//! looks like code are part of the hook.

use std::path::Path;

use super::interpreter::language_of;
use super::program::base_name;
use super::script::add_code;
use super::shell::ShellReader;

/// Words that run or load what they are given, in languages that are not read.
const LOADERS: [&str; 12] = [
    "eval(",
    "eval ",
    "system(",
    "exec(",
    "load(",
    "require(",
    "require ",
    "require_relative ",
    "include(",
    "include ",
    "do(",
    "`",
];
/// Endings that a language adds to the name of what it loads.
const ADDED_ENDINGS: [&str; 4] = ["rb", "pm", "pl", "lua"];
const MAX_LITERAL_BYTES: usize = 400;
const MAX_LITERAL_COUNT: usize = 2_000;

/// Follows a script by its literals.
pub(super) fn follow_literals(shell: &mut ShellReader<'_, '_>, text: &str, folder: Option<&Path>) {
    add_words(shell, text, folder);
    if let Some(word) = LOADERS.iter().find(|word| has_computed(text, word)) {
        let word = word.trim_end_matches(['(', ' ']);
        shell.collector.cannot_see(&format!("`{word}` of something computed"));
    }
}

/// Takes the files that any word of a text leads to.
fn add_words(shell: &mut ShellReader<'_, '_>, text: &str, folder: Option<&Path>) {
    let mut folders = shell.state.folders.clone();
    folders.extend(folder.map(Path::to_owned));
    folders.dedup();
    let parts = |c: char| c.is_whitespace() || "\"'`;|&()<>,{}[]=".contains(c);
    let words = text.split(parts).filter(|word| !word.is_empty() && !word.starts_with('/'));
    for word in words.filter(|word| word.len() < MAX_LITERAL_BYTES).take(MAX_LITERAL_COUNT) {
        for folder in &folders {
            add_code(shell, &folder.join(word));
            for ending in ADDED_ENDINGS {
                add_code(shell, &folder.join(format!("{word}.{ending}")));
            }
        }
    }
}

/// Takes the files that literals lead to, from the script's folder and from where it runs.
pub(super) fn add_literals(shell: &mut ShellReader<'_, '_>, text: &str, folder: Option<&Path>) {
    let mut folders = shell.state.folders.clone();
    folders.extend(folder.map(Path::to_owned));
    folders.push(shell.collector.around.project.clone());
    folders.dedup();
    for literal in quoted_texts(text).into_iter().take(MAX_LITERAL_COUNT) {
        let words = literal.split(|c: char| c.is_whitespace() || ";|&()<>\"'".contains(c));
        for word in words.filter(|word| word.contains(['/', '.']) && !word.starts_with('/')) {
            for folder in &folders {
                add_code(shell, &folder.join(word));
            }
        }
    }
}

/// Every text in quotes; quotes of one kind are taken apart from those of another.
pub(super) fn quoted_texts(text: &str) -> Vec<&str> {
    let of = |quote: char| text.split(quote).skip(1);
    let all = ['"', '\'', '`'].into_iter().flat_map(of);
    all.filter(|literal| !literal.is_empty() && literal.len() < MAX_LITERAL_BYTES).collect()
}

/// Whether a call is given something that is not a literal, outside of a comment.
pub(super) fn has_computed(text: &str, call: &str) -> bool {
    text.lines().any(|line| {
        let line = line.trim_start();
        if line.starts_with('#') || line.starts_with("//") || line.starts_with('*') {
            return false;
        }
        line.match_indices(call).any(|(at, _)| {
            let part_of_name = |c: char| c.is_alphanumeric() || c == '_' || c == '$';
            let is_whole = !line[..at].ends_with(part_of_name);
            let is_literal = is_literal_call(line[at + call.len()..].trim_start());
            is_whole && !is_literal
        })
    })
}

/// Whether the arguments of a call show what it runs: a literal, or a program with literals.
fn is_literal_call(arguments: &str) -> bool {
    if arguments.is_empty() || arguments.starts_with(')') {
        return true;
    }
    let list = arguments.trim_start_matches('[').trim_start();
    let Some((first, rest)) = split_literal(list) else { return false };
    let rest = rest.trim_start();
    let is_interpreter = language_of(base_name(first.trim())).is_some();
    if !is_interpreter {
        return !rest.starts_with(['+', '.', '%']);
    }
    // `spawn("bash", ["x.sh"])`: what the interpreter is given must be literal as well.
    let end = rest.find(']').unwrap_or(rest.len());
    let items = rest[..end].trim_start_matches([',', ' ', '[']).split(',').map(str::trim);
    items.filter(|item| !item.is_empty()).all(|item| split_literal(item).is_some())
}

/// The literal that a text begins with, and what follows; `None` when something is filled in.
fn split_literal(text: &str) -> Option<(&str, &str)> {
    let quote = text.chars().next().filter(|c| "\"'`".contains(*c))?;
    let (inside, after) = text[1..].split_once(quote)?;
    (!inside.contains('$') && !inside.contains("#{")).then_some((inside, after))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tells_literal_calls_from_computed_ones() {
        for (text, computed) in [
            ("subprocess.run(['ls', x])", false),
            ("subprocess.run([\"bash\", \"x.sh\"])", false),
            ("subprocess.run([\"bash\", path])", true),
            ("subprocess.run([sys.executable, \"x.py\"])", true),
            ("subprocess.run(cmd, shell=True)", true),
            ("# subprocess.run(cmd)", false),
        ] {
            assert_eq!(has_computed(text, "run("), computed, "{text}");
        }
    }
}
