//! Benchmarks: the published build, measured against floors that the same run measures.

use crate::shell;

/// Builds what is published and runs the benchmarks over it.
pub fn run(args: &[String]) -> anyhow::Result<()> {
    shell::run("cargo", &["build", "--profile", "dist", "--package", "gambrel-cli"])?;
    let mut all = vec!["run", "--profile", "dist", "--package", "gambrel-bench", "--"];
    all.extend(args.iter().map(String::as_str));
    shell::run("cargo", &all)
}
