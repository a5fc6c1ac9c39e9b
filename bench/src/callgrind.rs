//! Counts instructions with valgrind. The count does not depend on the load of the machine.

use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, ensure};

/// A count of instructions.
pub struct InstructionCount {
    /// Instructions of the program without its children.
    pub count: f64,
    /// Whether the program exited normally under valgrind.
    pub is_complete: bool,
}

/// Runs a program and counts its instructions.
pub fn count_instructions(
    program: &Path,
    args: &[&str],
    set: &[(&str, String)],
    stdin: Option<&Path>,
) -> anyhow::Result<InstructionCount> {
    let mut valgrind = Command::new("valgrind");
    valgrind.args(["--tool=callgrind", "--callgrind-out-file=/dev/null", "--"]);
    valgrind.arg(program).args(args).envs(set.iter().map(|(name, value)| (name, value)));
    valgrind.stdin(match stdin {
        Some(path) => Stdio::from(std::fs::File::open(path)?),
        None => Stdio::null(),
    });

    let output = valgrind.stdout(Stdio::null()).output().context("valgrind")?;
    let report = String::from_utf8_lossy(&output.stderr);
    let line = report.lines().find_map(|line| line.split("Collected :").nth(1));
    ensure!(line.is_some(), "callgrind counted nothing:\n{report}");
    let count = line.unwrap_or_default().split_whitespace().next().unwrap_or_default();
    Ok(InstructionCount {
        count: count.parse::<u64>()? as f64,
        is_complete: output.status.success(),
    })
}
