//! The dialect of gambrel's own runner as a caller. An event is a moment with facts, as in the
//! neutral dialect, with the optional keys `pass` and `firing_key`. It has no hooks.

use std::sync::OnceLock;

use gambrel_model::{
    Call, CallerContext, Carry, Complaint, ConfigPath, Decision, Dialect, Draft, Event, EventSpec,
    Hook, LoadedFile, Moment, Outcome, Pass, PatchRule, Powers, Reply, SearchRoots, Slot,
    SourceSpan, ToolWord, Verdict,
};
use serde_json::Value;

use crate::neutral::{moment_table, payload};

/// The dialect of the runner.
pub struct Run;

const SHOW: Powers = Powers::MESSAGE_USER;
const STOP: Powers = SHOW.union(Powers::HALT);
const REFUSE: Powers = SHOW.union(Powers::DENY);
const END: Powers = STOP.union(Powers::DENY);
const START: Powers = END.union(Powers::ASK).union(Powers::MESSAGE_AGENT);
const RECOVER: Powers = STOP.union(Powers::MESSAGE_AGENT);
const PERMIT: Powers = END.union(Powers::ALLOW).union(Powers::ASK);

/// What the runner can receive at a moment.
fn caller_powers(moment: &Moment) -> Powers {
    match moment {
        Moment::SessionStart | Moment::StageEnd | Moment::SessionEnd => STOP,
        Moment::IterationStart => START,
        Moment::IterationEnd | Moment::TaskCompleted | Moment::MemberIdle => END,
        Moment::Error => RECOVER,
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
    ROWS.get_or_init(|| {
        moment_table(|name, moment| {
            let (powers, accepts) = (caller_powers(&moment), caller_accepts(&moment));
            EventSpec::new(name, moment)
                .with_rewrites(PatchRule::Chain, accepts)
                .with_caller_powers(powers)
        })
    })
}

impl Dialect for Run {
    fn name(&self) -> &'static str {
        "run"
    }

    fn events(&self) -> &'static [EventSpec] {
        event_table()
    }

    fn tools(&self) -> &'static [ToolWord] {
        payload::TOOLS
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
        let event = payload::parse_event(self, native, arrival)?;
        let pass = read_pass(&event.native)?;
        let firing_key = read_firing_key(&event.native)?;
        Ok(Event { pass, firing_key, ..event })
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

fn read_pass(native: &Value) -> Result<Pass, Complaint> {
    let Some(written) = native.get("pass").filter(|value| !value.is_null()) else {
        return Ok(Pass::All);
    };
    written.as_str().and_then(Pass::parse).ok_or_else(|| {
        Complaint::error(SourceSpan::default(), format!("`pass` is {written}"))
            .with_help("write `all`, `veto` or `notify`")
    })
}

fn read_firing_key(native: &Value) -> Result<Option<String>, Complaint> {
    match native.get("firing_key") {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(key)) if !key.is_empty() => Ok(Some(key.clone())),
        Some(other) => Err(Complaint::error(
            SourceSpan::default(),
            format!("`firing_key` is a text that is not empty, not {other}"),
        )),
    }
}
