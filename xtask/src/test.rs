//! The two things that must hold: all tests, and everything that CI asks.

use anyhow::Context;

use crate::{faults, machine, shell, tidy, tools};

/// Installs what the tests need and runs all of them. `--claude VERSION` is ours, everything else
/// goes to cargo.
pub fn run(args: &[String]) -> anyhow::Result<()> {
    let (claude, args) = take_claude_version(args)?;
    machine::prepare(machine::PARTS)?;
    tools::prepare(claude)?;
    let mut all = vec!["test", "--workspace"];
    all.extend(args);
    shell::run("cargo", &all)
}

fn take_claude_version(args: &[String]) -> anyhow::Result<(Option<&str>, Vec<&str>)> {
    let (mut claude, mut rest) = (None, Vec::new());
    let mut args = args.iter().map(String::as_str);
    while let Some(arg) = args.next() {
        // What comes behind it is for the tests themselves.
        if arg == "--" {
            rest.push(arg);
            rest.extend(args);
            break;
        }
        if arg == "--claude" {
            claude = Some(args.next().context("--claude needs a version, such as latest")?);
        } else if let Some(version) = arg.strip_prefix("--claude=") {
            claude = Some(version);
        } else {
            rest.push(arg);
        }
    }
    Ok((claude, rest))
}

/// What must hold before a change lands.
pub fn ci() -> anyhow::Result<()> {
    run(&[])?;
    faults::run(&[])?;
    shell::run("cargo", &["fmt", "--all", "--check"])?;
    let clippy = ["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"];
    shell::run("cargo", &clippy)?;
    tidy::run(&[])?;
    // The library with fewer parts: the workspace as a whole has them all.
    shell::run("cargo", &["check", "--package", "gambrel"])?;
    shell::run("cargo", &["check", "--package", "gambrel", "--features", "js"])
}

#[cfg(test)]
mod tests {
    use super::take_claude_version;

    #[test]
    fn the_version_of_claude_code_is_not_passed_to_cargo() -> anyhow::Result<()> {
        for given in ["--claude latest -p x -- --claude", "-p --claude=latest x -- --claude"] {
            let args: Vec<String> = given.split(' ').map(str::to_owned).collect();
            let taken = take_claude_version(&args)?;
            assert_eq!(taken, (Some("latest"), vec!["-p", "x", "--", "--claude"]));
        }
        assert!(take_claude_version(&["--claude".to_owned()]).is_err());
        assert_eq!(take_claude_version(&[])?, (None, Vec::new()));
        Ok(())
    }
}
