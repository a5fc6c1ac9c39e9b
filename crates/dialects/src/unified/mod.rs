//! agent-pipelines and `.gambrel/hooks.yaml` (`contracts/unified/CONTRACT.md`): lists of actions at
//! hook points, in YAML. All files have one grammar; `.gambrel/hooks.yaml` accepts every moment.

mod action;
mod answer;
mod child;
mod config;
mod events;
mod notes;
mod payload;
mod reply;
mod rule;
mod terms;
#[cfg(test)]
mod tests;
mod variables;
mod verdict;
mod webhook;

use gambrel_model::condition::Fact;
use gambrel_model::{
    Arrival, Call, Carry, Complaint, Decision, Dialect, Draft, Event, EventSpec, Found, Hook, Last,
    Outcome, Place, Reply, Roots, ToolWord, Verdict,
};

use crate::neutral::Neutral;

/// The dialect of pipelines, and of our own files.
pub struct Unified;

/// Its word on the command line, and in `Carry`.
const NAME: &str = "unified";

impl Dialect for Unified {
    fn name(&self) -> &'static str {
        NAME
    }

    fn events(&self) -> &'static [EventSpec] {
        events::table()
    }

    fn tools(&self) -> &'static [ToolWord] {
        Neutral.tools()
    }

    fn knows_native_names(&self) -> bool {
        true
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

    fn fact(&self, event: &Event, carry: &Carry, name: &str) -> Fact {
        variables::fact(event, carry, name)
    }

    fn objection(&self, event: &Event, hook: &Hook) -> Option<String> {
        child::objection(event, hook)
    }

    fn stage(&self, event: &Event, hook: &Hook, carry: &Carry) -> Call {
        payload::stage(event, hook, carry)
    }

    fn read(&self, event: &Event, hook: &Hook, outcome: &Outcome) -> Verdict {
        verdict::read(event, hook, outcome)
    }

    fn leave(&self, hook: &Hook, outcome: &Outcome, last: &mut Last) {
        verdict::leave(hook, outcome, last);
    }

    fn reply(&self, event: &Event, decision: &Decision) -> Reply {
        reply::reply(event, decision)
    }
}
