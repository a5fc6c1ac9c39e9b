//! oh-my-pi (`contracts/omp/CONTRACT.md`): TypeScript modules with typed events. Finds modules,
//! builds their calls and reads their results. An action runs them; this folder does not know it.

mod call;
mod config;
pub mod declarations;
mod edition;
mod effects;
mod events;
mod fields;
mod payload;
mod reply;
mod results;
mod verdict;

use gambrel_model::{
    Arrival, Call, Carry, Complaint, Decision, Dialect, Draft, Event, EventSpec, Found, Hook,
    Outcome, Place, Reply, Roots, ToolWord, Verdict,
};

/// The dialect of oh-my-pi and pi.
pub struct Omp;

impl Dialect for Omp {
    fn name(&self) -> &'static str {
        "omp"
    }

    fn events(&self) -> &'static [EventSpec] {
        events::EVENTS
    }

    fn tools(&self) -> &'static [ToolWord] {
        events::TOOLS
    }

    fn places(&self, roots: &Roots) -> Vec<Place> {
        config::places(roots)
    }

    fn load(&self, found: &[Found], roots: &Roots) -> (Vec<Draft>, Vec<Complaint>) {
        config::load(found, roots)
    }

    fn rows(&self, draft: &Draft) -> Vec<&'static EventSpec> {
        let newer = draft.config[edition::FIELD] == edition::EXTENSIONS;
        (if newer { events::newer() } else { events::EVENTS }).iter().collect()
    }

    fn echoes(&self, event: &Event) -> bool {
        event.row.echo
            || events::before(event.row).is_some_and(|row| event.seen.contains_key(&mark(row)))
    }

    fn marks(&self, event: &Event) -> Vec<String> {
        let later = |row: &&EventSpec| !row.echo && events::before(row).is_some();
        let first = event.is_from(self)
            && events::before(event.row).is_none()
            && events::others(event.row).any(|row| later(&row));
        first.then(|| mark(event.row)).into_iter().collect()
    }

    fn objection(&self, event: &Event, hook: &Hook) -> Option<String> {
        results::objection(event, hook)
    }

    fn receive(&'static self, native: &[u8], arrival: Arrival) -> Result<Event, Complaint> {
        payload::receive(self, native, arrival)
    }

    fn stage(&self, event: &Event, hook: &Hook, carry: &Carry) -> Call {
        call::stage(event, hook, carry)
    }

    fn read(&self, event: &Event, hook: &Hook, outcome: &Outcome) -> Verdict {
        verdict::read(event, hook, outcome)
    }

    fn reply(&self, event: &Event, decision: &Decision) -> Reply {
        reply::reply(event, decision)
    }
}

/// What a session remembers of an event that has happened in it.
fn mark(row: &EventSpec) -> String {
    format!("omp:{}", row.name)
}
