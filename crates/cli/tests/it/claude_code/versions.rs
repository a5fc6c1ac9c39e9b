//! The versions of Claude Code that `cargo xtask test` installs, and a way to run a test in each.

use std::path::PathBuf;
use std::process::Command;

use serde_json::Value;

use crate::external_tools::{find_tool, tools_dir};
use crate::offline::{run_offline, test_name};

const WITHOUT: &str = "hooks inside the real Claude Code";
/// Prefix of the folders that hold one version each.
const PREFIX: &str = "claude-";
/// `install` must work in these: one version without `onFailure`, and one with it.
const PINNED: [&str; 2] = ["claude-2-1-197", "claude-2-1-325"];
/// The oldest installable version. Only the plugin tests use it.
const OLDEST: &str = "claude-2-1-0";

/// One installed version.
#[derive(Debug, Clone)]
pub struct ClaudeCode {
    /// The folder's name, such as `claude-2-1-325`.
    pub name: String,
    program: PathBuf,
}

impl ClaudeCode {
    fn find(name: &str) -> Option<Self> {
        let native = tools_dir().join(name).join("bin/claude.exe");
        let file = if native.exists() { "bin/claude.exe" } else { "cli.js" };
        let program = find_tool(&format!("{name}/{file}"), WITHOUT)?;
        Some(Self { name: name.to_owned(), program })
    }

    /// Such as `2.1.325`.
    pub fn version(&self) -> String {
        let manifest = std::fs::read(tools_dir().join(&self.name).join("package.json")).unwrap();
        let manifest: Value = serde_json::from_slice(&manifest).unwrap();
        manifest["version"].as_str().unwrap().to_owned()
    }

    /// The program without arguments; versions before the native one are run by node.
    pub fn command(&self) -> Command {
        if self.program.extension().is_some_and(|kind| kind == "js") {
            let mut command = Command::new("node");
            command.arg(&self.program);
            return command;
        }
        Command::new(&self.program)
    }
}

/// The newest of the installed versions. Without one a test is skipped, and fails in CI.
pub fn newest_installed() -> Option<ClaudeCode> {
    all_versions().last().and_then(|name| ClaudeCode::find(name))
}

/// Runs a test in every version in parallel, without a network. `test` is a closure inside the test
/// function; its type name gives the test's name.
pub fn in_each_version<S: Fn(&ClaudeCode) + Sync>(test: S) {
    run_in_versions(&all_versions(), test);
}

/// The same, in the oldest version too.
pub fn in_each_version_and_the_oldest<S: Fn(&ClaudeCode) + Sync>(test: S) {
    let mut names = all_versions();
    names.insert(0, OLDEST.to_owned());
    run_in_versions(&names, test);
}

/// The pinned versions, and the newest if it is installed.
fn all_versions() -> Vec<String> {
    let mut names: Vec<String> = PINNED.map(str::to_owned).to_vec();
    let newest = format!("{PREFIX}latest");
    if tools_dir().join(&newest).exists() {
        names.push(newest);
    }
    names
}

fn run_in_versions<S: Fn(&ClaudeCode) + Sync>(names: &[String], test: S) {
    let found: Vec<ClaudeCode> = names.iter().filter_map(|name| ClaudeCode::find(name)).collect();
    if found.is_empty() {
        return;
    }
    run_offline(test_name::<S>(), || run_in_threads(&found, &test));
}

fn run_in_threads<S: Fn(&ClaudeCode) + Sync>(found: &[ClaudeCode], test: &S) {
    std::thread::scope(|scope| {
        let mut running = Vec::new();
        for claude in found {
            // A panic names its thread, and so the version.
            let thread = std::thread::Builder::new().name(claude.name.clone());
            running.push(thread.spawn_scoped(scope, move || test(claude)).unwrap());
        }
        let failed = running.into_iter().filter_map(|thread| thread.join().err()).count();
        assert_eq!(failed, 0, "failed in {failed} of {} versions", found.len());
    });
}
