//! One event: neutral facts and the caller's unchanged native payload. Hooks of the caller's
//! dialect see every native field; all others see the facts.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::dialect::Dialect;
use crate::ledger::Undelivered;
use crate::moment::{Moment, MomentKind, to_snake_case};
use crate::pass::Pass;
use crate::spec::EventSpec;
use crate::tool::{Tool, ToolResult};
use crate::verdict::{Patch, Slot};

/// One occurrence of a moment.
#[derive(Clone)]
pub struct Event {
    /// Id of the firing.
    pub id: String,
    /// A stable name for a firing that may be repeated after a crash.
    pub firing_key: Option<String>,
    /// Which hooks of a Close this firing runs.
    pub pass: Pass,
    /// Arrival time, milliseconds since the epoch.
    pub at: u64,
    /// The caller's dialect.
    pub dialect: &'static Dialect,
    /// The row of the caller's event table.
    pub spec: &'static EventSpec,
    /// The native event name.
    pub name: String,
    /// The neutral moment.
    pub moment: Moment,
    /// The caller's session.
    pub session: String,
    /// The name under which the ledger stores the session.
    pub session_key: String,
    /// The folder in which the agent works.
    pub cwd: PathBuf,
    /// The project's folder.
    pub project: PathBuf,
    /// The neutral facts.
    pub facts: Facts,
    /// The native payload.
    pub native: Value,
    /// Rewrites so far.
    pub patched: Patch,
    /// The session's counts by name.
    pub session_counts: BTreeMap<String, u64>,
    /// Messages and halts that earlier callers of the session could not receive.
    pub undelivered: Vec<Undelivered>,
    /// Why the state of the session could not be read or changed.
    pub session_errors: Vec<String>,
    /// The caller's process.
    pub context: Arc<CallerContext>,
}

/// Context of an arriving event.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct CallerContext {
    /// Names the firing.
    pub id: String,
    /// Milliseconds since the epoch.
    pub at: u64,
    /// The folder that the caller named or runs in.
    pub cwd: PathBuf,
    /// The caller's environment.
    #[serde(skip)]
    pub env: Arc<BTreeMap<String, String>>,
    /// The user's secrets, only for requests that name them.
    #[serde(skip)]
    pub secrets: Arc<BTreeMap<String, String>>,
    /// The calling process, if known.
    #[serde(rename = "caller")]
    pub caller_pid: Option<u32>,
    /// The caller's bytes if they are one line of text, with a newline at the end. Hooks of the same
    /// dialect receive them unless a hook rewrote something.
    #[serde(skip)]
    pub raw_line: Option<Arc<Vec<u8>>>,
    /// The native event's name, for a payload that does not name it.
    pub event_name: Option<String>,
}

/// An event as a dialect parsed it, before the caller's context is added.
#[derive(Clone)]
pub struct ParsedEvent {
    /// The caller's dialect.
    pub dialect: &'static Dialect,
    /// The row of the caller's event table.
    pub spec: &'static EventSpec,
    /// The event's name as the caller wrote it.
    pub name: String,
    /// The neutral moment.
    pub moment: Moment,
    /// The caller's session.
    pub session: String,
    /// The working folder, if the event names one.
    pub cwd: Option<String>,
    /// The neutral facts.
    pub facts: Facts,
    /// The caller's payload.
    pub native: Value,
    /// Which hooks of a Close this firing runs.
    pub pass: Pass,
    /// A stable name for a firing that may be repeated after a crash.
    pub firing_key: Option<String>,
    /// The folder of the run, if the caller runs a plan.
    pub run_dir: Option<String>,
    /// The line that hooks of the same dialect receive, if the dialect translated the payload.
    pub translated: Option<Arc<Vec<u8>>>,
}

impl ParsedEvent {
    /// An event with this payload and nothing else. An event without a row of its own becomes
    /// `Moment::Other`.
    pub fn new(
        dialect: &'static Dialect,
        spec: &'static EventSpec,
        name: String,
        native: Value,
    ) -> Self {
        let moment = match spec.name.is_empty() {
            true => Moment::Other(to_snake_case(&name).into()),
            false => spec.moment.clone(),
        };
        Self {
            dialect,
            spec,
            name,
            moment,
            session: String::new(),
            cwd: None,
            facts: Facts::default(),
            native,
            pass: Pass::All,
            firing_key: None,
            run_dir: None,
            translated: None,
        }
    }
}

/// An event as it arrived, before its project and its session are known.
#[derive(Clone)]
pub struct ReceivedEvent {
    /// The event as its dialect parsed it.
    pub parsed: ParsedEvent,
    /// The caller's context.
    pub context: CallerContext,
}

impl ReceivedEvent {
    /// The folder in which the agent works.
    pub fn cwd(&self) -> PathBuf {
        let named = self.parsed.cwd.as_ref().filter(|cwd| !cwd.is_empty());
        named.map_or_else(|| self.context.cwd.clone(), PathBuf::from)
    }
}

