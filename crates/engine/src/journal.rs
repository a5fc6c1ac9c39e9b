//! Writes the journal records of a firing: accepted, started, finished. A failed write is reported
//! to the user and changes no decision.

use std::time::{SystemTime, UNIX_EPOCH};

use gambrel_model::{
    Decision, Event, FiringPhase, JournalRecord, Ledger, LedgerError, ProcessOrigin, Step,
};
use serde_json::{Value, json};

use crate::{Engine, TrustMode};

/// Maximum number of recorded steps per firing.
const MAX_STEP_COUNT: usize = 1_000;

/// A record with the current time.
pub fn new_record(event: &Event, step: FiringPhase, body: Value) -> JournalRecord {
    JournalRecord {
        id: event.id.clone(),
        at: now_ms(),
        step,
        session: event.session.clone(),
        origin: ProcessOrigin::of_this_process(),
        body,
    }
}

/// Milliseconds since the epoch.
pub fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

/// The records of an event that was parsed, and of the hooks that are about to run.
pub fn accepted_records(engine: &Engine<'_>, event: &Event, hooks: &[&str]) -> Vec<JournalRecord> {
    let mut body = json!({
        "hosted": engine.options.hosted,
        "from": event.dialect.name, "event": event.name, "moment": event.moment.name(),
        "cwd": event.cwd.display().to_string(), "tool": event.facts.tool.as_ref().map(|tool| &tool.name),
    });
    if engine.options.trust == TrustMode::All {
        let by = engine.options.trusts_all_by.unwrap_or("the host");
        body["trusts_all_by"] = json!(by);
    }
    let mut records = vec![new_record(event, FiringPhase::Accepted, body)];
    if !hooks.is_empty() {
        records.push(new_record(event, FiringPhase::Started, json!({"hooks": hooks})));
    }
    records
}

/// Records an event that could not be parsed.
pub fn record_unreadable(ledger: &dyn Ledger, event: Unreadable<'_>) -> Result<(), LedgerError> {
    let Unreadable { id, from, name, session, why } = event;
    let of = |step: FiringPhase, body: Value| JournalRecord {
        id: id.to_owned(),
        at: now_ms(),
        step,
        session: session.to_owned(),
        origin: ProcessOrigin::of_this_process(),
        body,
    };
    let accepted = json!({"from": from, "event": name});
    let finished = json!({
        "ruling": "silent", "said": "silent", "reasons": [], "says": [], "trail": [], "losses": [],
        "troubles": [why],
    });
    ledger
        .append_journal(&[of(FiringPhase::Accepted, accepted), of(FiringPhase::Finished, finished)])
}

/// The known fields of an event that could not be parsed.
pub struct Unreadable<'a> {
    /// Its id in the journal.
    pub id: &'a str,
    /// The caller's dialect.
    pub from: &'a str,
    /// The native event name, or empty.
    pub name: &'a str,
    /// The caller's session, or empty.
    pub session: &'a str,
    /// Why it could not be parsed.
    pub why: &'a str,
}

/// The record of a decision.
pub fn finished_record(event: &Event, decision: &Decision) -> JournalRecord {
    let steps = recorded_steps(&decision.trail);
    let missing = decision.trail.len() - steps.len();
    let missing = (missing > 0).then(|| format!("{missing} steps are not in the journal"));
    let troubles: Vec<&String> = decision.warnings.iter().chain(&missing).collect();
    let body = json!({
        "ruling": decision.merged.ruling, "said": decision.for_caller.ruling,
        "reasons": decision.merged.reasons, "says": decision.merged.messages,
        "trail": steps.into_iter().map(Step::to_json).collect::<Vec<_>>(),
        "losses": decision.losses, "troubles": troubles,
        "paid": decision.delivered.iter().map(|entry| &entry.id).collect::<Vec<_>>(),
        "rewrote": decision.merged.patch.keys().collect::<Vec<_>>(),
    });
    new_record(event, FiringPhase::Finished, body)
}

/// The recorded steps: all up to the limit; above it refusing steps come first.
fn recorded_steps(trail: &[Step]) -> Vec<&Step> {
    if trail.len() <= MAX_STEP_COUNT {
        return trail.iter().collect();
    }
    let refusing = trail.iter().filter(|step| step.verdict.is_refusal()).count();
    let mut remaining = MAX_STEP_COUNT.saturating_sub(refusing);
    let mut is_kept = |step: &&Step| {
        let keeps = step.verdict.is_refusal() || remaining > 0;
        remaining = remaining.saturating_sub(usize::from(!step.verdict.is_refusal()));
        keeps
    };
    trail.iter().filter(|step| is_kept(step)).take(MAX_STEP_COUNT).collect()
}

/// Appends records with one write. Returns why they are not in the journal.
pub fn append_records(ledger: &dyn Ledger, records: &[JournalRecord]) -> Option<String> {
    let error = ledger.append_journal(records).err()?;
    Some(format!("not in the journal: {error}"))
}
