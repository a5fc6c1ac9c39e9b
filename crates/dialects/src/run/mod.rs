//! The dialect of gambrel's own runner as a caller. An event is a moment with facts, as in the
//! neutral dialect, with the optional keys `pass`, `firing_key`, `run_dir` and `accepts_output`. It
//! has no hooks.

use std::sync::OnceLock;

use gambrel_model::{
    Caller, CallerContext, Complaint, Decision, Dialect, DialectProperties, Event, EventSpec,
    Moment, ParsedEvent, Pass, PatchRule, Powers, Reply, Slot,
};
use serde::Deserialize;
use serde_json::Value;

use crate::event_parts::event_error;
use crate::neutral::{moment_table, payload};
use crate::sample::neutral_sample;

/// The row of the runner.
pub static RUN: Dialect = Dialect {
    name: "run",
    events: event_table,
    tools: payload::TOOLS,
    properties: DialectProperties {
        product: "gambrel run",
        event_keys: &["moment"],
        session_keys: &["session"],
        rewritten_fields: payload::REWRITTEN_FIELDS,
        ..DialectProperties::DEFAULT
    },
    caller: &Run,
    hooks: None,
};

/// The dialect of the runner.
struct Run;

const SHOW: Powers = Powers::MESSAGE_USER;
const STOP: Powers = SHOW.union(Powers::HALT);
const REFUSE: Powers = SHOW.union(Powers::DENY);
const END: Powers = STOP.union(Powers::DENY);
const START: Powers = END.union(Powers::ASK).union(Powers::MESSAGE_AGENT);
const PERMIT: Powers = END.union(Powers::ALLOW).union(Powers::ASK);

/// What the runner can receive at a moment.
fn caller_powers(moment: &Moment) -> Powers {
    match moment {
        // Messages for the agent at an error are stored: they are in the prompt of the next attempt.
        Moment::SessionStart | Moment::StageEnd | Moment::SessionEnd | Moment::Error => STOP,
        Moment::IterationStart => START,
        Moment::IterationEnd | Moment::TaskCompleted | Moment::MemberIdle => END,
        Moment::ToolBefore | Moment::ToolPermission => PERMIT,
        Moment::TaskCreated => REFUSE,
        _ => SHOW,
    }
}

/// The rewrites that the runner accepts at a moment. An agent of the Agent Client Protocol accepts
/// no other tool input.
fn caller_accepts(moment: &Moment) -> &'static [Slot] {
    match moment {
        Moment::IterationStart => &[Slot::Prompt],
        _ => &[],
    }
}

fn event_table() -> &'static [EventSpec] {
    static ROWS: OnceLock<Vec<EventSpec>> = OnceLock::new();
    ROWS.get_or_init(|| build_table(caller_accepts))
}

/// The rows of an agent that has not seen the output of its tool yet, such as a scripted one.
fn output_table() -> &'static [EventSpec] {
    static ROWS: OnceLock<Vec<EventSpec>> = OnceLock::new();
    ROWS.get_or_init(|| {
        build_table(|moment| match moment {
            Moment::ToolAfter => &[Slot::Output],
            other => caller_accepts(other),
        })
    })
}

fn build_table(accepts: impl Fn(&Moment) -> &'static [Slot]) -> Vec<EventSpec> {
    moment_table(|name, moment| {
        let (powers, accepts) = (caller_powers(&moment), accepts(&moment));
        EventSpec::new(name, moment)
            .with_rewrites(PatchRule::Chain, accepts)
            .with_caller_powers(powers)
    })
}

impl Caller for Run {
    fn receive_event(&self, native: &[u8], from: &CallerContext) -> Result<ParsedEvent, Complaint> {
        let parsed = payload::parse_event(&RUN, native, from)?;
        let pass = read_pass(&parsed.native)?;
        let firing_key = read_name(&parsed.native, "firing_key")?;
        let run_dir = read_name(&parsed.native, "run_dir")?;
        let accepts_output = parsed.native["accepts_output"] == true;
        let row = output_table().iter().find(|row| accepts_output && row.name == parsed.spec.name);
        let spec = row.unwrap_or(parsed.spec);
        Ok(ParsedEvent { pass, firing_key, run_dir, spec, ..parsed })
    }

    fn sample_event(&self, event: &Event, _: &'static EventSpec) -> Value {
        neutral_sample(event)
    }

    fn write_reply(&self, _: &Event, decision: &Decision) -> Reply {
        Reply::from_json(&decision.to_json())
    }
}

fn read_pass(native: &Value) -> Result<Pass, Complaint> {
    let Some(written) = native.get("pass").filter(|value| !value.is_null()) else {
        return Ok(Pass::All);
    };
    Pass::deserialize(written).map_err(|_| {
        event_error(format!("`pass` is {written}")).with_help("write `all`, `veto` or `notify`")
    })
}

fn read_name(native: &Value, key: &str) -> Result<Option<String>, Complaint> {
    match native.get(key) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) if !text.is_empty() => Ok(Some(text.clone())),
        Some(other) => {
            Err(event_error(format!("`{key}` is a text that is not empty, not {other}")))
        }
    }
}
