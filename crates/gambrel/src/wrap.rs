//! Wraps tools of a Rust host with hooks, as an agent does: hooks run before and after a tool, and may
//! rewrite its input and its output. An error of the tool stays an error.

use std::fmt;

use gambrel_model::tool::text_block;
use gambrel_model::{
    Audience, Complaint, Decision, Dialect, Message, Ruling, Slot, Tool, ToolKind, Verdict,
};
use serde_json::Value;

use crate::{Gambrel, HostEvent};

/// The dialect whose names of tools a call may use.
static TOOL_DIALECT: &Dialect = &gambrel_dialects::omp::OMP;

/// One call of a tool by an agent.
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct ToolCall {
    /// The session that the agent works in.
    pub session: String,
    /// The tool's name: one of oh-my-pi (`bash`, `read`, `edit` …), `mcp__server__tool`, or its own.
    pub name: String,
    /// Names this call.
    pub id: String,
    /// The tool's arguments.
    pub input: Value,
}

impl ToolCall {
    /// A call of a tool with these arguments.
    pub fn new(name: impl Into<String>, input: Value) -> Self {
        Self { name: name.into(), input, ..Self::default() }
    }

    /// The session that the agent works in.
    #[must_use]
    pub fn in_session(mut self, session: impl Into<String>) -> Self {
        self.session = session.into();
        self
    }

    /// Names the call, so that hooks can match its end with its beginning.
    #[must_use]
    pub fn with_id(mut self, id: impl Into<String>) -> Self {
        self.id = id.into();
        self
    }

    /// The tool with its arguments in neutral names.
    pub(crate) fn to_tool(&self) -> Tool {
        let known = Tool::from_native(TOOL_DIALECT.tools, &self.name, &self.input);
        let kind = match known.kind {
            ToolKind::Other => ToolKind::parse(&self.name).unwrap_or_default(),
            kind => kind,
        };
        let id = if self.id.is_empty() { None } else { Some(self.id.clone()) };
        Tool { kind, id, ..known }
    }

    /// The input in the names of the call, from a rewrite in neutral names.
    fn native_input(&self, args: &Value) -> Value {
        Tool { args: args.clone(), ..self.to_tool() }.to_native(TOOL_DIALECT.tools).1
    }
}

/// What a tool gave back.
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct ToolOutput {
    /// Blocks for the model, such as `{"type": "text", "text": "…"}`.
    pub content: Vec<Value>,
    /// Whatever else the host keeps of it.
    pub details: Value,
}

impl ToolOutput {
    /// One block of text.
    pub fn text(text: &str) -> Self {
        Self::new(vec![text_block(text)])
    }

    /// Blocks for the model.
    pub fn new(content: Vec<Value>) -> Self {
        Self { content, details: Value::Null }
    }

    /// Whatever else the host keeps of it.
    #[must_use]
    pub fn with_details(mut self, details: Value) -> Self {
        self.details = details;
        self
    }

    /// The text of all text blocks.
    pub fn joined_text(&self) -> String {
        let texts: Vec<&str> =
            self.content.iter().filter_map(|block| block.get("text")?.as_str()).collect();
        texts.join("\n")
    }
}

/// Why a wrapped tool gave nothing back.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum ToolError<E> {
    /// Hooks refused the call, or want a person to approve it; the tool did not run.
    Blocked(String),
    /// The tool itself failed, with its own error.
    Failed(E),
}

impl<E: fmt::Display> fmt::Display for ToolError<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Blocked(reason) => write!(f, "blocked by a hook: {reason}"),
            Self::Failed(error) => error.fmt(f),
        }
    }
}

impl<E: fmt::Debug + fmt::Display> std::error::Error for ToolError<E> {}

/// What became of a call under hooks.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct WrappedCall<E> {
    /// The output as hooks left it, or why there is none.
    pub result: Result<ToolOutput, ToolError<E>>,
    /// The input as hooks left it. The tool received this one, if it ran.
    pub input: Value,
    /// Messages of hooks for the agent and the user, in order, and objections to the output.
    pub messages: Vec<Message>,
    /// The decision about the call.
    pub decision: Decision,
    /// The decision about its output, if the tool ran.
    pub after: Option<Decision>,
}

