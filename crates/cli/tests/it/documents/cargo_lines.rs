//! Lines of documents that build gambrel. They run as written in CI, from the repository's root and
//! into a target folder of their own, because other tests use the built program meanwhile. Elsewhere
//! a build of minutes would be a nuisance: a notice says what was done instead.

use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use super::fresh_root::FreshRoot;

/// For a build of everything on two busy cores.
const BUILD_TIMEOUT: Duration = Duration::from_secs(1500);

pub struct CargoLine<'l> {
    line: &'l str,
}

pub fn repository() -> PathBuf {
    std::fs::canonicalize(concat!(env!("CARGO_MANIFEST_DIR"), "/../..")).unwrap()
}

pub fn read_line(line: &str) -> Option<CargoLine<'_>> {
    line.starts_with("cargo ").then_some(CargoLine { line })
}

fn is_ci() -> bool {
    std::env::var_os("CI").is_some()
}

impl CargoLine<'_> {
    pub fn run(&self, root: &FreshRoot) -> (Option<i32>, String) {
        if is_ci() {
            return self.build(root);
        }
        let words = self.line.split(" # ").next().unwrap_or_default().trim();
        let Some(args) = words.strip_prefix("cargo run -- ") else {
            eprintln!("SKIP `{words}`: it builds for minutes; CI runs it");
            return (Some(0), String::new());
        };
        eprintln!("`{words}` ran as `gambrel {args}`; CI builds");
        let mut command = Command::new("sh");
        command.args(["-c", &format!("gambrel {args}")]);
        root.set_env(&mut command);
        root.run_command(command, BUILD_TIMEOUT)
    }

    fn build(&self, root: &FreshRoot) -> (Option<i32>, String) {
        let mut command = Command::new("sh");
        // The only change of a line: one build of minutes serves both commands.
        let line = self.line.replacen("cargo install ", "cargo install --debug ", 1);
        command.args(["-c", &line]);
        root.set_env(&mut command);
        command.current_dir(repository()).env("CARGO_TARGET_DIR", target_dir());
        command.envs([("CARGO_TERM_QUIET", "true"), ("CARGO_NET_OFFLINE", "true")]);
        command.env("CARGO_PROFILE_DEV_DEBUG", "0");
        for name in ["CARGO_HOME", "RUSTUP_HOME", "RUSTUP_TOOLCHAIN"] {
            command.envs(std::env::var_os(name).map(|value| (name, value)));
        }
        if std::env::var_os("CARGO_HOME").is_none() {
            let home = std::env::var_os("HOME").map(PathBuf::from);
            command.envs(home.map(|home| ("CARGO_HOME", home.join(".cargo"))));
        }
        root.run_command(command, BUILD_TIMEOUT)
    }
}

fn target_dir() -> PathBuf {
    repository().join("target/documents")
}

/// In CI: runs these lines once, so that later runs find everything built.
pub fn build_before(lines: &[&str]) {
    if !is_ci() {
        return;
    }
    let root = FreshRoot::new();
    for line in lines {
        root.run_line(line).unwrap();
    }
}
