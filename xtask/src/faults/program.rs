//! Runs one program up to a time limit, and measures its time and memory.

use std::fs::{self, File};
use std::io::Write;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use anyhow::Context;
use serde_json::Value;

/// How often a running program is polled.
const POLL_INTERVAL: Duration = Duration::from_millis(2);
static RUNS: AtomicUsize = AtomicUsize::new(0);

/// The result of a program.
pub struct ProgramResult {
    /// `None` if it was killed at the time limit.
    pub status: Option<ExitStatus>,
    pub stdout: String,
    pub stderr: String,
    pub took: Duration,
    /// Largest observed resident memory.
    pub peak_kib: u64,
}

impl ProgramResult {
    pub fn code(&self) -> Option<i32> {
        self.status.and_then(|status| status.code())
    }

    pub fn signal(&self) -> Option<i32> {
        self.status.and_then(|status| status.signal())
    }

    /// The reply as JSON, or null.
    pub fn reply(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_default()
    }

    /// Whether the reply denies a tool call of Claude Code.
    pub fn denies(&self) -> bool {
        self.reply()["hookSpecificOutput"]["permissionDecision"] == "deny"
    }
}

/// A running program. Its output goes to files, so that an open pipe cannot block it.
pub struct RunningProgram {
    pub child: Child,
    began: Instant,
    output: [std::path::PathBuf; 2],
    peak_kib: u64,
}

impl RunningProgram {
    pub fn start(mut command: Command, stdin: &[u8], folder: &Path) -> anyhow::Result<Self> {
        let run = RUNS.fetch_add(1, Ordering::Relaxed);
        let name = |end: &str| folder.join(format!("{run}.{end}"));
        let (input, output) = (name("in"), [name("out"), name("err")]);
        File::create(&input)?.write_all(stdin)?;
        command.stdin(File::open(&input)?);
        command.stdout(File::create(&output[0])?).stderr(File::create(&output[1])?);

        let began = Instant::now();
        let child = command.spawn().with_context(|| format!("{command:?}"))?;
        fs::remove_file(&input)?;
        Ok(Self { child, began, output, peak_kib: 0 })
    }

    /// Returns the status if it has ended, and samples its memory.
    pub fn poll(&mut self) -> anyhow::Result<Option<ExitStatus>> {
        self.peak_kib = self.peak_kib.max(peak_memory_kib(self.child.id()));
        Ok(self.child.try_wait()?)
    }

    /// Waits until it ends; kills it after the limit.
    pub fn wait(mut self, limit: Duration) -> anyhow::Result<ProgramResult> {
        loop {
            if let Some(status) = self.poll()? {
                return self.finish(Some(status));
            }
            if self.began.elapsed() > limit {
                self.child.kill()?;
                self.child.wait()?;
                return self.finish(None);
            }
            std::thread::sleep(POLL_INTERVAL);
        }
    }

    /// Its stdout and stderr so far.
    pub fn output_so_far(&self) -> anyhow::Result<(String, String)> {
        Ok((fs::read_to_string(&self.output[0])?, fs::read_to_string(&self.output[1])?))
    }

    pub fn kill(mut self) -> anyhow::Result<ProgramResult> {
        self.child.kill()?;
        let status = self.child.wait()?;
        self.finish(Some(status))
    }

    fn finish(self, status: Option<ExitStatus>) -> anyhow::Result<ProgramResult> {
        let took = self.began.elapsed();
        let read = |path: &Path| -> anyhow::Result<String> {
            let bytes = fs::read(path)?;
            fs::remove_file(path)?;
            Ok(String::from_utf8_lossy(&bytes).into_owned())
        };
        let (stdout, stderr) = (read(&self.output[0])?, read(&self.output[1])?);
        Ok(ProgramResult { status, stdout, stderr, took, peak_kib: self.peak_kib })
    }
}

/// Runs a command with its files in `folder`.
pub fn run_program(
    mut command: Command,
    stdin: &[u8],
    folder: &Path,
    limit: Duration,
) -> anyhow::Result<ProgramResult> {
    command.stdin(Stdio::null());
    RunningProgram::start(command, stdin, folder)?.wait(limit)
}

/// The peak resident memory of a process; 0 if it cannot be read.
pub fn peak_memory_kib(pid: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.split_whitespace().next()?.parse().ok()).unwrap_or(0)
}
