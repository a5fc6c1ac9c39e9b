//! The commands `test` and `ci`.

use anyhow::{Context, bail};

use crate::{bench, dist, faults, machine, shell, tidy, tools};

/// Installs the needed programs and runs all tests. Arguments other than `--claude VERSION` go to
/// cargo.
pub fn run(args: &[String]) -> anyhow::Result<()> {
    let (claude, args) = take_claude_version(args)?;
    install_programs(claude)?;
    let mut all = vec!["test", "--workspace"];
    all.extend(args);
    shell::run("cargo", &all)
}

/// Installs what the tests use, with the requested version of Claude Code.
pub fn install_programs(claude: Option<&str>) -> anyhow::Result<()> {
    machine::install_missing(machine::REQUIRED_PROGRAMS)?;
    tools::prepare_packages(claude)?;
    tools::prepare_pi_teams();
    Ok(())
}

fn take_claude_version(args: &[String]) -> anyhow::Result<(Option<&str>, Vec<&str>)> {
    let (mut claude, mut rest) = (None, Vec::new());
    let mut args = args.iter().map(String::as_str);
    while let Some(arg) = args.next() {
        // Arguments after it belong to the tests.
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

/// Runs all checks that a change needs before it is merged. `--skip-test` leaves out the tests.
pub fn run_ci(args: &[String]) -> anyhow::Result<()> {
    match args {
        [] => run(&[])?,
        [only] if only == "--skip-test" => {}
        _ => bail!("usage: cargo xtask ci [--skip-test]"),
    }
    faults::run(&[])?;
    shell::run("cargo", &["fmt", "--all", "--check"])?;
    let clippy = ["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"];
    shell::run("cargo", &clippy)?;
    tidy::run()?;
    let no_warnings = [("RUSTDOCFLAGS", "-D warnings".to_owned())];
    shell::run_with("cargo", &["doc", "--package", "gambrel", "--no-deps"], &no_warnings)?;
    // Fewer features: the workspace build enables all of them.
    shell::run("cargo", &["check", "--package", "gambrel"])?;
    shell::run("cargo", &["check", "--package", "gambrel", "--features", "js"])?;
    let plain = ["test", "--package", "gambrel-cli", "--no-default-features", "--test", "it"];
    // Prints which cases need a feature.
    let cases = ["contracts::every_case_holds_for_real", "--", "--nocapture"];
    shell::run("cargo", &[&plain[..], &cases].concat())?;
    // The tests ran with the same code in another profile.
    dist::run(&["--no-test".to_owned()])?;
    bench::run(&["--counters".to_owned()])
}

#[cfg(test)]
mod tests {
    use super::take_claude_version;

    #[test]
    fn does_not_pass_the_claude_version_to_cargo() -> anyhow::Result<()> {
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
