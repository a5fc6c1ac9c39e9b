//! Lines of documents that build gambrel. They run as written in CI, from the repository's root and
//! into a target folder of their own, because other tests use the built program meanwhile. Elsewhere
//! a build of minutes would be a nuisance: a notice says what was done instead.

use std::path::PathBuf;
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
        root.run_command(root.shell_in(&repository(), &format!("gambrel {args}")), BUILD_TIMEOUT)
    }

    fn build(&self, root: &FreshRoot) -> (Option<i32>, String) {
        let mut command = root.shell_in(&repository(), self.line);
        command.env("CARGO_TARGET_DIR", target_dir());
        command.envs([("CARGO_TERM_QUIET", "true"), ("CARGO_NET_OFFLINE", "true")]);
        // The line stays as written; less optimized code is compiled in half the time.
        command.envs([("CARGO_PROFILE_RELEASE_OPT_LEVEL", "1"), ("CARGO_PROFILE_DEV_DEBUG", "0")]);
        if self.line.starts_with("cargo install ") {
            root.remove_gambrel();
        }
        root.run_command(command, BUILD_TIMEOUT)
    }
}

fn target_dir() -> PathBuf {
    repository().join("target/documents")
}

/// In CI: runs the lines of a document that build gambrel, so that later runs find everything built.
/// They need more time than a test without a network has.
pub fn build_before(document: &str) {
    if !is_ci() {
        return;
    }
    let root = FreshRoot::new();
    if document.contains("cargo run -- ") {
        root.run_line("cargo run -- --version").unwrap();
    }
    for line in document.lines().filter(|line| line.starts_with("cargo install ")) {
        root.run_line(line.split(" # ").next().unwrap_or(line).trim()).unwrap();
    }
}
