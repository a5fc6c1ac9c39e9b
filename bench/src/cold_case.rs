//! The cases of a cold `gambrel fire`: what the timings of goal 8 and the counters measure. All have
//! ten hooks of Claude Code in the user's settings.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::ensure;

use crate::fixture::{Fixture, hook_group};

const HOOK_COUNT: usize = 10;
/// A part of a reply that denies.
pub const DENIES: &str = r#""permissionDecision":"deny""#;
/// A rule of gambrel's own format that denies the event.
const RULE: &str = "hooks:\n  on_tool_before:\n    - rule: {block: question, message: no}\n";
/// A module of oh-my-pi that denies the event.
const MODULE: &str = r#"export default function (pi) {
	pi.on("tool_call", async (event) => {
		if (event.toolName === "write") return { block: true, reason: "no" };
	});
}
"#;

/// One event with its hooks, and the expected reply.
pub struct ColdCase {
    /// The name in reports.
    pub name: &'static str,
    /// The native event.
    pub event: Vec<u8>,
    fixture: Fixture,
    expected_output: &'static str,
}

impl ColdCase {
    /// Builds all cases below a folder. `hook` is the program of the hooks.
    pub fn build_all(folder: &Path, hook: &Path) -> anyhow::Result<Vec<Self>> {
        let (rule, module) = (".config/gambrel/hooks.yaml", ".omp/agent/hooks/pre/guard.ts");
        Ok(vec![
            Self::new(folder, "nothing met", hook, "Other", "")?,
            Self::new(folder, "one rule", hook, "Other", DENIES)?.with_file(rule, RULE)?,
            Self::new(folder, "one hook", hook, "Write", DENIES)?,
            Self::new(folder, "one module", hook, "Other", DENIES)?.with_file(module, MODULE)?,
        ])
    }

    /// Ten hooks, the last of them for the tool `matcher`. The event is about the tool `Write`.
    fn new(
        folder: &Path,
        name: &'static str,
        hook: &Path,
        matcher: &str,
        expected_output: &'static str,
    ) -> anyhow::Result<Self> {
        let command = hook.display().to_string();
        let other = |at: usize| hook_group(&format!("Tool{at}"), &format!("{command} {at}"));
        let mut hooks: Vec<_> = (1..HOOK_COUNT).map(other).collect();
        hooks.push(hook_group(matcher, &command));
        let fixture = Fixture::with_hooks(folder.join(name.replace(' ', "-")), &hooks)?;
        let event = fixture.tool_event("Write", "bench", 1_000);
        Ok(Self { name, event, fixture, expected_output })
    }

    /// Adds a file to the user's home.
    fn with_file(self, path: &str, text: &str) -> anyhow::Result<Self> {
        let file = self.fixture.home().join(path);
        fs::create_dir_all(file.parent().unwrap_or(&file))?;
        fs::write(file, text)?;
        Ok(self)
    }

    /// The variables of a process that fires the event.
    pub fn variables(&self) -> Vec<(&'static str, String)> {
        self.fixture.variables()
    }

    /// A part of the reply; the reply is empty if this is.
    pub fn expected_output(&self) -> &'static str {
        self.expected_output
    }

    /// The folder for files of the measurement.
    pub fn folder(&self) -> &Path {
        self.fixture.folder()
    }

    /// `gambrel fire` for this event, without the variables of this process.
    pub fn fire_command(&self, gambrel: &Path) -> Command {
        let mut command = Command::new(gambrel);
        command.args(["fire", "--from", "claude"]).env_clear().env("PATH", "/usr/bin:/bin");
        command.envs(self.variables()).current_dir(self.fixture.project());
        command
    }

    /// Fails if the reply is not the expected one.
    pub fn check_reply(&self, code: i32, stdout: &[u8]) -> anyhow::Result<()> {
        let output = String::from_utf8_lossy(stdout);
        let is_expected = match self.expected_output {
            "" => output.is_empty(),
            part => output.contains(part),
        };
        ensure!(code == 0 && is_expected, "{}: exit {code}, printed {output:?}", self.name);
        Ok(())
    }
}
