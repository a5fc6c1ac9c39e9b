//! Runs programs; errors name the program.

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, bail};

/// The repository's root.
pub fn repository_root() -> PathBuf {
    let package = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    package.parent().map(PathBuf::from).unwrap_or(package)
}

/// Runs a program in the repository's root. Fails if the program fails.
pub fn run(program: &str, args: &[&str]) -> anyhow::Result<()> {
    run_with(program, args, &[])
}

/// Runs a program with further variables.
pub fn run_with(program: &str, args: &[&str], variables: &[(&str, String)]) -> anyhow::Result<()> {
    eprintln!("$ {program} {}", args.join(" "));
    let mut command = Command::new(program);
    command.args(args).envs(variables.iter().map(|(name, value)| (name, value)));
    let status = command.current_dir(repository_root()).status();
    let status = status.with_context(|| format!("cannot start {program}"))?;
    if !status.success() {
        bail!("{program} {} failed: {status}", args.join(" "));
    }
    Ok(())
}

/// Runs a program and returns its stdout.
pub fn read_output(program: &str, args: &[&str]) -> anyhow::Result<String> {
    let output = Command::new(program).args(args).current_dir(repository_root()).output();
    let output = output.with_context(|| format!("cannot start {program}"))?;
    if !output.status.success() {
        bail!("{program} {}: {}", args.join(" "), String::from_utf8_lossy(&output.stderr));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Runs a program without a network, where the system allows a namespace without one.
pub fn run_offline(program: &str, args: &[&str]) -> anyhow::Result<()> {
    let (program, args) = without_network(program, args);
    run(program, &args)
}

/// Runs a program without a network and returns its stdout.
pub fn read_offline(program: &str, args: &[&str]) -> anyhow::Result<String> {
    let (program, args) = without_network(program, args);
    read_output(program, &args)
}

/// The command that starts a program in a network namespace of its own.
fn without_network<'a>(program: &'a str, args: &[&'a str]) -> (&'a str, Vec<&'a str>) {
    let namespace = ["--user", "--map-root-user", "--net", "--"];
    if read_output("unshare", &[&namespace[..], &["true"]].concat()).is_err() {
        eprintln!("{program} runs with the network: this system refuses a network namespace");
        return (program, args.to_vec());
    }
    ("unshare", [&namespace[..], &[program], args].concat())
}
