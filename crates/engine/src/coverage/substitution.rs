//! The output of commands that only put names together: `dirname`, `pwd`, `git rev-parse
//! --show-toplevel` and the like. Every other output is unknown.

use std::path::{Path, PathBuf};

use rable::{ListOperator, Node, NodeKind};

use super::collector::normalize_path;
use super::shell::ShellReader;
use super::value::{Fields, Text, combine_choices};

const MAX_OUTPUTS: usize = 8;

/// What a substituted text may print; `None` when that is unknown. May change the folder of the
/// shell that it runs in.
pub(super) fn command_output(shell: &mut ShellReader<'_, '_>, nodes: &[Node]) -> Option<Vec<Text>> {
    let (last, before) = nodes.split_last()?;
    for node in before {
        print_nothing(shell, node)?;
    }
    of_node(shell, last)
}

fn of_node(shell: &mut ShellReader<'_, '_>, node: &Node) -> Option<Vec<Text>> {
    match &node.kind {
        NodeKind::Command { assignments, words, .. } if assignments.is_empty() => {
            let lists = words.iter().map(|word| shell.expand_node(word)).collect();
            let mut all = Vec::new();
            for words in combine_choices(lists, MAX_OUTPUTS)? {
                all.extend(of_words(shell, &words)?);
            }
            (all.len() <= MAX_OUTPUTS).then_some(all)
        }
        NodeKind::List { items } => {
            let (last, before) = items.split_last()?;
            let mut all = Vec::new();
            for item in before {
                match item.operator {
                    Some(ListOperator::Or) => all.extend(of_node(shell, &item.command)?),
                    _ => print_nothing(shell, &item.command)?,
                }
            }
            all.extend(of_node(shell, &last.command)?);
            Some(all)
        }
        NodeKind::Subshell { body, .. } | NodeKind::BraceGroup { body, .. } => of_node(shell, body),
        _ => None,
    }
}

/// A command that changes the folder or tests something.
fn print_nothing(shell: &mut ShellReader<'_, '_>, node: &Node) -> Option<()> {
    if let NodeKind::List { items } = &node.kind {
        return items.iter().try_for_each(|item| print_nothing(shell, &item.command));
    }
    let NodeKind::Command { assignments, words, .. } = &node.kind else { return None };
    if words.is_empty() {
        assignments.iter().for_each(|node| shell.assign_node(node));
        return Some(());
    }
    let lists = words.iter().map(|word| shell.expand_node(word)).collect();
    let mut all = combine_choices(lists, 1)?;
    let words = all.pop()?;
    match words.first()?.as_known()? {
        "cd" | "pushd" => {
            let operands = operands(&words[1..]);
            shell.state.change_folder(&operands);
            shell.state.folder_known.then_some(())
        }
        "test" | "[" | "true" | ":" | "set" | "unset" => Some(()),
        _ => None,
    }
}

fn operands(words: &[Text]) -> Fields {
    let is_option =
        |word: &&Text| word.literal_head().starts_with('-') && word.as_known() != Some("-");
    words.iter().filter(|word| !is_option(word)).cloned().collect()
}

fn of_words(shell: &ShellReader<'_, '_>, words: &[Text]) -> Option<Vec<Text>> {
    let (name, rest) = words.split_first()?;
    let name = name.as_known()?;
    let operands = operands(rest);
    let one = |text: &str| Some(vec![Text::literal(text)]);
    let first = || operands.first()?.as_known();
    match name.rsplit('/').next().unwrap_or(name) {
        "pwd" => current_folders(shell),
        "dirname" => one(dirname(first()?)),
        "basename" => {
            let base = first()?.trim_end_matches('/').rsplit('/').next()?;
            let suffix = operands.get(1).and_then(Text::as_known).unwrap_or_default();
            one(base.strip_suffix(suffix).filter(|stem| !stem.is_empty()).unwrap_or(base))
        }
        "realpath" | "readlink" | "grealpath" | "greadlink" => {
            let known = first()?;
            let whole = name.ends_with("realpath") || rest.len() > operands.len();
            let resolve = |folder: &PathBuf| resolve_links(&folder.join(known));
            whole.then(|| shell.state.folders.iter().map(resolve).collect())
        }
        "echo" => {
            let known: Option<Vec<&str>> = operands.iter().map(Text::as_known).collect();
            one(&known?.join(" "))
        }
        "printf" => match first()? {
            "%s" | "%s\\n" => Some(vec![operands.get(1)?.clone()]),
            plain if !plain.contains(['%', '\\']) => one(plain),
            _ => None,
        },
        "ls" => {
            let names = operands.iter().all(|word| word.to_pattern().is_some());
            (names && !operands.is_empty()).then(|| operands.clone())
        }
        "git" if rest.iter().any(|word| word.as_known() == Some("--show-toplevel")) => {
            Some(vec![Text::literal(&find_repository(shell).display().to_string())])
        }
        _ => None,
    }
}

fn current_folders(shell: &ShellReader<'_, '_>) -> Option<Vec<Text>> {
    let text = |folder: &PathBuf| Text::literal(&folder.display().to_string());
    shell.state.folder_known.then(|| shell.state.folders.iter().map(text).collect())
}

fn dirname(path: &str) -> &str {
    let path = path.trim_end_matches('/');
    match path.rsplit_once('/') {
        Some(("", _)) => "/",
        Some((folder, _)) => folder.trim_end_matches('/'),
        None => ".",
    }
}

/// With links resolved where the file is there.
fn resolve_links(path: &Path) -> Text {
    let real = std::fs::canonicalize(path).unwrap_or_else(|_| normalize_path(path));
    Text::literal(&real.display().to_string())
}

/// The repository of the folder, else the project.
fn find_repository(shell: &ShellReader<'_, '_>) -> PathBuf {
    let here = shell.state.folders.first();
    let above = here.into_iter().flat_map(|folder| folder.ancestors());
    let found = above.into_iter().find(|folder| folder.join(".git").exists());
    found.map_or_else(|| shell.collector.around.project.clone(), Path::to_owned)
}
