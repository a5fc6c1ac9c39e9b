//! iteratr (`contracts/iteratr/CONTRACT.md`): shell commands at six points of a loop. Their output
//! may be sent to the agent; they never refuse.

mod config;
mod payload;
mod reply;
#[cfg(test)]
mod tests;
mod verdict;

use gambrel_model::{
    Arrival, Call, Carry, Complaint, Decision, Dialect, Draft, Event, EventSpec, Found, Hook,
    Moment, Outcome, Place, Powers, Reply, Roots, Verdict,
};

/// The dialect of iteratr's loops.
pub struct Iteratr;

/// What a hook may do, and what a caller hears: words.
const WORDS: Powers = Powers::TELL.and(Powers::NEXT).and(Powers::SHOW);

const fn row(name: &'static str, moment: Moment, can: Powers) -> EventSpec {
    EventSpec::new(name, moment).may(WORDS).can(can)
}

static EVENTS: &[EventSpec] = &[
    row("session_start", Moment::SessionStart, WORDS),
    row("pre_iteration", Moment::IterationStart, WORDS),
    row("post_iteration", Moment::IterationEnd, WORDS),
    // No iteration follows in which an agent could be told anything.
    row("session_end", Moment::SessionEnd, Powers::SHOW),
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

    fn places(&self, roots: &Roots) -> Vec<Place> {
        config::places(roots)
    }

    fn load(&self, found: &[Found], _: &Roots) -> (Vec<Draft>, Vec<Complaint>) {
        config::load(found)
    }

    fn receive(&'static self, native: &[u8], arrival: Arrival) -> Result<Event, Complaint> {
        payload::receive(self, native, arrival)
    }

    fn stage(&self, event: &Event, hook: &Hook, _: &Carry) -> Call {
        payload::stage(event, hook)
    }

    fn read(&self, event: &Event, hook: &Hook, outcome: &Outcome) -> Verdict {
        verdict::read(event, hook, outcome)
    }

    fn reply(&self, _: &Event, decision: &Decision) -> Reply {
        reply::reply(decision)
    }
}
