//! The modes in which the row `zoo` runs a program as a hook: one per dialect, and detached if the
//! dialect supports it.

use std::process::Command;

use serde_json::{Value, json};

use super::project::{TestProject, tool_event};

/// A way to run a program as a hook.
pub struct HookMode {
    pub name: &'static str,
    pub detached: bool,
    /// Whether gambrel adopts processes that the program leaves while it runs.
    pub adopts: bool,
    /// The dialect of the event.
    from: &'static str,
    event: fn() -> Value,
    /// Writes the configuration that names the program.
    write: fn(&TestProject, &str) -> anyhow::Result<()>,
}

/// The two modes of Claude Code come first: every run uses them with every program.
pub const MODES: &[HookMode] = &[
    waited_mode("claude", write_claude_waited),
    HookMode { detached: true, ..waited_mode("claude", write_claude_detached) },
    waited_mode("unified", write_unified_waited),
    HookMode { detached: true, ..waited_mode("unified", write_unified_detached) },
    HookMode { event: stop_event, ..waited_mode("iteratr", write_iteratr) },
    HookMode { event: task_event, from: "teams", ..waited_mode("teams", write_teams) },
    HookMode { adopts: false, ..waited_mode("omp", write_module) },
];
/// How many of them belong to Claude Code.
pub const CLAUDE_MODE_COUNT: usize = 2;

const fn waited_mode(
    name: &'static str,
    write: fn(&TestProject, &str) -> anyhow::Result<()>,
) -> HookMode {
    HookMode { name, detached: false, adopts: true, from: "claude", event: bash_event, write }
}

impl HookMode {
    /// Writes the hook, and returns the command that fires its event and the event.
    pub fn write_hook(
        &self,
        project: &TestProject,
        script: &str,
    ) -> anyhow::Result<(Command, Value)> {
        (self.write)(project, script)?;
        let mut command = project.gambrel_command(&["fire", "--from", self.from]);
        command.env("PI_TEAMS_HOOKS_DIR", project.root.join("team-hooks"));
        command.env("PI_TEAMS_HOOKS_ENABLED", "1").env("PI_TEAMS_HOOK_TIMEOUT_MS", "1000");
        Ok((command, (self.event)()))
    }
}

fn bash_event() -> Value {
    tool_event("zoo")
}

fn stop_event() -> Value {
    json!({"hook_event_name": "Stop", "session_id": "zoo", "stop_hook_active": false})
}

fn task_event() -> Value {
    json!({"event": "task_completed", "team": {"id": "alpha"}, "task": {"id": "1"}})
}

fn write_claude_waited(project: &TestProject, script: &str) -> anyhow::Result<()> {
    write_claude(project, script, false)
}

fn write_claude_detached(project: &TestProject, script: &str) -> anyhow::Result<()> {
    write_claude(project, script, true)
}

fn write_claude(project: &TestProject, script: &str, detached: bool) -> anyhow::Result<()> {
    let hook = json!({"type": "command", "command": script, "timeout": 1, "async": detached});
    let settings = json!({"hooks": {"PreToolUse": [{"matcher": "Bash", "hooks": [hook]}]}});
    project.write_file(".claude/settings.json", &settings.to_string()).map(drop)
}

fn write_unified_waited(project: &TestProject, script: &str) -> anyhow::Result<()> {
    write_unified(project, script, false)
}

fn write_unified_detached(project: &TestProject, script: &str) -> anyhow::Result<()> {
    write_unified(project, script, true)
}

fn write_unified(project: &TestProject, script: &str, detached: bool) -> anyhow::Result<()> {
    let hook = json!({"type": "shell", "command": script, "timeout": 1, "await": !detached});
    let hooks = json!({"hooks": {"on_tool_before": [hook]}});
    project.write_file(".gambrel/hooks.yaml", &hooks.to_string()).map(drop)
}

fn write_iteratr(project: &TestProject, script: &str) -> anyhow::Result<()> {
    let hook = json!({"command": script, "timeout": 1, "pipe_output": true});
    let hooks = json!({"version": 1, "hooks": {"post_iteration": [hook]}});
    project.write_file(".iteratr.hooks.yml", &hooks.to_string()).map(drop)
}

fn write_teams(project: &TestProject, script: &str) -> anyhow::Result<()> {
    project.write_file("team-hooks/on_task_completed.sh", script).map(drop)
}

/// Writes a module that runs the program with the same timeout.
fn write_module(project: &TestProject, script: &str) -> anyhow::Result<()> {
    // Only this edition has a configurable timeout.
    let config = "omp:\n  edition: extensions\n  extensionHandlers:\n    toolCallTimeoutMs: 1000\n";
    project.write_home(".config/gambrel/config.yaml", config)?;
    let script = json!(script);
    let module = format!(
        "export default (pi) => {{\n  pi.on('tool_call', async () => {{\n    const ran = await \
         pi.exec('bash', ['-c', {script}], {{ timeout: 1000 }});\n    return ran.code === 2 ? {{ \
         block: true, reason: 'no' }} : undefined;\n  }});\n}};\n"
    );
    project.write_file(".omp/hooks/pre/zoo.ts", &module).map(drop)
}
