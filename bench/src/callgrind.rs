//! Counts instructions, which a busy machine does not change. Without valgrind nothing is counted.

use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, ensure};

/// What was counted.
pub struct Counted {
    /// Instructions; those of children are not counted.
    pub count: f64,
    /// Whether the program came to its own end under valgrind.
    pub whole: bool,
}

/// Instructions of a run of a program.
pub fn instructions(
    program: &Path,
    args: &[&str],
    set: &[(&str, String)],
    stdin: Option<&Path>,
) -> anyhow::Result<Counted> {
    let mut valgrind = Command::new("valgrind");
    valgrind.args(["--tool=callgrind", "--callgrind-out-file=/dev/null", "--"]);
    valgrind.arg(program).args(args).envs(set.iter().map(|(name, value)| (name, value)));
    valgrind.stdin(match stdin {
        Some(path) => Stdio::from(std::fs::File::open(path)?),
        None => Stdio::null(),
    });
    let output = valgrind.stdout(Stdio::null()).output().context("valgrind")?;
    let told = String::from_utf8_lossy(&output.stderr);
    let line = told.lines().find_map(|line| line.split("Collected :").nth(1));
    ensure!(line.is_some(), "callgrind counted nothing:\n{told}");
    let count = line.unwrap_or_default().split_whitespace().next().unwrap_or_default();
    Ok(Counted { count: count.parse::<u64>()? as f64, whole: output.status.success() })
}
