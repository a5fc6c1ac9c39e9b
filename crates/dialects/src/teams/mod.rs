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
    Arrival, Call, Carry, Complaint, Decision, Dialect, Draft, Event, EventSpec, Found, Hook,
    Moment, Outcome, Place, Powers, Reply, Roots, Verdict,
};

/// The dialect of team hooks.
pub struct Teams;

const fn row(name: &'static str, moment: Moment, may: Powers, can: Powers) -> EventSpec {
    EventSpec::new(name, moment).may(may).can(can)
}

/// What a gate may do: keep the task open, and say why.
const GATE: Powers = Powers::DENY.and(Powers::TELL).and(Powers::SHOW);
/// What a bystander may do.
const WARN: Powers = Powers::SHOW.and(Powers::TELL);

/// What a leader hears about a task: a failed result, and words in its stdout.
const RESULT: Powers = WORDS.and(Powers::DENY);
/// A task that has failed is past refusing: only words are left.
const WORDS: Powers = Powers::TELL.and(Powers::NEXT).and(Powers::SHOW);
/// An idle member is never refused; what keeps it going is owed to it.
const IDLE: Powers = Powers::TELL.and(Powers::SHOW);

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

    fn places(&self, roots: &Roots) -> Vec<Place> {
        config::places(roots)
    }

    fn load(&self, found: &[Found], roots: &Roots) -> (Vec<Draft>, Vec<Complaint>) {
        config::load(found, roots)
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

    fn reply(&self, event: &Event, decision: &Decision) -> Reply {
        reply::reply(event, decision)
    }
}
