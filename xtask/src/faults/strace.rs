//! Runs the program under strace, which makes selected system calls fail or kills the program at
//! them.

use std::process::Command;

use super::program::{ProgramResult, run_program};
use super::project::{RUN_TIMEOUT, TestProject, path_text};

/// Whether this machine allows ptrace.
pub fn is_allowed() -> bool {
    let traced = Command::new("strace").args(["-o", "/dev/null", "true"]).output();
    traced.is_ok_and(|output| output.status.success())
}

/// The result of a traced run.
pub struct Traced {
    pub ended: ProgramResult,
    pub lines: Vec<String>,
}

impl Traced {
    /// Whether strace injected a fault.
    pub fn has_injected_fault(&self) -> bool {
        let injected =
            |line: &String| line.contains("(INJECTED)") || line.contains("+++ killed by SIGKILL");
        self.lines.iter().any(injected)
    }
}

/// Runs the program with `args` under `strace` with `options`.
pub fn run_traced(
    project: &TestProject,
    options: &[&str],
    args: &[&str],
    stdin: &[u8],
) -> anyhow::Result<Traced> {
    let log = project.base.join("strace.log");
    let mut command = Command::new("strace");
    command.args(["-qq", "-o", &path_text(&log)]).args(options);
    command.arg("--").arg(&project.program).args(args);
    project.set_environment(&mut command);
    let ended = run_program(command, stdin, &project.base, RUN_TIMEOUT)?;
    let text = std::fs::read(&log).unwrap_or_default();
    let lines = String::from_utf8_lossy(&text).lines().map(str::to_owned).collect();
    Ok(Traced { ended, lines })
}
