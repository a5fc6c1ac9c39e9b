//! The columns of the event table: the neutral row, and what only Claude Code has.

use std::time::Duration;

use gambrel_model::{
    Event, EventSpec, Moment, Order, PatchRule, Powers, Slot, Subject, row_setters,
};
use serde_json::Value;

use super::schema::record::SchemaField;

/// The timeout if neither the hook, its type nor its event sets another.
pub const DEFAULT_TIMEOUT: Duration = Duration::from_secs(600);

/// One event with every property.
pub struct ClaudeEvent {
    /// The part that the engine reads.
    pub spec: EventSpec,
    /// The first version of Claude Code that has the event.
    pub since: &'static str,
    /// The form of the ruling in the reply.
    pub reply: ReplyForm,
    /// The use of a hook's stdout.
    pub stdout: StdoutUse,
    /// The types of handlers that the event accepts.
    pub handlers: HandlerTypes,
    /// Whether a hook may set variables for the session in `CLAUDE_ENV_FILE`.
    pub has_env_file: bool,
    /// Whether a matcher is a list of names only if it uses the smaller set of characters.
    pub has_narrow_names: bool,
    /// The cause with which the event cannot be refused: a change of managed settings.
    pub fixed_cause: Option<&'static str>,
    /// The cause for a caller of another dialect that sends none.
    pub usual_cause: &'static str,
    /// Fields of the hook input for an event of another dialect.
    pub foreign_fields: fn(&Event) -> Value,
    /// The schema of the hook input: shared fields, and the event's own.
    pub input: [&'static [SchemaField]; 2],
    /// Fields of `hookSpecificOutput` that only this dialect has.
    pub output: &'static [SchemaField],
}

/// The form of the ruling in the reply to an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReplyForm {
    /// `hookSpecificOutput.permissionDecision`.
    Permission,
    /// `hookSpecificOutput.decision.behavior`.
    Request,
    /// `hookSpecificOutput.action`.
    Action,
    /// Only the exit code.
    Exit,
    /// `decision: "block"`.
    Block,
}

/// What Claude Code does with the stdout of a hook.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StdoutUse {
    /// It is an answer if it is JSON.
    Answer,
    /// Plain text is context for the agent.
    Context,
    /// Plain text is the path of a new worktree.
    WorktreePath,
    /// Nothing, including terminal sequences.
    Discarded,
}

/// The types of handlers that an event accepts. Every event accepts commands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum HandlerTypes {
    /// Commands and tools.
    Commands,
    /// Requests as well.
    Requests,
    /// Requests, prompts and agents as well.
    Models,
}

/// A row with the usual values; builder methods change them.
pub const fn event(name: &'static str, since: &'static str, moment: Moment) -> ClaudeEvent {
    let mut spec = EventSpec::new(name, moment);
    spec.order = Order::Parallel;
    spec.patch = PatchRule::Last;
    spec.host_timeout = Some(DEFAULT_TIMEOUT);
    ClaudeEvent {
        spec,
        since,
        reply: ReplyForm::Block,
        stdout: StdoutUse::Answer,
        handlers: HandlerTypes::Requests,
        has_env_file: false,
        has_narrow_names: false,
        fixed_cause: None,
        usual_cause: "",
        foreign_fields: |_| Value::Null,
        input: [&[], &[]],
        output: &[],
    }
}

impl ClaudeEvent {
    /// Whether it accepts handlers of a type.
    pub fn accepts_handler(&self, kind: &str) -> bool {
        let needed = match kind {
            "http" => HandlerTypes::Requests,
            "prompt" | "agent" => HandlerTypes::Models,
            _ => HandlerTypes::Commands,
        };
        self.handlers >= needed
    }

    row_setters! {
        subject(subject: Subject) { spec.subject = subject }
        powers(powers: Powers) { spec.hook_powers = powers, spec.caller_powers = powers }
        rewrites(slots: &'static [Slot]) { spec.rewritable = slots, spec.caller_accepts = slots }
        reply(form: ReplyForm) { reply = form }
        stdout(usage: StdoutUse) { stdout = usage }
        handlers(types: HandlerTypes) { handlers = types }
        can_veto_end() { spec.can_veto_end = true }
        host_timeout(timeout: Duration) { spec.host_timeout = Some(timeout) }
        unreported() { spec.reportable = false }
        input_needs_allow() { spec.input_needs_allow = true }
        env_file() { has_env_file = true }
        narrow_names() { has_narrow_names = true }
        cannot_refuse(cause: &'static str) { fixed_cause = Some(cause) }
        usual_cause(cause: &'static str) { usual_cause = cause }
        foreign_fields(fields: fn(&Event) -> Value) { foreign_fields = fields }
        input(shared: &'static [SchemaField], own: &'static [SchemaField]) { input = [shared, own] }
        output(fields: &'static [SchemaField]) { output = fields }
    }
}
