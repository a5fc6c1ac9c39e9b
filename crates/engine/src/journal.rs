//! What the journal is told of a firing: accepted, started, finished. A refusal of the world to
//! write it down is told to the person and changes nothing else.

use std::time::{SystemTime, UNIX_EPOCH};

use gambrel_model::{Decision, Event, Ledger, Record, Stage, Step};
use serde_json::{Value, json};

/// A record of now.
pub fn record(event: &Event, step: Stage, body: Value) -> Record {
    Record {
        id: event.id.clone(),
        at: now(),
        step,
        session: event.session.clone(),
        pid: std::process::id(),
        body,
    }
}

/// Milliseconds since the epoch.
pub fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

/// Says that an event was understood, and which hooks are about to be asked.
pub fn accepted(ledger: &dyn Ledger, event: &Event, hooks: &[&str], troubles: &mut Vec<String>) {
    let body = json!({
        "from": event.from.name(), "event": event.name, "moment": event.moment.name(),
        "cwd": event.cwd.display().to_string(), "tool": event.facts.tool.as_ref().map(|tool| &tool.name),
    });
    let mut records = vec![record(event, Stage::Accepted, body)];
    if !hooks.is_empty() {
        records.push(record(event, Stage::Started, json!({"hooks": hooks})));
    }
    note(ledger, &records, troubles);
}

/// Says what was decided.
pub fn finished(ledger: &dyn Ledger, event: &Event, decision: &mut Decision) {
    let body = json!({
        "ruling": decision.meant.ruling, "said": decision.said.ruling,
        "reasons": decision.meant.reasons, "says": decision.meant.says,
        "trail": decision.trail.iter().map(Step::to_json).collect::<Vec<_>>(),
        "losses": decision.losses,
        "paid": decision.paid.iter().map(|debt| &debt.id).collect::<Vec<_>>(),
        "rewrote": decision.meant.patch.keys().collect::<Vec<_>>(),
    });
    let record = record(event, Stage::Finished, body);
    note(ledger, &[record], &mut decision.troubles);
}

fn note(ledger: &dyn Ledger, records: &[Record], troubles: &mut Vec<String>) {
    if let Err(error) = ledger.journal(records) {
        let trouble = format!("not in the journal: {error}");
        if !troubles.contains(&trouble) {
            troubles.push(trouble);
        }
    }
}
