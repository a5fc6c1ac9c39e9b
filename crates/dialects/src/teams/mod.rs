//! pi-teams (`contracts/teams/CONTRACT.md`): scripts found by name, context in the environment, and
//! the exit code as quality gate. It has three events with one hook each.

mod config;
pub mod gate;
pub mod leader;
mod payload;
mod policy;
mod reply;
#[cfg(test)]
mod tests;
mod verdict;

use gambrel_model::description::{join_words, value_text};
use gambrel_model::{
    Call, Caller, CallerContext, Carry, Complaint, ConfigPath, Decision, Description, Dialect,
    DialectProperties, Draft, Event, EventSpec, Hook, HookAnswer, HookFormat, LoadedDrafts,
    LoadedFile, Moment, Outcome, ParsedEvent, Powers, Reply, SearchRoots,
};

use serde_json::Value;

use crate::HOOK_PROPERTIES;

pub use config::TEAM_SOURCE;
pub use policy::read_policy;
pub use verdict::failure_summary;

/// The version of the contract between pi-teams and hook scripts.
pub const HOOK_CONTRACT_VERSION: u64 = 1;

/// The row of pi-teams.
pub static TEAMS: Dialect = Dialect {
    name: "teams",
    events: || EVENTS,
    tools: &[],
    properties: DialectProperties {
        product: "pi-teams",
        event_keys: &["event"],
        ..HOOK_PROPERTIES
    },
    caller: &Teams,
    hooks: Some(&Teams),
};

/// The dialect of team hooks.
struct Teams;

const fn event_row(name: &'static str, moment: Moment, may: Powers, can: Powers) -> EventSpec {
    EventSpec::new(name, moment).with_hook_powers(may).with_caller_powers(can)
}

/// The powers of a gate hook: deny the completion, and send messages.
const GATE: Powers = Powers::DENY.union(Powers::MESSAGE_AGENT).union(Powers::MESSAGE_USER);
/// The powers of all other hooks: messages only.
const WARN: Powers = Powers::MESSAGE_USER.union(Powers::MESSAGE_AGENT);

/// A caller at the end of a task receives a failed result, and messages in its stdout.
const RESULT: Powers = MESSAGES.union(Powers::DENY);
/// A failed task cannot be refused any more; the caller receives messages only.
const MESSAGES: Powers =
    Powers::MESSAGE_AGENT.union(Powers::MESSAGE_NEXT_TURN).union(Powers::MESSAGE_USER);
/// An idle member cannot be refused; a refusal stays undelivered.
const IDLE: Powers = Powers::MESSAGE_AGENT.union(Powers::MESSAGE_USER);

static EVENTS: &[EventSpec] = &[
    event_row("idle", Moment::MemberIdle, WARN, IDLE),
    event_row("task_completed", Moment::TaskCompleted, GATE, RESULT).with_end_veto(),
    event_row("task_failed", Moment::TaskFailed, WARN, MESSAGES),
];

impl Caller for Teams {
    fn receive_event(&self, native: &[u8], from: &CallerContext) -> Result<ParsedEvent, Complaint> {
        payload::parse_event(native, from)
    }

    fn sample_event(&self, event: &Event, spec: &'static EventSpec) -> Value {
        payload::build_context(event, spec.name)
    }

    fn write_reply(&self, event: &Event, decision: &Decision) -> Reply {
        reply::write_reply(event, decision)
    }
}

impl HookFormat for Teams {
    fn search(&self, roots: &SearchRoots) -> Vec<ConfigPath> {
        config::config_paths(roots)
    }

    fn load_hooks(&self, found: &[LoadedFile], roots: &SearchRoots) -> LoadedDrafts {
        config::load_drafts(found, roots)
    }

    fn stage_call(&self, event: &Event, hook: &Hook, _: &Carry) -> Call {
        payload::stage_call(event, hook)
    }

    fn describe(&self, draft: &Draft) -> Description {
        let words = draft.config["argv"].as_array().into_iter().flatten().map(value_text);
        Description::new(draft, &["path"], join_words(words), &[])
    }

    fn read_outcome(&self, event: &Event, hook: &Hook, outcome: &Outcome) -> HookAnswer {
        HookAnswer::new(verdict::read_outcome(event, hook, outcome), outcome)
    }
}
