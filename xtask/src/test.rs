//! The two things that must hold: all tests, and everything that CI asks.

use crate::{machine, shell, tidy, tools};

/// Installs what the tests need and runs all of them.
pub fn run(args: &[String]) -> anyhow::Result<()> {
    machine::prepare(machine::PARTS)?;
    tools::prepare()?;
    let mut all = vec!["test", "--workspace"];
    all.extend(args.iter().map(String::as_str));
    shell::run("cargo", &all)
}

/// What must hold before a change lands.
pub fn ci() -> anyhow::Result<()> {
    run(&[])?;
    shell::run("cargo", &["fmt", "--all", "--check"])?;
    let clippy = ["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"];
    shell::run("cargo", &clippy)?;
    tidy::run()?;
    // The library with fewer parts: the workspace as a whole has them all.
    shell::run("cargo", &["check", "--package", "gambrel"])?;
    shell::run("cargo", &["check", "--package", "gambrel", "--features", "js"])
}
