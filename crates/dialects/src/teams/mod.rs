//! pi-teams (`contracts/teams/CONTRACT.md`): scripts found by name, context in the environment, the
//! exit code as quality gate. Three events, one hook each.

mod config;
mod payload;
mod policy;
mod reply;
#[cfg(test)]
mod tests;
mod verdict;

use gambrel_model::{
    Call, CallerContext, Carry, Complaint, ConfigPath, Decision, Dialect, Draft, Event, EventSpec,
    Hook, LoadedFile, Moment, Outcome, Powers, Reply, SearchRoots, Verdict,
};

/// The dialect of team hooks.
pub struct Teams;

const fn row(name: &'static str, moment: Moment, may: Powers, can: Powers) -> EventSpec {
    EventSpec::new(name, moment).with_hook_powers(may).with_caller_powers(can)
}

/// What a gate may do: keep the task open, and say why.
const GATE: Powers = Powers::DENY.union(Powers::MESSAGE_AGENT).union(Powers::MESSAGE_USER);
/// What a bystander may do.
const WARN: Powers = Powers::MESSAGE_USER.union(Powers::MESSAGE_AGENT);

/// What a leader hears about a task: a failed result, and words in its stdout.
const RESULT: Powers = WORDS.union(Powers::DENY);
/// A task that has failed is past refusing: only words are left.
const WORDS: Powers =
    Powers::MESSAGE_AGENT.union(Powers::MESSAGE_NEXT_TURN).union(Powers::MESSAGE_USER);
/// An idle member is never refused; what keeps it going is owed to it.
const IDLE: Powers = Powers::MESSAGE_AGENT.union(Powers::MESSAGE_USER);

static EVENTS: &[EventSpec] = &[
    row("idle", Moment::MemberIdle, WARN, IDLE),
    row("task_completed", Moment::TaskCompleted, GATE, RESULT),
    row("task_failed", Moment::TaskFailed, WARN, WORDS),
];

impl Dialect for Teams {
    fn name(&self) -> &'static str {
        "teams"
    }

    fn events(&self) -> &'static [EventSpec] {
        EVENTS
    }

    fn search(&self, roots: &SearchRoots) -> Vec<ConfigPath> {
        config::places(roots)
    }

    fn load_hooks(
        &self,
        found: &[LoadedFile],
        roots: &SearchRoots,
    ) -> (Vec<Draft>, Vec<Complaint>) {
        config::load(found, roots)
    }

    fn receive_event(
        &'static self,
        native: &[u8],
        arrival: CallerContext,
    ) -> Result<Event, Complaint> {
        payload::receive(self, native, arrival)
    }

    fn stage_call(&self, event: &Event, hook: &Hook, _: &Carry) -> Call {
        payload::stage(event, hook)
    }

    fn read_outcome(&self, event: &Event, hook: &Hook, outcome: &Outcome) -> Verdict {
        verdict::read(event, hook, outcome)
    }

    fn write_reply(&self, event: &Event, decision: &Decision) -> Reply {
        reply::reply(event, decision)
    }
}
