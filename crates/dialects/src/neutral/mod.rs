//! The neutral caller: a harness that speaks our own words. It names a moment and gives facts, and
//! is answered with the decision itself. It has no hooks of its own.

mod payload;

use std::sync::OnceLock;

use gambrel_model::{
    Arrival, Call, Carry, Complaint, Decision, Dialect, Draft, Event, EventSpec, Found, Hook,
    Moment, Outcome, PatchRule, Place, Powers, Reply, Roots, Slot, ToolWord, Verdict,
};

/// The dialect of callers that speak our own words.
pub struct Neutral;

/// A neutral caller hears everything: it is told the decision.
const ALL: Powers = Powers::ALLOW
    .and(Powers::ASK)
    .and(Powers::DEFER)
    .and(Powers::DENY)
    .and(Powers::HALT)
    .and(Powers::TELL)
    .and(Powers::NEXT)
    .and(Powers::SHOW);

const SLOTS: &[Slot] = &[Slot::Input, Slot::Output, Slot::Messages, Slot::Message, Slot::Prompt];

/// One row per moment, made from the moments' own table, and one for what has no name there.
fn table() -> &'static [EventSpec] {
    static ROWS: OnceLock<Vec<EventSpec>> = OnceLock::new();
    ROWS.get_or_init(|| {
        let named = Moment::all().cloned().map(|moment| (leaked(&moment), moment));
        let other = ("", Moment::Other("".into()));
        named.chain([other]).map(|(name, moment)| row(name, moment)).collect()
    })
}

/// Names of a fixed table, made once in a process's life.
fn leaked(moment: &Moment) -> &'static str {
    Box::leak(moment.name().to_owned().into_boxed_str())
}

fn row(name: &'static str, moment: Moment) -> EventSpec {
    EventSpec::new(name, moment).rewrites(PatchRule::Chain, SLOTS).may(ALL).can(ALL)
}

impl Dialect for Neutral {
    fn name(&self) -> &'static str {
        "gambrel"
    }

    fn events(&self) -> &'static [EventSpec] {
        table()
    }

    fn tools(&self) -> &'static [ToolWord] {
        payload::TOOLS
    }

    /// It is told the decision itself.
    fn has_word(&self, _: &Slot) -> bool {
        true
    }

    fn places(&self, _: &Roots) -> Vec<Place> {
        Vec::new()
    }

    fn load(&self, _: &[Found], _: &Roots) -> (Vec<Draft>, Vec<Complaint>) {
        (Vec::new(), Vec::new())
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

    fn reply(&self, _: &Event, decision: &Decision) -> Reply {
        let stdout = format!("{}\n", decision.to_json()).into_bytes();
        Reply { stdout, ..Reply::default() }
    }
}
