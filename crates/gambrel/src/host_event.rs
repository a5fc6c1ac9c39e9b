//! Events of a Rust host, built from typed parts instead of the JSON of an agent. Knows the neutral
//! names only; dialects translate them for their hooks.

use std::path::PathBuf;

use gambrel_model::tool::text_block;
use gambrel_model::{Complaint, Facts, Moment, ReceivedEvent, TaskFacts, Tool, ToolResult};
use serde_json::{Value, json};

use crate::wrap::{ToolCall, ToolOutput};
use crate::{FireResult, Gambrel};

/// The dialect whose names these events use.
const NEUTRAL_DIALECT: &str = "gambrel";

/// Something that happened in a host: a moment, the session, and the facts that hooks receive.
///
/// ```
/// use gambrel::{Gambrel, HostEvent, Ruling, Setup, ToolCall};
/// use serde_json::json;
///
/// let gambrel = Gambrel::new(Setup::in_memory(std::env::temp_dir()));
/// let call = ToolCall::new("bash", json!({"command": "cargo publish"}));
/// let event = HostEvent::tool_before("night", &call).with_iteration(3);
/// let fired = gambrel.fire_event(&event)?;
/// assert_eq!(fired.decision.merged.ruling, Ruling::Silent);
/// # Ok::<(), gambrel::Complaint>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct HostEvent {
    moment: Moment,
    session: String,
    folder: Option<PathBuf>,
    facts: Facts,
}

impl HostEvent {
    /// An event without facts, at any moment.
    pub fn new(moment: Moment, session: impl Into<String>) -> Self {
        Self { moment, session: session.into(), folder: None, facts: Facts::default() }
    }

    /// A session begins. `cause` says why: `startup`, `resume`.
    pub fn session_start(session: impl Into<String>, cause: impl Into<String>) -> Self {
        Self::new(Moment::SessionStart, session)
            .with_facts(|facts| facts.cause = Some(cause.into()))
    }

    /// A session has ended.
    pub fn session_end(session: impl Into<String>, cause: impl Into<String>) -> Self {
        Self::new(Moment::SessionEnd, session).with_facts(|facts| facts.cause = Some(cause.into()))
    }

    /// The agent is about to receive a prompt. Hooks may refuse or rewrite it.
    pub fn prompt(session: impl Into<String>, text: impl Into<String>) -> Self {
        Self::new(Moment::IterationStart, session)
            .with_facts(|facts| facts.prompt = Some(text.into()))
    }

    /// The agent is about to stop. A refusal keeps it going.
    pub fn iteration_end(session: impl Into<String>) -> Self {
        Self::new(Moment::IterationEnd, session)
    }

    /// A tool is about to run. Hooks may refuse the call or rewrite its input.
    pub fn tool_before(session: impl Into<String>, call: &ToolCall) -> Self {
        Self::new(Moment::ToolBefore, session).with_tool(call.to_tool())
    }

    /// A tool has run. Hooks may rewrite its output.
    pub fn tool_after(session: impl Into<String>, call: &ToolCall, output: &ToolOutput) -> Self {
        let result = ToolResult {
            content: output.content.clone(),
            native: output.details.clone(),
            error: None,
        };
        let tool = Tool { result: Some(result), ..call.to_tool() };
        Self::new(Moment::ToolAfter, session).with_tool(tool)
    }

    /// A tool has failed with this error.
    pub fn tool_failed(session: impl Into<String>, call: &ToolCall, error: &str) -> Self {
        let result = ToolResult {
            content: vec![text_block(error)],
            native: Value::Null,
            error: Some(error.to_owned()),
        };
        let tool = Tool { result: Some(result), ..call.to_tool() };
        Self::new(Moment::ToolFailed, session).with_tool(tool)
    }

    /// A task is about to count as completed. A refusal keeps it open.
    pub fn task_completed(
        session: impl Into<String>,
        id: impl Into<String>,
        subject: impl Into<String>,
    ) -> Self {
        let task = TaskFacts { id: id.into(), subject: subject.into(), ..TaskFacts::default() };
        Self::new(Moment::TaskCompleted, session).with_facts(|facts| facts.task = Some(task))
    }

    /// An error happened.
    pub fn error(session: impl Into<String>, text: impl Into<String>) -> Self {
        Self::new(Moment::Error, session).with_facts(|facts| facts.error = Some(text.into()))
    }

    /// The folder in which it happened, if it is not that of the setup.
    #[must_use]
    pub fn in_folder(mut self, folder: impl Into<PathBuf>) -> Self {
        self.folder = Some(folder.into());
        self
    }

    /// The number of the iteration, from 1.
    #[must_use]
    pub fn with_iteration(self, number: u64) -> Self {
        self.with_facts(|facts| facts.iteration = Some(number))
    }

    /// The stage of the pipeline.
    #[must_use]
    pub fn with_stage(self, stage: impl Into<String>) -> Self {
        self.with_facts(|facts| facts.stage = Some(stage.into()))
    }

    /// A named value that hooks of agent-pipelines read as a variable.
    #[must_use]
    pub fn with_var(self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.with_facts(|facts| drop(facts.vars.insert(name.into(), value.into())))
    }

    /// Changes the facts, for those without a method here.
    #[must_use]
    pub fn with_facts(mut self, change: impl FnOnce(&mut Facts)) -> Self {
        change(&mut self.facts);
        self
    }

    fn with_tool(self, tool: Tool) -> Self {
        self.with_facts(|facts| facts.tool = Some(tool))
    }

    /// The event as JSON: what `gambrel fire --from gambrel` reads.
    pub fn to_json(&self) -> Value {
        let mut event =
            json!({"moment": self.moment.name(), "session": self.session, "facts": self.facts});
        if let Some(folder) = &self.folder {
            event["cwd"] = json!(folder);
        }
        event
    }
}

impl Gambrel {
    /// Opens a host's event, for [`fire`](Self::fire) and [`explain`](Self::explain).
    pub fn receive_event(&self, event: &HostEvent) -> Result<ReceivedEvent, Complaint> {
        self.receive(NEUTRAL_DIALECT, event.to_json().to_string().as_bytes())
    }

    /// Fires every matching hook for a host's event. Call
    /// [`mark_delivered`](Self::mark_delivered) once its messages have reached the agent.
    pub fn fire_event(&self, event: &HostEvent) -> Result<FireResult, Complaint> {
        Ok(self.fire(self.receive_event(event)?))
    }
}
