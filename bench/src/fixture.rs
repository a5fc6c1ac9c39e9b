//! A temporary home, project and state folder with hooks, and the engine for them. The hooks are in
//! the user's settings, so they need no trust.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, ensure};
use gambrel::{Gambrel, Loaded, Ruling, Setup};
use gambrel_actions::{Settings, ShellAction};
use gambrel_ledger::MemoryLedger;
use gambrel_model::Decision;
use serde_json::{Value, json};

/// The temporary folders of one measurement.
pub struct Fixture {
    folder: PathBuf,
}

impl Fixture {
    /// Creates the folders below `folder`, or uses existing ones.
    pub fn in_folder(folder: impl Into<PathBuf>) -> anyhow::Result<Self> {
        let this = Self { folder: folder.into() };
        fs::create_dir_all(this.home().join(".claude"))?;
        fs::create_dir_all(this.project())?;
        Ok(this)
    }

    /// Creates the folders, with these PreToolUse hooks.
    pub fn with_hooks(folder: impl Into<PathBuf>, hooks: &[Value]) -> anyhow::Result<Self> {
        let this = Self::in_folder(folder)?;
        let settings = json!({ "hooks": { "PreToolUse": hooks } });
        fs::write(this.settings_file(), serde_json::to_string_pretty(&settings)?)?;
        Ok(this)
    }

    /// The folder that contains all others.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The user's home.
    pub fn home(&self) -> PathBuf {
        self.folder.join("home")
    }

    /// The project folder.
    pub fn project(&self) -> PathBuf {
        self.folder.join("project")
    }

    /// The settings file with the hooks.
    pub fn settings_file(&self) -> PathBuf {
        self.home().join(".claude/settings.json")
    }

    /// Environment variables for processes that use these folders.
    pub fn variables(&self) -> Vec<(&'static str, String)> {
        let home = self.home();
        let text = |path: &Path| path.display().to_string();
        vec![
            ("HOME", text(&home)),
            ("XDG_CONFIG_HOME", text(&home.join(".config"))),
            ("GAMBREL_STATE_DIR", text(&self.folder.join("state"))),
            ("CLAUDE_PROJECT_DIR", text(&self.project())),
            ("CLAUDE_CONFIG_DIR", text(&home.join(".claude"))),
        ]
    }

    fn setup(&self) -> Setup {
        let mut setup = Setup::from_env();
        let mut env = (*setup.env).clone();
        env.extend(self.variables().into_iter().map(|(name, value)| (name.to_owned(), value)));
        setup.env = Arc::new(env);
        setup.folder = Some(self.project());
        setup
    }

    /// The engine with its journal.
    pub fn engine_with_journal(&self) -> Gambrel {
        Gambrel::new(self.setup())
    }

    /// The engine with a ledger in memory.
    pub fn engine_without_journal(&self) -> Gambrel {
        let action = ShellAction::new(Settings::default());
        Gambrel::with_parts(self.setup(), Arc::new(MemoryLedger::new()), vec![Box::new(action)])
    }

    /// A tool event of about `length` bytes.
    pub fn tool_event(&self, tool: &str, session: &str, length: usize) -> Vec<u8> {
        let event = |content: &str| {
            json!({
                "hook_event_name": "PreToolUse", "session_id": session, "cwd": self.project(),
                "permission_mode": "default", "tool_name": tool,
                "tool_input": { "file_path": "src/lib.rs", "content": content },
            })
            .to_string()
        };

        const LINE: &str = "let answer = question.ask(\"why\").await?; // as text goes\n";
        let written = serde_json::to_string(LINE).map_or(LINE.len(), |line| line.len() - 2);
        let remaining = length.saturating_sub(event("").len());
        event(&LINE.repeat(remaining.div_ceil(written))).into_bytes()
    }
}

/// A matcher group of the settings file with one command.
pub fn hook_group(matcher: &str, command: &str) -> Value {
    json!({ "matcher": matcher, "hooks": [{ "type": "command", "command": command }] })
}

/// Parses and fires an event. Fails if the ruling is not the expected one.
pub fn fire_and_check(
    gambrel: &Gambrel,
    loaded: &Arc<Loaded>,
    event: &[u8],
    expected: Ruling,
) -> anyhow::Result<Decision> {
    let received = gambrel.receive("claude", event);
    let event = received.map_err(|complaint| anyhow::anyhow!(complaint.message))?;
    let decision = gambrel.fire_with_hooks(event, loaded).decision;
    let ruling = decision.merged.ruling;
    ensure!(ruling == expected, "decided {ruling:?}, not {expected:?}: {}", decision.to_json());
    ensure!(decision.warnings.is_empty(), "{:?}", decision.warnings);
    Ok(decision)
}

/// The command line of the only hook in a decision.
pub fn hook_command(decision: &Decision) -> anyhow::Result<Vec<String>> {
    let outcome = decision.trail.iter().find_map(|step| step.outcome.as_ref());
    Ok(outcome.context("no hook ran")?.command.clone())
}
