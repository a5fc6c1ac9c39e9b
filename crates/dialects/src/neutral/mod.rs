//! The neutral dialect, for harnesses that use gambrel's own names. An event is a moment with
//! facts; the reply is the decision as JSON. It has no hooks.

pub(crate) mod payload;

use std::sync::OnceLock;

use gambrel_model::{
    Caller, CallerContext, Complaint, Decision, Dialect, DialectProperties, Event, EventSpec,
    Moment, ParsedEvent, PatchRule, Powers, Reply, Slot,
};

use serde_json::Value;

use crate::sample::neutral_sample;

/// The row of the neutral dialect.
pub static NEUTRAL: Dialect = Dialect {
    name: "gambrel",
    events: event_table,
    tools: payload::TOOLS,
    properties: DialectProperties {
        // A neutral caller receives the whole decision.
        accepts_foreign_slots: true,
        event_keys: &["moment"],
        session_keys: &["session"],
        rewritten_fields: payload::REWRITTEN_FIELDS,
        ..DialectProperties::DEFAULT
    },
    caller: &Neutral,
    hooks: None,
};

/// The dialect of callers that use gambrel's own names.
struct Neutral;

/// A neutral caller receives the whole decision.
const ALL_POWERS: Powers = Powers::ALLOW
    .union(Powers::ASK)
    .union(Powers::DEFER)
    .union(Powers::DENY)
    .union(Powers::HALT)
    .union(Powers::MESSAGE_AGENT)
    .union(Powers::MESSAGE_NEXT_TURN)
    .union(Powers::MESSAGE_USER);

const ALL_SLOTS: &[Slot] =
    &[Slot::Input, Slot::Output, Slot::ChatMessages, Slot::InjectedMessage, Slot::Prompt];

fn event_table() -> &'static [EventSpec] {
    static ROWS: OnceLock<Vec<EventSpec>> = OnceLock::new();
    ROWS.get_or_init(|| moment_table(event_row))
}

/// One row for each named moment, and one row for all other moments.
pub(crate) fn moment_table(
    build_row: impl Fn(&'static str, Moment) -> EventSpec,
) -> Vec<EventSpec> {
    let named = Moment::all_named().map(|moment| (moment.name(), moment.clone()));
    let other = ("", Moment::Other("".into()));
    named.chain([other]).map(|(name, moment)| build_row(name, moment)).collect()
}

fn event_row(name: &'static str, moment: Moment) -> EventSpec {
    EventSpec::new(name, moment)
        .with_rewrites(PatchRule::Chain, ALL_SLOTS)
        .with_hook_powers(ALL_POWERS)
        .with_caller_powers(ALL_POWERS)
}

impl Caller for Neutral {
    fn receive_event(&self, native: &[u8], from: &CallerContext) -> Result<ParsedEvent, Complaint> {
        payload::parse_event(&NEUTRAL, native, from)
    }

    fn sample_event(&self, event: &Event, _: &'static EventSpec) -> Value {
        neutral_sample(event)
    }

    fn write_reply(&self, _: &Event, decision: &Decision) -> Reply {
        Reply::from_json(&decision.to_json())
    }
}
