//! Contract 004: TypeScript modules with typed events. Complete as a caller; its own modules are
//! found and listed, with the reason why they do not run yet.

mod config;
mod events;
mod payload;
mod reply;

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

    fn load(&self, found: &[Found], _: &Roots) -> (Vec<Draft>, Vec<Complaint>) {
        config::load(found)
    }

    fn receive(&'static self, native: &[u8], arrival: Arrival) -> Result<Event, Complaint> {
        payload::receive(self, native, arrival)
    }

    fn stage(&self, event: &Event, _: &Hook, _: &Carry) -> Call {
        Call { cwd: event.cwd.clone(), ..Call::default() }
    }

    fn read(&self, _: &Event, _: &Hook, _: &Outcome) -> Verdict {
        Verdict::default()
    }

    fn reply(&self, event: &Event, decision: &Decision) -> Reply {
        reply::reply(event, decision)
    }
}
