//! iteratr (`contracts/iteratr/CONTRACT.md`): shell commands at six points of a loop. The agent may
//! receive their output; they never refuse.

mod config;
mod payload;
mod reply;
#[cfg(test)]
mod tests;
mod verdict;

use gambrel_model::{
    Call, Caller, CallerContext, Carry, Complaint, ConfigPath, Decision, Dialect,
    DialectProperties, Event, EventSpec, Hook, HookAnswer, HookFormat, LoadedDrafts, LoadedFile,
    Moment, Outcome, ParsedEvent, Powers, Reply, SearchRoots,
};

use serde_json::Value;

use crate::HOOK_PROPERTIES;

/// The row of iteratr.
pub static ITERATR: Dialect = Dialect {
    name: "iteratr",
    events: || EVENTS,
    tools: &[],
    properties: DialectProperties {
        product: "iteratr",
        project_markers: &[".iteratr.hooks.yml"],
        event_keys: &["hook"],
        ..HOOK_PROPERTIES
    },
    caller: &Iteratr,
    hooks: Some(&Iteratr),
};

/// The dialect of iteratr's loops.
struct Iteratr;

/// The powers of hooks and callers: messages only.
const MESSAGES: Powers =
    Powers::MESSAGE_AGENT.union(Powers::MESSAGE_NEXT_TURN).union(Powers::MESSAGE_USER);

const fn event_row(name: &'static str, moment: Moment, can: Powers) -> EventSpec {
    EventSpec::new(name, moment).with_hook_powers(MESSAGES).with_caller_powers(can)
}

static EVENTS: &[EventSpec] = &[
    event_row("session_start", Moment::SessionStart, MESSAGES),
    event_row("pre_iteration", Moment::IterationStart, MESSAGES),
    event_row("post_iteration", Moment::IterationEnd, MESSAGES),
    // No iteration follows in which an agent could receive a message.
    event_row("session_end", Moment::SessionEnd, Powers::MESSAGE_USER),
    event_row("on_task_complete", Moment::TaskCompleted, MESSAGES),
    event_row("on_error", Moment::Error, MESSAGES),
];

impl Caller for Iteratr {
    fn receive_event(&self, native: &[u8], from: &CallerContext) -> Result<ParsedEvent, Complaint> {
        payload::parse_event(native, from)
    }

    fn sample_event(&self, event: &Event, spec: &'static EventSpec) -> Value {
        payload::sample_event(event, spec.name)
    }

    fn write_reply(&self, _: &Event, decision: &Decision) -> Reply {
        reply::write_reply(decision)
    }
}

impl HookFormat for Iteratr {
    fn search(&self, roots: &SearchRoots) -> Vec<ConfigPath> {
        config::config_paths(roots)
    }

    fn load_hooks(&self, found: &[LoadedFile], _: &SearchRoots) -> LoadedDrafts {
        config::load_drafts(found)
    }

    fn stage_call(&self, event: &Event, hook: &Hook, _: &Carry) -> Call {
        payload::stage_call(event, hook)
    }

    fn read_outcome(&self, event: &Event, hook: &Hook, outcome: &Outcome) -> HookAnswer {
        HookAnswer::new(verdict::read_outcome(event, hook, outcome), outcome)
    }
}
