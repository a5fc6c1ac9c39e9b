//! What Python loads: modules by literal imports, from the script's folder.

use std::path::{Path, PathBuf};

use gambrel_model::text::contains_word;

use super::collector::Naming;
use super::literals::{add_literals, has_computed};
use super::script::{self, Language};
use super::shell::{Command, ShellReader};
use super::value::Text;

/// Loaded before any script: no file beside it takes their place.
const BUILT_IN: &str = "\
    sys os builtins time io abc site stat posixpath codecs errno encodings _thread marshal \
    itertools gc posix signal _io __future__";
/// Modules of the machine that run files of a project.
const RUNNERS: &str = "\
    pytest unittest tox nox invoke doctest behave pylint mypy flake8 build pip runpy coverage";
/// Calls that load or run what they are given.
const LOADERS: [&str; 6] =
    ["exec(", "eval(", "__import__(", "import_module(", "run_path(", "run_module("];
/// Of these calls only those of the modules that start programs count.
const STARTERS: [&str; 7] =
    ["system(", "popen(", "Popen(", "run(", "call(", "check_call(", "check_output("];

/// `python3 NAME`: a file, or a folder with a `__main__.py`.
pub(super) fn resolve_script(shell: &mut ShellReader<'_, '_>, name: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for folder in shell.state.folders.clone() {
        let path = folder.join(name);
        let path = if path.is_dir() { path.join("__main__.py") } else { path };
        found.extend(shell.collector.add_file(&path, !name.starts_with('/'), Naming::Code));
    }
    found
}

/// `python3 -m NAME`: a module of the folder that it runs in.
pub(super) fn run_module(shell: &mut ShellReader<'_, '_>, module: &Text, command: &Command) {
    let Some(name) = module.as_known().map(str::to_owned) else {
        let what = format!("`{}`: the module's name is computed", command.raw);
        return shell.collector.cannot_see(&what);
    };
    if contains_word(RUNNERS, name.split('.').next().unwrap_or_default()) {
        let what = format!("`{}` runs files of the project by its own rules", command.raw);
        shell.collector.cannot_see(&what);
    }
    let (extra, _) = shell.state.path_folders("PYTHONPATH");
    let folders: Vec<PathBuf> = shell.state.folders.iter().cloned().chain(extra).collect();
    for folder in folders {
        for file in module_files(shell, &folder, &name, true) {
            run_in(shell, &folder, &file);
        }
    }
}

fn run_in(shell: &mut ShellReader<'_, '_>, folder: &Path, file: &Path) {
    let outer = std::mem::replace(&mut shell.state.python_path, vec![folder.to_owned()]);
    script::run(shell, file, Language::Python, &[]);
    shell.state.python_path = outer;
}

/// The files of a module in a folder, packages above it included. Names without a file count.
fn module_files(
    shell: &mut ShellReader<'_, '_>,
    folder: &Path,
    module: &str,
    is_main: bool,
) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut at = folder.to_owned();
    let names: Vec<&str> = module.split('.').filter(|name| !name.is_empty()).collect();
    for (position, name) in names.iter().enumerate() {
        let is_last = position + 1 == names.len();
        let mut candidates = vec![at.join(name).join("__init__.py"), at.join(format!("{name}.py"))];
        if is_last && is_main {
            candidates.push(at.join(name).join("__main__.py"));
        }
        for candidate in candidates {
            found.extend(shell.collector.add_file(&candidate, true, Naming::Code));
        }
        at = at.join(name);
        if !at.is_dir() {
            break;
        }
    }
    found
}

/// Follows the imports of a text. `folder` is where the script is.
pub(super) fn follow_imports(
    shell: &mut ShellReader<'_, '_>,
    text: &str,
    folder: &Path,
    script: Option<&Path>,
) {
    let is_outermost = shell.state.python_path.is_empty();
    if is_outermost {
        let (extra, _) = shell.state.path_folders("PYTHONPATH");
        shell.state.python_path = std::iter::once(folder.to_owned()).chain(extra).collect();
    }
    for import in find_imports(text) {
        follow_import(shell, &import, script.and_then(Path::parent).unwrap_or(folder));
    }
    add_literals(shell, text, Some(folder));
    find_computed(shell, text);
    if is_outermost {
        shell.state.python_path.clear();
    }
}

fn follow_import(shell: &mut ShellReader<'_, '_>, import: &str, own_folder: &Path) {
    let dots = import.len() - import.trim_start_matches('.').len();
    let (folders, name) = match dots {
        0 => (shell.state.python_path.clone(), import),
        _ => {
            let above = own_folder.ancestors().nth(dots - 1).unwrap_or(own_folder);
            (vec![above.to_owned()], &import[dots..])
        }
    };
    if contains_word(BUILT_IN, name.split('.').next().unwrap_or_default()) {
        return;
    }
    for folder in folders {
        for file in module_files(shell, &folder, name, false) {
            script::run(shell, &file, Language::Python, &[]);
        }
    }
}

fn find_computed(shell: &mut ShellReader<'_, '_>, text: &str) {
    if text.contains("sys.path.") || text.contains("sys.path =") {
        shell.collector.cannot_see("modules of a `sys.path` that is changed");
    }
    let starts = text.contains("subprocess") || text.contains("os.");
    for call in LOADERS.iter().chain(STARTERS.iter().filter(|_| starts)) {
        if has_computed(text, call) {
            let call = call.trim_end_matches('(');
            shell.collector.cannot_see(&format!("`{call}` of something computed"));
        }
    }
}

/// The modules that a text imports, with the dots of relative ones. For `from a import b` both
/// `a` and `a.b`, which may be a module as well.
fn find_imports(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut lines = text.lines().flat_map(|line| line.split(';'));
    while let Some(line) = lines.next() {
        let line = line.split('#').next().unwrap_or_default().trim();
        if let Some(names) = line.strip_prefix("import ") {
            found.extend(names.split(',').filter_map(first_word).map(str::to_owned));
        } else if let Some((module, names)) =
            line.strip_prefix("from ").and_then(|rest| rest.split_once(" import"))
        {
            let module = module.trim();
            let mut names = names.to_owned();
            while names.contains('(') && !names.contains(')') {
                let Some(more) = lines.next() else { break };
                names += &format!(" {}", more.split('#').next().unwrap_or_default());
            }
            found.push(module.to_owned());
            let joint = if module.ends_with('.') { "" } else { "." };
            let names = names.replace(['(', ')', '\\'], " ");
            let names = names.split(',').filter_map(first_word).filter(|name| *name != "*");
            found.extend(names.map(|name| format!("{module}{joint}{name}")));
        }
    }
    found.sort();
    found.dedup();
    found.truncate(200);
    found
}

fn first_word(text: &str) -> Option<&str> {
    let word = text.split_whitespace().next()?;
    word.chars().all(|c| c.is_alphanumeric() || c == '_' || c == '.').then_some(word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_imports() {
        let text = "import json, lib.rules as r\nfrom . import one\nfrom .two import (\n  x,\n  y as z,\n)\n";
        let found = find_imports(text);
        for name in ["json", "lib.rules", ".", ".one", ".two", ".two.x", ".two.y"] {
            assert!(found.contains(&name.to_owned()), "{name} in {found:?}");
        }
    }
}
