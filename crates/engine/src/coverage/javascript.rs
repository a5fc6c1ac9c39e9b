//! What JavaScript and TypeScript load by a relative name in quotes, wherever that leads.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::collector::Naming;
use super::literals::{add_literals, has_computed};
use super::script;
use super::shell::{Command, ShellReader};
use super::value::Text;

const ENDINGS: [&str; 8] = ["ts", "tsx", "js", "jsx", "mjs", "cjs", "mts", "cts"];
/// Endings that a runtime adds to a name by itself.
const ADDED: [&str; 10] = ["js", "json", "node", "ts", "tsx", "jsx", "mjs", "cjs", "mts", "cts"];
const LOADERS: [&str; 4] = ["require(", "import(", "eval(", "Function("];
/// Calls that start programs, in a text that uses `child_process`.
const STARTERS: [&str; 7] =
    ["exec(", "execSync(", "spawn(", "spawnSync(", "execFile(", "execFileSync(", "fork("];
const MAX_NAME_BYTES: usize = 400;

/// `node NAME`, from every folder that the shell may stand in.
pub(super) fn resolve_from_folders(shell: &mut ShellReader<'_, '_>, name: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for folder in shell.state.folders.clone() {
        let relative = !name.starts_with('/');
        found.extend(resolve_module(shell, &folder.join(name), relative));
    }
    found
}

/// The files of a name without an ending, or of a folder. Those that would come first count also
/// where they are missing.
fn resolve_module(shell: &mut ShellReader<'_, '_>, path: &Path, relative: bool) -> Vec<PathBuf> {
    if let Some(found) = shell.collector.add_file(path, relative, Naming::Code) {
        return vec![found];
    }
    let mut candidates: Vec<PathBuf> = Vec::new();
    if path.file_name().is_some_and(|name| name != ".") && !path.is_dir() {
        candidates.extend(ADDED.map(|ending| with_ending(path, ending)));
    }
    if path.is_dir() {
        candidates.push(path.join("package.json"));
        candidates.extend(package_mains(path).into_iter().flat_map(|main| {
            let added = ADDED.map(|ending| with_ending(&main, ending));
            std::iter::once(main).chain(added.into_iter().filter(|path| path.is_file()))
        }));
        candidates.extend(["index.js", "index.json", "index.ts"].map(|name| path.join(name)));
    }
    let add = |path: PathBuf| shell.collector.add_file(&path, relative, Naming::Code);
    candidates.into_iter().filter_map(add).collect()
}

fn with_ending(path: &Path, ending: &str) -> PathBuf {
    PathBuf::from(format!("{}.{ending}", path.display()))
}

/// A module that is loaded before the script: `--require ./x`.
pub(super) fn follow_preload(shell: &mut ShellReader<'_, '_>, module: &Text, command: &Command) {
    let Some(name) = module.as_known().map(str::to_owned) else {
        let what = format!("`{}`: the module's name is computed", command.raw);
        return shell.collector.cannot_see(&what);
    };
    if !name.starts_with('.') && !name.starts_with('/') {
        for folder in shell.state.folders.clone() {
            note_package(shell, &name, &folder);
        }
        return;
    }
    for path in resolve_from_folders(shell, &name) {
        script::run_program(shell, &path, &[]);
    }
}

/// Follows what a text loads. `path` is its file.
pub(super) fn follow_text(shell: &mut ShellReader<'_, '_>, text: &str, path: &Path) {
    let folder = path.parent().unwrap_or(path).to_owned();
    for (name, is_import) in quoted_names(text) {
        if is_relative(name) {
            // Which one is meant is for the runtime to say.
            let target = folder.join(name);
            for file in candidate_files(&target) {
                if let Some(found) = shell.collector.add_file(&file, true, Naming::Guess) {
                    follow_file(shell, &found);
                }
            }
            if is_import && !target.is_file() {
                resolve_module(shell, &target, true);
            }
        } else if is_import {
            note_package(shell, name, &folder);
        }
    }
    add_literals(shell, text, Some(&folder));
    let starts = text.contains("child_process");
    let calls = LOADERS.iter().chain(STARTERS.iter().filter(|_| starts));
    for call in calls.filter(|call| has_computed(text, call)) {
        let call = call.trim_end_matches('(');
        shell.collector.cannot_see(&format!("`{call}` of something computed"));
    }
}

fn follow_file(shell: &mut ShellReader<'_, '_>, path: &Path) {
    let ending = path.extension().and_then(|ending| ending.to_str());
    if ending.is_some_and(|ending| ENDINGS.contains(&ending)) {
        script::run(shell, path, script::Language::JavaScript, &[]);
    }
}

/// A package of the project runs, and its files are many.
fn note_package(shell: &mut ShellReader<'_, '_>, name: &str, folder: &Path) {
    let plain = |c: char| c.is_alphanumeric() || "@/._-".contains(c);
    if name.contains(':') || !name.chars().all(plain) {
        return;
    }
    let around = shell.collector.around;
    let above = folder.ancestors().take_while(|folder| around.is_inside(folder));
    if above.into_iter().any(|folder| folder.join("node_modules").join(name).exists()) {
        shell.collector.cannot_see(&format!("the package `{name}`"));
    }
}

/// Every text in quotes without spaces, and whether it stands where a module is named.
fn quoted_names(text: &str) -> Vec<(&str, bool)> {
    let mut found = Vec::new();
    for quote in ['"', '\'', '`'] {
        let mut at = 0;
        for (position, part) in text.split(quote).enumerate() {
            let before = text[..at].trim_end_matches(quote).trim_end();
            at += part.len() + quote.len_utf8();
            // What follows a name in an address is no part of the file's.
            let bare = part.split(['?', '#']).next().unwrap_or_default();
            let fits = !bare.is_empty() && bare.len() < MAX_NAME_BYTES && !bare.contains('\n');
            if position > 0 && fits {
                found.push((bare, names_a_module(before)));
            }
        }
    }
    found
}

fn names_a_module(before: &str) -> bool {
    ["from", "import", "require(", "import("].iter().any(|word| before.ends_with(word))
}

fn is_relative(name: &str) -> bool {
    name.starts_with("./") || name.starts_with("../") || [".", ".."].contains(&name)
}

/// The files that a name may stand for.
fn candidate_files(path: &Path) -> Vec<PathBuf> {
    let mut ways = vec![path.to_owned()];
    let endings = || ENDINGS.iter().copied().chain(["json"]);
    ways.extend(endings().map(|ending| with_ending(path, ending)));
    // A TypeScript file is often named by what it becomes.
    ways.extend(["ts", "tsx", "mts"].map(|source| path.with_extension(source)));
    if path.is_dir() {
        ways.push(path.join("package.json"));
        let mains = package_mains(path);
        let folders = mains.iter().map(PathBuf::as_path).chain([path]);
        ways.extend(folders.flat_map(|folder| {
            endings().map(|ending| folder.join(format!("index.{ending}"))).collect::<Vec<_>>()
        }));
        for main in mains {
            ways.extend(endings().map(|ending| with_ending(&main, ending)));
            ways.push(main);
        }
    }
    ways.retain(|path| path.is_file());
    ways
}

/// What the `package.json` of a folder names.
fn package_mains(folder: &Path) -> Vec<PathBuf> {
    let text = fs::read_to_string(folder.join("package.json")).unwrap_or_default();
    let package: Value = serde_json::from_str(&text).unwrap_or_default();
    let named = ["module", "main"].into_iter().filter_map(|field| package[field].as_str());
    named.map(|main| folder.join(main)).collect()
}
