//! Contract 004: TypeScript modules with typed events. Finds them, says what they are called with
//! and what their results mean; what runs them is an action, unknown here.

mod call;
mod config;
pub mod declarations;
mod events;
mod payload;
mod reply;
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

/// The edition that the same product speaks now; the contract's own is `hooks`.
const EXTENSIONS: &str = "extensions";

/// Whether a module is run by the rules of the newer edition.
fn is_newer(hook: &Hook) -> bool {
    hook.draft.config["edition"] == EXTENSIONS
}
