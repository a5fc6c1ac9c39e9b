//! Runs the program under strace, which makes chosen system calls fail or kills at them.

use std::process::Command;

use super::program::{Ended, run_program};
use super::project::{LONG, TestProject, text_of};

/// Whether this machine lets one process trace another.
pub fn is_allowed() -> bool {
    let traced = Command::new("strace").args(["-o", "/dev/null", "true"]).output();
    traced.is_ok_and(|output| output.status.success())
}

/// What a traced run left.
pub struct Traced {
    pub ended: Ended,
    pub lines: Vec<String>,
}

impl Traced {
    /// Whether strace changed anything.
    pub fn was_touched(&self) -> bool {
        let touched =
            |line: &String| line.contains("(INJECTED)") || line.contains("+++ killed by SIGKILL");
        self.lines.iter().any(touched)
    }
}

/// Runs the program with `args` under `strace` with `options`.
pub fn trace(
    project: &TestProject,
    options: &[&str],
    args: &[&str],
    stdin: &[u8],
) -> anyhow::Result<Traced> {
    let log = project.base.join("strace.log");
    let mut command = Command::new("strace");
    command.args(["-qq", "-o", &text_of(&log)]).args(options);
    command.arg("--").arg(&project.program).args(args);
    project.prepare(&mut command);
    let ended = run_program(command, stdin, &project.base, LONG)?;
    let text = std::fs::read(&log).unwrap_or_default();
    let lines = String::from_utf8_lossy(&text).lines().map(str::to_owned).collect();
    Ok(Traced { ended, lines })
}
