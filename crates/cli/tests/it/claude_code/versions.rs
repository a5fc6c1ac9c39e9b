//! The versions of Claude Code that `cargo xtask test` installs, and running a scene in each.

use std::path::PathBuf;
use std::process::Command;

use serde_json::Value;

use super::offline::run_offline;
use crate::outside::{folder, tool};

const WITHOUT: &str = "hooks inside the real Claude Code";
/// Every folder of the tools that begins so is one version.
const PREFIX: &str = "claude-";
/// What install writes must hold in these: one that does not know `onFailure`, and one that does.
const PINNED: [&str; 2] = ["claude-2-1-197", "claude-2-1-325"];
/// The first of its line that can be installed; only the plugin is loaded in it.
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
        let native = folder().join(name).join("bin/claude.exe");
        let file = if native.exists() { "bin/claude.exe" } else { "cli.js" };
        let program = tool(&format!("{name}/{file}"), WITHOUT)?;
        Some(Self { name: name.to_owned(), program })
    }

    /// Such as `2.1.325`.
    pub fn version(&self) -> String {
        let manifest = std::fs::read(folder().join(&self.name).join("package.json")).unwrap();
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

/// Plays a scene in every version at the same time, without a network. The scene is a closure
/// inside the test, from which the test's name is taken.
pub fn in_each_version<S: Fn(&ClaudeCode) + Sync>(scene: S) {
    play(&all_versions(), scene);
}

/// The same, in the oldest version too.
pub fn in_each_version_and_the_oldest<S: Fn(&ClaudeCode) + Sync>(scene: S) {
    let mut names = all_versions();
    names.insert(0, OLDEST.to_owned());
    play(&names, scene);
}

/// The pinned ones, and the newest where it is installed.
fn all_versions() -> Vec<String> {
    let mut names: Vec<String> = PINNED.map(str::to_owned).to_vec();
    let newest = format!("{PREFIX}latest");
    if folder().join(&newest).exists() {
        names.push(newest);
    }
    names
}

fn play<S: Fn(&ClaudeCode) + Sync>(names: &[String], scene: S) {
    let found: Vec<ClaudeCode> = names.iter().filter_map(|name| ClaudeCode::find(name)).collect();
    if found.is_empty() {
        return;
    }
    let test = std::any::type_name::<S>().trim_end_matches("::{{closure}}");
    let test = test.split_once("::").map_or(test, |(_, rest)| rest);
    run_offline(test, || play_here(&found, &scene));
}

fn play_here<S: Fn(&ClaudeCode) + Sync>(found: &[ClaudeCode], scene: &S) {
    std::thread::scope(|scope| {
        let mut running = Vec::new();
        for claude in found {
            // A panic names its thread, and so the version.
            let thread = std::thread::Builder::new().name(claude.name.clone());
            running.push(thread.spawn_scoped(scope, move || scene(claude)).unwrap());
        }
        let failed = running.into_iter().filter_map(|thread| thread.join().err()).count();
        assert_eq!(failed, 0, "failed in {failed} of {} versions", found.len());
    });
}
