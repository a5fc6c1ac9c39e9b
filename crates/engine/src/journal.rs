//! Writes the journal records of a firing. A firing that runs hooks has two: `accepted` before they
//! run, and `finished`. A firing without hooks has one, `finished` with the fields of both. Empty
//! fields are left out. A failed write is reported to the user and changes no decision.
//! `RecordedFiring` reads the records.

use std::time::{SystemTime, UNIX_EPOCH};

use gambrel_model::{
    Decision, Event, FiringPhase, JournalRecord, Ledger, LedgerError, ProcessOrigin, Ruling, Slot,
    Step,
};
use serde_json::{Map, Value, json};

use crate::event_excerpt::{EventExcerpt, excerpt_event, excerpt_unmet_event};
use crate::recorded_rewrites::record_rewrites;
use crate::removed_text::RemovedText;
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

/// The record of an event before its hooks run.
pub fn accepted_record(engine: &Engine<'_>, event: &Event, hooks: &[&str]) -> JournalRecord {
    let mut body = event_fields(engine, event);
    body.insert("hooks".into(), json!(hooks));
    new_record(event, FiringPhase::Accepted, Value::Object(body))
}

/// The fields of an event that every firing has in its first record.
fn event_fields(engine: &Engine<'_>, event: &Event) -> Map<String, Value> {
    let mut body = Map::new();
    let mut put = |key: &str, value: Value| drop(body.insert(key.to_owned(), value));
    put("from", json!(event.dialect.name));
    put("event", json!(event.name));
    put("moment", json!(event.moment.name()));
    put("cwd", json!(event.cwd.display().to_string()));
    if let Some(tool) = &event.facts.tool {
        put("tool", json!(tool.name));
    }
    if engine.options.hosted {
        put("hosted", json!(true));
    }
    if engine.options.trust == TrustMode::All {
        put("trusts_all_by", json!(engine.options.trusts_all_by.unwrap_or("the host")));
    }
    body
}

/// Records an event that could not be parsed.
pub fn record_unreadable(ledger: &dyn Ledger, event: Unreadable<'_>) -> Result<(), LedgerError> {
    let Unreadable { id, from, name, session, why } = event;
    ledger.append_journal(&[JournalRecord {
        id: id.to_owned(),
        at: now_ms(),
        step: FiringPhase::Finished,
        session: session.to_owned(),
        origin: ProcessOrigin::of_this_process(),
        body: json!({"from": from, "event": name, "ruling": Ruling::Silent, "troubles": [why]}),
    }])
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

/// The record of a decision. Nothing that a hook removed from a text is in it.
pub fn finished_record(event: &Event, decision: &Decision, removed: &RemovedText) -> JournalRecord {
    let mut body = decision_fields(decision);
    if !decision.merged.patch.is_empty() {
        body.insert("rewrote".into(), json!(decision.merged.patch.keys().collect::<Vec<_>>()));
        let rewrites = record_rewrites(event, &decision.merged.patch, removed);
        body.insert("rewrites".into(), rewrites);
    }
    let mut body = Value::Object(body);
    if !removed.is_empty() {
        removed.hide_in_hook_texts(&mut body);
    }
    put_event(&mut body, excerpt_without_removed(event, removed));
    new_record(event, FiringPhase::Finished, body)
}

/// The only record of an event without a hook to run.
pub fn unmet_record(engine: &Engine<'_>, event: &Event, decision: &Decision) -> JournalRecord {
    let mut body = event_fields(engine, event);
    body.extend(decision_fields(decision));
    let mut body = Value::Object(body);
    put_event(&mut body, excerpt_unmet_event(event));
    new_record(event, FiringPhase::Finished, body)
}

/// The fields of a decision. Empty ones are left out.
fn decision_fields(decision: &Decision) -> Map<String, Value> {
    let Decision { merged, for_caller, losses, .. } = decision;
    let steps = recorded_steps(&decision.trail);
    let missing = decision.trail.len() - steps.len();
    let missing = (missing > 0).then(|| format!("{missing} steps are not in the journal"));
    let troubles: Vec<&String> = decision.warnings.iter().chain(&missing).collect();
    let delivered: Vec<&String> = decision.delivered.iter().map(|entry| &entry.id).collect();

    let mut body = Map::new();
    body.insert("ruling".into(), json!(merged.ruling));
    if for_caller.ruling != merged.ruling {
        body.insert("said".into(), json!(for_caller.ruling));
    }
    let mut put = |key: &str, count: usize, value: &dyn Fn() -> Value| {
        if count > 0 {
            body.insert(key.to_owned(), value());
        }
    };
    put("reasons", merged.reasons.len(), &|| json!(merged.reasons));
    put("says", merged.messages.len(), &|| json!(merged.messages));
    put("trail", steps.len(), &|| steps.iter().map(|step| step.to_json()).collect());
    put("losses", losses.len(), &|| json!(losses));
    put("troubles", troubles.len(), &|| json!(troubles));
    put("paid", delivered.len(), &|| json!(delivered));
    body
}

/// The excerpt of an event without what hooks removed. The whole payload is left out if it is not
/// known where it holds a rewritten text.
fn excerpt_without_removed(event: &Event, removed: &RemovedText) -> EventExcerpt {
    let mut pointers = Vec::new();
    for slot in removed.slots().filter(|slot| **slot != Slot::Input) {
        let known = pointers.len();
        pointers.extend(event.dialect.properties.pointers_of(slot));
        if pointers.len() == known {
            return EventExcerpt { left_out: vec![String::new()], ..EventExcerpt::default() };
        }
    }
    let mut excerpt = excerpt_event(event, &pointers);
    removed.hide_in(&mut excerpt.native);
    excerpt
}

fn put_event(body: &mut Value, excerpt: EventExcerpt) {
    let EventExcerpt { native, cut, left_out } = excerpt;
    if !native.is_null() {
        body["native"] = native;
    }
    if !cut.is_empty() {
        body["cut"] = json!(cut);
    }
    if !left_out.is_empty() {
        body["left_out"] = json!(left_out);
    }
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

/// Appends a record with one write. Returns why it is not in the journal.
pub fn append_record(ledger: &dyn Ledger, record: JournalRecord) -> Option<String> {
    let error = ledger.append_journal(&[record]).err()?;
    Some(format!("not in the journal: {error}"))
}
