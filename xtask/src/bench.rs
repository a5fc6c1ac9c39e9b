//! Benchmarks: measures the published build against floors from the same run.

use crate::shell;

/// Builds the published profile and runs the benchmarks with it.
pub fn run(args: &[String]) -> anyhow::Result<()> {
    shell::run("cargo", &["build", "--profile", "dist", "--package", "gambrel-cli"])?;
    let mut all = vec!["run", "--profile", "dist", "--package", "gambrel-bench", "--"];
    all.extend(args.iter().map(String::as_str));
    shell::run("cargo", &all)
}
