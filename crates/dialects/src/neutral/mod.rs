//! The neutral caller: a harness that speaks our own words. It names a moment and gives facts, and
//! is answered with the decision itself. It has no hooks of its own.

mod payload;

use std::sync::OnceLock;

use gambrel_model::{
    Call, CallerContext, Carry, Complaint, ConfigPath, Decision, Dialect, Draft, Event, EventSpec,
    Hook, LoadedFile, Moment, Outcome, PatchRule, Powers, Reply, SearchRoots, Slot, ToolWord,
    Verdict,
};

/// The dialect of callers that speak our own words.
pub struct Neutral;

/// A neutral caller hears everything: it is told the decision.
const ALL: Powers = Powers::ALLOW
    .union(Powers::ASK)
    .union(Powers::DEFER)
    .union(Powers::DENY)
    .union(Powers::HALT)
    .union(Powers::MESSAGE_AGENT)
    .union(Powers::MESSAGE_NEXT_TURN)
    .union(Powers::MESSAGE_USER);

const SLOTS: &[Slot] =
    &[Slot::Input, Slot::Output, Slot::ChatMessages, Slot::InjectedMessage, Slot::Prompt];

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
    EventSpec::new(name, moment)
        .with_rewrites(PatchRule::Chain, SLOTS)
        .with_hook_powers(ALL)
        .with_caller_powers(ALL)
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
    fn accepts_foreign_slot(&self, _: &Slot) -> bool {
        true
    }

    fn search(&self, _: &SearchRoots) -> Vec<ConfigPath> {
        Vec::new()
    }

    fn load_hooks(&self, _: &[LoadedFile], _: &SearchRoots) -> (Vec<Draft>, Vec<Complaint>) {
        (Vec::new(), Vec::new())
    }

    fn receive_event(
        &'static self,
        native: &[u8],
        arrival: CallerContext,
    ) -> Result<Event, Complaint> {
        payload::receive(self, native, arrival)
    }

    fn stage_call(&self, event: &Event, _: &Hook, _: &Carry) -> Call {
        Call { cwd: event.cwd.clone(), ..Call::default() }
    }

    fn read_outcome(&self, _: &Event, _: &Hook, _: &Outcome) -> Verdict {
        Verdict::default()
    }

    fn write_reply(&self, _: &Event, decision: &Decision) -> Reply {
        let stdout = format!("{}\n", decision.to_json()).into_bytes();
        Reply { stdout, ..Reply::default() }
    }
}
