//! iteratr (`contracts/iteratr/CONTRACT.md`): shell commands at six points of a loop. Their output
//! may be sent to the agent; they never refuse.

mod config;
mod payload;
mod reply;
#[cfg(test)]
mod tests;
mod verdict;

use gambrel_model::{
    Call, CallerContext, Carry, Complaint, ConfigPath, Decision, Dialect, Draft, Event, EventSpec,
    Hook, LoadedFile, Moment, Outcome, Powers, Reply, SearchRoots, Verdict,
};

/// The dialect of iteratr's loops.
pub struct Iteratr;

/// What a hook may do, and what a caller hears: words.
const WORDS: Powers =
    Powers::MESSAGE_AGENT.union(Powers::MESSAGE_NEXT_TURN).union(Powers::MESSAGE_USER);

const fn row(name: &'static str, moment: Moment, can: Powers) -> EventSpec {
    EventSpec::new(name, moment).with_hook_powers(WORDS).with_caller_powers(can)
}

static EVENTS: &[EventSpec] = &[
    row("session_start", Moment::SessionStart, WORDS),
    row("pre_iteration", Moment::IterationStart, WORDS),
    row("post_iteration", Moment::IterationEnd, WORDS),
    // No iteration follows in which an agent could be told anything.
    row("session_end", Moment::SessionEnd, Powers::MESSAGE_USER),
    row("on_task_complete", Moment::TaskCompleted, WORDS),
    row("on_error", Moment::Error, WORDS),
];

impl Dialect for Iteratr {
    fn name(&self) -> &'static str {
        "iteratr"
    }

    fn events(&self) -> &'static [EventSpec] {
        EVENTS
    }

    fn search(&self, roots: &SearchRoots) -> Vec<ConfigPath> {
        config::places(roots)
    }

    fn load_hooks(&self, found: &[LoadedFile], _: &SearchRoots) -> (Vec<Draft>, Vec<Complaint>) {
        config::load(found)
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

    fn write_reply(&self, _: &Event, decision: &Decision) -> Reply {
        reply::reply(decision)
    }
}
