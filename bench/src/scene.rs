//! A home, a project and a state folder of their own, with hooks in them; and the engine over it.
//! The hooks are the user's, so that no trust is asked for.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, ensure};
use gambrel::actions::{Settings, ShellAction};
use gambrel::model::{Decision, JournalRecord, Ledger, LedgerError, SessionState, TrustEntry};
use gambrel::{Gambrel, Loaded, Ruling, Setup};
use serde_json::{Value, json};

/// The folders.
pub struct Scene {
    folder: PathBuf,
}

impl Scene {
    /// Makes the folders below this one, or finds them there.
    pub fn at(folder: impl Into<PathBuf>) -> anyhow::Result<Self> {
        let this = Self { folder: folder.into() };
        fs::create_dir_all(this.home().join(".claude"))?;
        fs::create_dir_all(this.project())?;
        Ok(this)
    }

    /// Makes the folders, with these hooks at every tool call.
    pub fn with(folder: impl Into<PathBuf>, hooks: &[Value]) -> anyhow::Result<Self> {
        let this = Self::at(folder)?;
        let settings = json!({ "hooks": { "PreToolUse": hooks } });
        fs::write(this.settings(), serde_json::to_string_pretty(&settings)?)?;
        Ok(this)
    }

    /// All of it.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The user's home.
    pub fn home(&self) -> PathBuf {
        self.folder.join("home")
    }

    /// Where events come from.
    pub fn project(&self) -> PathBuf {
        self.folder.join("project")
    }

    /// Where hooks are written.
    pub fn settings(&self) -> PathBuf {
        self.home().join(".claude/settings.json")
    }

    /// The variables that make a process live here.
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

    /// The program as it is: with its journal.
    pub fn journalled(&self) -> Gambrel {
        Gambrel::new(self.setup())
    }

    /// The program with a ledger that does nothing.
    pub fn unjournalled(&self) -> Gambrel {
        let action = ShellAction::new(Settings::default());
        Gambrel::with_parts(self.setup(), Arc::new(Nothing), vec![Box::new(action)])
    }

    /// An event about a tool, as long as it is asked to be.
    pub fn event(&self, tool: &str, session: &str, length: usize) -> Vec<u8> {
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
        let room = length.saturating_sub(event("").len());
        event(&LINE.repeat(room.div_ceil(written))).into_bytes()
    }
}

/// One handler under one matcher, as the settings file has it.
pub fn hook(matcher: &str, command: &str) -> Value {
    json!({ "matcher": matcher, "hooks": [{ "type": "command", "command": command }] })
}

/// Receives, fires, and holds the decision to what it has to be.
pub fn fire(
    gambrel: &Gambrel,
    loaded: &Arc<Loaded>,
    event: &[u8],
    expected: Ruling,
) -> anyhow::Result<Decision> {
    let received = gambrel.receive("claude", event);
    let mut event = received.map_err(|complaint| anyhow::anyhow!(complaint.message))?;
    let decision = gambrel.fire_with_hooks(&mut event, loaded).decision;
    let ruling = decision.merged.ruling;
    ensure!(ruling == expected, "decided {ruling:?}, not {expected:?}: {}", decision.to_json());
    ensure!(decision.warnings.is_empty(), "{:?}", decision.warnings);
    Ok(decision)
}

/// What the only hook of a decision was started as.
pub fn command(decision: &Decision) -> anyhow::Result<Vec<String>> {
    let outcome = decision.trail.iter().find_map(|step| step.outcome.as_ref());
    Ok(outcome.context("no hook ran")?.command.clone())
}

/// Remembers nothing.
struct Nothing;

impl Ledger for Nothing {
    fn append_journal(&self, _: &[JournalRecord]) -> Result<(), LedgerError> {
        Ok(())
    }

    fn session_state(&self, _: &str) -> Result<SessionState, LedgerError> {
        Ok(SessionState::default())
    }

    fn update_session(
        &self,
        _: &str,
        _: &mut dyn FnMut(&mut SessionState),
    ) -> Result<(), LedgerError> {
        Ok(())
    }

    fn trust(&self) -> Result<BTreeMap<String, TrustEntry>, LedgerError> {
        Ok(BTreeMap::new())
    }

    fn update_trust(
        &self,
        _: &mut dyn FnMut(&mut BTreeMap<String, TrustEntry>),
    ) -> Result<(), LedgerError> {
        Ok(())
    }
}
