//! Scripts: which language a file is in, and what it loads.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use super::collector::{MAX_SCRIPT_DEPTH, Naming};
use super::interpreter::language_of;
use super::program::base_name;
use super::shell::ShellReader;
use super::state::ShellState;
use super::value::Text;
use super::{javascript, literals, python};

/// The language of a script.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Language {
    Shell,
    Python,
    JavaScript,
    Awk,
    Other,
}

/// The language that a file's ending stands for.
pub(super) fn language_by_ending(path: &Path) -> Option<Language> {
    Some(match path.extension()?.to_str()? {
        "sh" | "bash" | "zsh" | "ksh" => Language::Shell,
        "py" => Language::Python,
        "js" | "cjs" | "mjs" | "jsx" | "ts" | "cts" | "mts" | "tsx" => Language::JavaScript,
        "awk" => Language::Awk,
        "rb" | "pl" | "pm" | "php" | "lua" | "fish" => Language::Other,
        _ => return None,
    })
}

/// The program of a first line such as `#!/usr/bin/env -S python3 -I`.
fn program_of_first_line(text: &str) -> Option<&str> {
    let line = text.strip_prefix("#!")?.lines().next()?;
    let mut words = line.split_whitespace();
    let first = base_name(words.next()?);
    if first != "env" {
        return Some(first);
    }
    words.find(|word| !word.starts_with('-') && !word.contains('=')).map(base_name)
}

/// Follows a file that is started as a program: by its first line.
pub(super) fn run_program(shell: &mut ShellReader<'_, '_>, path: &Path, args: &[Text]) {
    let Some(part) = shell.collector.find_part(path) else { return };
    // A file with zeros in it is a program of the machine's.
    let Some(text) = part.to_text() else { return };
    let language = match program_of_first_line(&text) {
        Some(program) => language_of(program),
        None => Some(language_by_ending(path).unwrap_or(Language::Shell)),
    };
    match language {
        Some(language) => run(shell, path, language, args),
        None => {
            let name = shell.collector.around.display_path(path).display().to_string();
            shell.collector.cannot_see(&format!("what `{name}` loads: its language is not known"));
        }
    }
}

/// Follows a file that a program is handed, which may run it.
pub(super) fn follow_data(shell: &mut ShellReader<'_, '_>, path: &Path) {
    let Some(part) = shell.collector.find_part(path) else { return };
    let Some(text) = part.to_text() else { return };
    let by_line = program_of_first_line(&text).and_then(language_of);
    if let Some(language) = by_line.or_else(|| language_by_ending(path)) {
        run(shell, path, language, &[]);
    }
}

/// Follows a script in a process of its own.
pub(super) fn run(shell: &mut ShellReader<'_, '_>, path: &Path, language: Language, args: &[Text]) {
    if !shell.collector.enter_script(path) {
        return;
    }
    if let Some(part) = shell.collector.find_part(path)
        && let Some(text) = part.to_text()
    {
        match language {
            Language::Shell => {
                let state = ShellState {
                    args: Some(args.to_vec()),
                    script: Some(path.to_owned()),
                    source: Some(path.to_owned()),
                    ..shell.state.child_shell()
                };
                ShellReader::new(shell.collector, state).read_text(&text);
            }
            Language::Python => {
                let folder = path.parent().unwrap_or(path).to_owned();
                python::follow_imports(shell, &text, &folder, Some(path));
            }
            Language::JavaScript => javascript::follow_text(shell, &text, path),
            Language::Awk | Language::Other => {
                literals::follow_literals(shell, &text, path.parent())
            }
        }
    }
    shell.collector.leave_script();
}

/// Follows a script inside of this shell: its variables and functions stay.
pub(super) fn follow_sourced(shell: &mut ShellReader<'_, '_>, path: &Path, args: &[Text]) {
    if !shell.collector.enter_script(path) {
        return;
    }
    if let Some(part) = shell.collector.find_part(path)
        && let Some(text) = part.to_text()
    {
        let outer = shell.state.source.replace(path.to_owned());
        let outer_args = shell.state.args.clone();
        if !args.is_empty() {
            shell.state.args = Some(args.to_vec());
        }
        shell.read_text(&text);
        shell.state.args = outer_args;
        shell.state.source = outer;
    }
    shell.collector.leave_script();
}

/// Follows code that is no file.
pub(super) fn read_text(
    shell: &mut ShellReader<'_, '_>,
    language: Language,
    text: &str,
    args: &[Text],
) {
    if shell.state.call_depth >= MAX_SCRIPT_DEPTH {
        return shell.collector.cannot_see("texts that start texts: too deep");
    }
    let folders = shell.state.folders.clone();
    match language {
        Language::Shell => {
            // The word after the text is `$0`.
            let args = args.get(1..).unwrap_or_default().to_vec();
            let depth = shell.state.call_depth + 1;
            let state =
                ShellState { args: Some(args), call_depth: depth, ..shell.state.child_shell() };
            ShellReader::new(shell.collector, state).read_text(text);
        }
        Language::Python => {
            folders.iter().for_each(|f| python::follow_imports(shell, text, f, None))
        }
        Language::JavaScript => {
            folders.iter().for_each(|f| javascript::follow_text(shell, text, &f.join("-")));
        }
        Language::Awk | Language::Other => {
            folders.iter().for_each(|f| literals::follow_literals(shell, text, Some(f)))
        }
    }
}

/// A file that a script of another language names, if it looks like code.
pub(super) fn add_code(shell: &mut ShellReader<'_, '_>, path: &Path) {
    if !path.is_file() || !looks_like_code(path) {
        return;
    }
    if let Some(found) = shell.collector.add_file(path, true, Naming::Guess) {
        run_program(shell, &found, &[]);
    }
}

fn looks_like_code(path: &Path) -> bool {
    if language_by_ending(path).is_some() {
        return true;
    }
    std::fs::metadata(path).is_ok_and(|about| about.permissions().mode() & 0o111 > 0)
}
