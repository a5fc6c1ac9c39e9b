//! A fresh project with a home and a state folder of its own, and the program to run in it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::Context;
use serde_json::{Value, json};

use super::Options;
use super::program::{ProgramResult, run_program};

/// Longer than any firing of these attacks may take.
pub const RUN_TIMEOUT: Duration = Duration::from_secs(60);

pub struct TestProject {
    _temp: tempfile::TempDir,
    pub base: PathBuf,
    pub root: PathBuf,
    pub program: PathBuf,
    trust: &'static str,
}

impl TestProject {
    /// Creates a project in which all hooks run.
    pub fn new(options: &Options) -> anyhow::Result<Self> {
        let temp = tempfile::tempdir()?;
        let base = fs::canonicalize(temp.path())?;
        let root = base.join("project");
        fs::create_dir_all(&root)?;
        fs::create_dir_all(base.join("home"))?;
        Ok(Self { _temp: temp, base, root, program: options.program_path(), trust: "all" })
    }

    /// Runs only trusted hooks.
    pub fn with_trust_store(mut self) -> Self {
        self.trust = "store";
        self
    }

    pub fn write_file(&self, path: &str, text: &str) -> anyhow::Result<PathBuf> {
        let path = self.root.join(path);
        let folder = path.parent().context("no parent folder")?;
        fs::create_dir_all(folder)?;
        fs::write(&path, text).with_context(|| path.display().to_string())?;
        Ok(path)
    }

    /// Writes a file in the user's home. Its hooks need no trust.
    pub fn write_home(&self, path: &str, text: &str) -> anyhow::Result<PathBuf> {
        self.write_file(&format!("../home/{path}"), text)
    }

    /// Sets the environment of a command in this project.
    pub fn set_environment(&self, command: &mut Command) {
        let path = std::env::var_os("PATH").unwrap_or_default();
        command.env_clear().env("PATH", path).current_dir(&self.root);
        command.env("HOME", self.base.join("home"));
        command.env("GAMBREL_STATE_DIR", self.state_dir());
        command.env("GAMBREL_TRUST", self.trust);
        command.env("GAMBREL_CLAUDE_MANAGED", self.base.join("managed.json"));
    }

    pub fn state_dir(&self) -> PathBuf {
        self.base.join("state")
    }

    pub fn gambrel_command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(&self.program);
        command.args(args);
        self.set_environment(&mut command);
        command
    }

    pub fn run(&self, args: &[&str], stdin: &[u8]) -> anyhow::Result<ProgramResult> {
        run_program(self.gambrel_command(args), stdin, &self.base, RUN_TIMEOUT)
    }

    /// Fires one Claude Code event.
    pub fn fire(&self, event: &Value) -> anyhow::Result<ProgramResult> {
        self.run(&["fire", "--from", "claude"], event.to_string().as_bytes())
    }

    /// Trusts every hook of the project.
    pub fn trust_all(&self) -> anyhow::Result<()> {
        let ended = self.run(&["trust", "--all", "--yes"], b"")?;
        anyhow::ensure!(ended.code() == Some(0), "gambrel trust: {}", ended.stderr);
        Ok(())
    }

    /// Reads the journal, newest last.
    pub fn read_journal(&self) -> anyhow::Result<Vec<Value>> {
        let ended = self.run(&["log", "--json", "-n", "1000000"], b"")?;
        anyhow::ensure!(ended.code() == Some(0), "gambrel log: {}", ended.stderr);
        let lines = ended.stdout.lines();
        lines.map(|line| serde_json::from_str(line).context("a line of gambrel log")).collect()
    }
}

/// A PreToolUse event for Bash.
pub fn tool_event(session: &str) -> Value {
    json!({"hook_event_name": "PreToolUse", "session_id": session, "tool_name": "Bash",
           "tool_input": {"command": "ls"}, "tool_use_id": "1"})
}

/// Settings of Claude Code with one PreToolUse command for Bash.
pub fn guard_settings(command: &str, timeout: u64) -> String {
    let hook = json!({"type": "command", "command": command, "timeout": timeout});
    json!({"hooks": {"PreToolUse": [{"matcher": "Bash", "hooks": [hook]}]}}).to_string()
}

/// Converts a path to an argument.
pub fn path_text(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}
