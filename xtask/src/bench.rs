//! Benchmarks: measures the published build against floors from the same run.

use crate::dist::StaticBuild;
use crate::shell;

/// Builds the published profile and runs the benchmarks with it.
pub fn run(args: &[String]) -> anyhow::Result<()> {
    let program = StaticBuild::published().compile()?.display().to_string();
    let given: Vec<&str> = args.iter().map(String::as_str).collect();
    if given.contains(&"--counters") {
        // Only the counted program must be the published one.
        let all = ["run", "--quiet", "--package", "gambrel-bench", "--", "--static", &program];
        return shell::run("cargo", &[&all[..], &given].concat());
    }
    shell::run("cargo", &["build", "--profile", "dist", "--package", "gambrel-cli"])?;
    let all =
        ["run", "--profile", "dist", "--package", "gambrel-bench", "--", "--static", &program];
    shell::run("cargo", &[&all[..], &given].concat())
}
