//! Scripts of a `package.json`: `npm run NAME` and its like.

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::collector::Naming;
use super::interpreter;
use super::script;
use super::shell::{Command, Input, ShellReader};
use super::state::INHERITED_PATH;
use super::value::Text;

/// Options that name the package's folder.
const FOLDER_OPTIONS: [&str; 4] = ["--prefix", "-C", "--dir", "--cwd"];
/// Words of a package manager that are no scripts.
const OWN_WORDS: [&str; 22] = [
    "install", "i", "ci", "add", "remove", "rm", "update", "up", "outdated", "ls", "list", "view",
    "info", "config", "init", "publish", "pack", "link", "audit", "why", "store", "version",
];
/// Words that run a program of a package.
const RUNNERS: [&str; 4] = ["exec", "x", "dlx", "npx"];
/// Files that change how scripts are run.
const SETTINGS: [&str; 2] = [".npmrc", "bunfig.toml"];

/// Takes note of what a package manager runs. False when the program is none.
pub(super) fn run(shell: &mut ShellReader<'_, '_>, name: &str, command: &Command) -> bool {
    match name {
        "npm" | "pnpm" | "yarn" | "bun" => follow_manager(shell, name, command),
        "npx" | "bunx" | "pnpx" => package_program(shell, &command.words[1..], command),
        _ => return false,
    }
    shell.look_up(name);
    true
}

fn follow_manager(shell: &mut ShellReader<'_, '_>, manager: &str, command: &Command) {
    let before = shell.state.clone();
    let mut at = 1;
    while let Some(word) = command.words.get(at) {
        let text = word.as_known().unwrap_or_default();
        let (option, joined) = text.split_once('=').map_or((text, None), |(o, v)| (o, Some(v)));
        if FOLDER_OPTIONS.contains(&option) {
            let folder = joined.map(Text::literal).or_else(|| command.words.get(at + 1).cloned());
            shell.state.change_folder(&[folder.unwrap_or_default()]);
            at += if joined.is_some() { 1 } else { 2 };
        } else if text.starts_with('-') {
            at += 1;
        } else {
            break;
        }
    }
    let rest = command.words.get(at..).unwrap_or_default();
    follow_verb(shell, manager, rest, command);
    shell.state = before;
}

fn follow_verb(shell: &mut ShellReader<'_, '_>, manager: &str, words: &[Text], command: &Command) {
    let Some((first, rest)) = words.split_first() else { return };
    let word = first.as_known().unwrap_or_default();
    let operands: Vec<Text> =
        rest.iter().skip_while(|w| w.literal_head().starts_with('-')).cloned().collect();
    match word {
        "test" if manager == "bun" => {
            add_settings_files(shell);
            shell.collector.cannot_see("`bun test` runs files of the project by its own rules");
        }
        "run" | "run-script" | "rum" => {
            if let Some((name, args)) = operands.split_first() {
                follow_script_name(shell, manager, name, args, command);
            }
        }
        _ if RUNNERS.contains(&word) => package_program(shell, &operands, command),
        "install" | "i" | "ci" | "add" | "rebuild" => {
            package_file(shell);
            shell.collector.cannot_see(&format!("`{}` runs scripts of packages", command.raw));
        }
        _ if OWN_WORDS.contains(&word) => {}
        _ => follow_script_name(shell, manager, first, rest, command),
    }
}

/// A script of the package or, for `bun`, a file.
fn follow_script_name(
    shell: &mut ShellReader<'_, '_>,
    manager: &str,
    name: &Text,
    args: &[Text],
    command: &Command,
) {
    let Some(script) = name.as_known().map(str::to_owned) else {
        package_file(shell);
        let what = format!("`{}`: the script's name is computed", command.raw);
        return shell.collector.cannot_see(&what);
    };
    let is_file = script.contains('/') || script::language_by_ending(Path::new(&script)).is_some();
    if manager == "bun" && is_file {
        add_settings_files(shell);
        let words = std::iter::once(Text::literal("node")).chain([name.clone()]);
        let words = words.chain(args.iter().cloned()).collect();
        shell.run_interpreter("node", &Command { words, ..command.clone() });
        return;
    }
    for file in package_file(shell) {
        run_script(shell, &file, &script, command);
    }
}

/// The `package.json` of the folder, or of the nearest one above it.
fn package_file(shell: &mut ShellReader<'_, '_>) -> Vec<PathBuf> {
    add_settings_files(shell);
    let mut found = Vec::new();
    for folder in shell.state.folders.clone() {
        for folder in folder.ancestors() {
            if !shell.collector.around.is_inside(folder) {
                break;
            }
            let file = folder.join("package.json");
            if let Some(file) = shell.collector.add_file(&file, true, Naming::Code) {
                found.push(file);
                break;
            }
        }
    }
    found
}

fn add_settings_files(shell: &mut ShellReader<'_, '_>) {
    for folder in shell.state.folders.clone() {
        for name in SETTINGS {
            shell.collector.add_file(&folder.join(name), true, Naming::Code);
        }
    }
}

fn run_script(shell: &mut ShellReader<'_, '_>, file: &Path, name: &str, command: &Command) {
    let Some(part) = shell.collector.find_part(file) else { return };
    let package: Value =
        serde_json::from_str(&part.to_text().unwrap_or_default()).unwrap_or_default();
    let folder = file.parent().unwrap_or(file);
    if !shell.collector.enter_script(&file.join(name)) {
        return;
    }
    let before = shell.state.clone();
    shell.state.folders = vec![folder.to_owned()];
    shell.state.folder_known = true;
    let programs = folder.join("node_modules/.bin");
    let path = format!("{}:{INHERITED_PATH}", programs.display());
    shell.state.set_variable("PATH", vec![vec![Text::literal(&path)]]);
    shell.state.exported.insert("PATH".to_owned());
    for script in [format!("pre{name}"), name.to_owned(), format!("post{name}")] {
        if let Some(text) = package["scripts"][&script].as_str() {
            shell.read_text(text);
        }
    }
    if package["scripts"][name].is_null() {
        // `yarn eslint` is a program of a package.
        package_program(shell, &[Text::literal(name)], command);
    }
    shell.state = before;
    shell.collector.leave_script();
}

/// `npx NAME`: a program of a package, in the project or fetched.
fn package_program(shell: &mut ShellReader<'_, '_>, words: &[Text], command: &Command) {
    let words: Vec<Text> =
        words.iter().skip_while(|w| w.literal_head().starts_with('-')).cloned().collect();
    let Some(name) = words.first().and_then(Text::as_known).map(str::to_owned) else {
        return shell.collector.cannot_see(&format!("`{}`: a program of a package", command.raw));
    };
    for folder in shell.state.folders.clone() {
        let file = folder.join("node_modules/.bin").join(&name);
        shell.collector.add_file(&file, true, Naming::Code);
    }
    shell.collector.cannot_see(&format!("the package of `{name}`"));
    let inner = Command { words, input: Input::Inherited, ..command.clone() };
    if interpreter::language_of(&name).is_some() {
        shell.run(&inner);
    }
}