impl Gambrel {
    /// Runs a tool under the hooks of the folder: `tool.before`, the tool, then `tool.after` or
    /// `tool.failed`. Hooks see the call as a call of an agent.
    ///
    /// The messages in the result count as delivered. A hook that asks for an approval blocks the
    /// call: a library has nobody to ask.
    ///
    /// ```
    /// use gambrel::{Gambrel, Setup, ToolCall, ToolOutput};
    /// use serde_json::json;
    ///
    /// let gambrel = Gambrel::new(Setup::in_memory(std::env::temp_dir()));
    /// let call = ToolCall::new("read", json!({"path": "a"})).in_session("night");
    /// let wrapped = gambrel.wrap(&call, |input| {
    ///     Ok::<_, String>(ToolOutput::text(&format!("read {}", input["path"])))
    /// })?;
    /// assert_eq!(wrapped.result.unwrap().joined_text(), "read \"a\"");
    /// assert!(wrapped.messages.is_empty());
    /// # Ok::<(), gambrel::Complaint>(())
    /// ```
    ///
    /// # Errors
    ///
    /// The call, or the end of the tool, cannot be understood as an event.
    pub fn wrap<E: fmt::Display>(
        &self,
        call: &ToolCall,
        tool: impl FnOnce(&Value) -> Result<ToolOutput, E>,
    ) -> Result<WrappedCall<E>, Complaint> {
        let decision = self.fire_for_call(&HostEvent::tool_before(&call.session, call))?;
        let answer = &decision.for_caller;
        let rewrite = answer.patch.get(&Slot::Input);
        let input = rewrite.map_or_else(|| call.input.clone(), |args| call.native_input(args));
        let mut wrapped = WrappedCall {
            result: Err(ToolError::Blocked(block_reason(answer))),
            input,
            messages: answer.messages.clone(),
            decision,
            after: None,
        };
        if !lets_run(wrapped.decision.for_caller.ruling) {
            return Ok(wrapped);
        }
        let call = ToolCall { input: wrapped.input.clone(), ..call.clone() };
        let ended = tool(&call.input);
        let event = match &ended {
            Ok(output) => HostEvent::tool_after(&call.session, &call, output),
            Err(error) => HostEvent::tool_failed(&call.session, &call, &error.to_string()),
        };
        let after = self.fire_for_call(&event)?;
        wrapped.messages.extend(after.for_caller.messages.iter().cloned());
        wrapped.messages.extend(objections(&after.for_caller));
        wrapped.result =
            ended.map(|output| rewritten_output(output, &after)).map_err(ToolError::Failed);
        wrapped.after = Some(after);
        Ok(wrapped)
    }

    fn fire_for_call(&self, event: &HostEvent) -> Result<Decision, Complaint> {
        let fired = self.fire_event(event)?;
        // A message that cannot be removed is delivered once more.
        let _kept = self.mark_delivered(&fired.decision);
        Ok(fired.decision)
    }
}

fn lets_run(ruling: Ruling) -> bool {
    matches!(ruling, Ruling::Silent | Ruling::Allow)
}

fn block_reason(answer: &Verdict) -> String {
    let reasons = answer.ruling_reasons().join("\n");
    match answer.ruling {
        Ruling::Ask | Ruling::Defer => format!("a person must approve it: {reasons}"),
        _ => reasons,
    }
}

/// What hooks object to an output: the tool has run, so it is for the agent to read.
fn objections(answer: &Verdict) -> impl Iterator<Item = Message> {
    let refusals = answer.reasons.iter().filter(|reason| reason.ruling.is_refusal());
    refusals.map(|reason| Message::new(Audience::AgentNow, &*reason.text, &*reason.hook))
}

/// The output with the rewrites of hooks.
fn rewritten_output(mut output: ToolOutput, after: &Decision) -> ToolOutput {
    let patch = &after.for_caller.patch;
    let content = patch.get(&Slot::Output).and_then(|rewrite| rewrite["content"].as_array());
    if let Some(content) = content {
        output.content.clone_from(content);
    }
    let details = patch.get(&Slot::Native(gambrel_dialects::omp::DETAILS_SLOT.to_owned()));
    if let Some(details) = details.filter(|details| !details.is_null()) {
        output.details = details.clone();
    }
    output
}