/// Neutral facts. A fact that the caller does not have is absent.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Facts {
    /// The tool that runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool: Option<Tool>,
    /// The user's prompt.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prompt: Option<String>,
    /// The number of the iteration, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub iteration: Option<u64>,
    /// The pipeline's stage.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stage: Option<String>,
    /// The task that the event is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task: Option<TaskFacts>,
    /// The team that the event is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub team: Option<TeamFacts>,
    /// The team member, or the kind of sub-agent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub member: Option<String>,
    /// Which of the session's sub-agents, where several of a kind may run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// The error that happened.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// The messages for the model.
    #[serde(rename = "messages", skip_serializing_if = "Option::is_none")]
    pub chat_messages: Option<Value>,
    /// The cause: `startup`, `manual`, a notification's type.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cause: Option<String>,
    /// Instructions for the summary of a compaction.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub instructions: Option<String>,
    /// The summary of a compaction.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,
    /// How often the same subject was refused in a row before.
    #[serde(skip_serializing_if = "is_zero")]
    pub refusals: u64,
    /// Named values of a caller that sends variables.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub vars: BTreeMap<String, String>,
}

/// Whether a number is zero and need not be stored.
pub(crate) fn is_zero<N: Default + PartialEq>(number: &N) -> bool {
    *number == N::default()
}

/// The known fields of a task.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct TaskFacts {
    /// Its id.
    pub id: String,
    /// One line.
    pub subject: String,
    /// The full text.
    pub description: String,
    /// Its owner.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub owner: Option<String>,
    /// Its status.
    pub status: String,
    /// The caller's own task object, if it has one.
    #[serde(skip_serializing_if = "Value::is_null")]
    pub native: Value,
}

/// The known fields of a team.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct TeamFacts {
    /// Its id.
    pub id: String,
    /// Its folder.
    pub dir: PathBuf,
    /// Its task list.
    pub list: String,
    /// Its style.
    pub style: String,
}

impl Event {
    /// Builds the event of a project.
    pub fn new(received: ReceivedEvent, project: PathBuf) -> Self {
        let cwd = received.cwd();
        let ReceivedEvent { parsed, mut context } = received;
        context.raw_line = parsed.translated.or(context.raw_line);
        let session_key = match parsed.run_dir {
            Some(folder) => run_key(Path::new(&folder)),
            None => session_key(&parsed.session, &project),
        };
        Self {
            id: context.id.clone(),
            firing_key: parsed.firing_key,
            pass: parsed.pass,
            at: context.at,
            dialect: parsed.dialect,
            spec: parsed.spec,
            name: parsed.name,
            moment: parsed.moment,
            session: parsed.session,
            session_key,
            project,
            cwd,
            facts: parsed.facts,
            native: parsed.native,
            patched: Patch::new(),
            session_counts: BTreeMap::new(),
            undelivered: Vec::new(),
            session_errors: Vec::new(),
            context: Arc::new(context),
        }
    }

    /// The kind of its moment.
    pub fn kind(&self) -> MomentKind {
        self.spec.kind()
    }

    /// Whether the caller uses this dialect.
    pub fn is_from(&self, dialect: &Dialect) -> bool {
        self.dialect.name == dialect.name
    }

    /// The same event with rewrites in its facts: what later hooks see.
    #[must_use]
    pub fn with_patch(&self, patch: &Patch) -> Self {
        let mut event = self.clone();
        for (slot, value) in patch {
            event.apply_slot(slot, value);
            event.patched.insert(slot.clone(), value.clone());
        }
        event
    }

    fn apply_slot(&mut self, slot: &Slot, value: &Value) {
        match (slot, &mut self.facts.tool) {
            (Slot::Input, Some(tool)) => tool.args = value.clone(),
            (Slot::Output, Some(tool)) => {
                let before = tool.result.take().unwrap_or_default();
                tool.result = Some(rewrite_result(before, value));
            }
            (Slot::ChatMessages, _) => self.facts.chat_messages = Some(value.clone()),
            (Slot::Prompt, _) => {
                let text = value.get("text").and_then(Value::as_str).map(str::to_owned);
                self.facts.prompt = text.or(self.facts.prompt.take());
            }
            (Slot::Input | Slot::Output, None)
            | (Slot::InjectedMessage | Slot::Native(_) | Slot::List(_), _) => {}
        }
    }
}

/// The key of a session in the ledger. It contains the project, because session names are not unique
/// and may be empty.
pub fn session_key(session: &str, project: &Path) -> String {
    format!("{session}@{}", project.display())
}

/// The key of a run in the ledger: of its messages, its lock and its log.
pub fn run_key(folder: &Path) -> String {
    format!("run:{}", folder.display())
}

fn rewrite_result(before: ToolResult, value: &Value) -> ToolResult {
    ToolResult {
        content: value.get("content").and_then(Value::as_array).cloned().unwrap_or(before.content),
        native: value.get("native").cloned().unwrap_or(before.native),
        error: before.error,
    }
}
