//! What came of asking a module: an answer, an error, or nothing in time. What its results mean is
//! in `results`, what it wanted done in `effects`.

use gambrel_model::{End, Event, EventSpec, Hook, Outcome, Ruling, Verdict};
use serde_json::Value;

use super::Omp;
use super::edition::is_newer;
use super::effects::effects;
use super::events::{Rule, others, rule};
use super::results::{Asked, merged};
use crate::payload::text;

const FAILED: &str = "Hook failed, blocking execution: ";
/// Where results go that only this dialect knows.
pub const RESULT: &str = "omp.result";
/// What a result says of a tool beside its content.
pub const DETAILS: &str = "omp.details";
/// Whether a result counts as an error.
pub const IS_ERROR: &str = "omp.isError";
/// The system prompt as it stands.
pub const SYSTEM: &str = "omp.systemPrompt";
/// What modules wanted done, by module.
pub const EFFECTS: &str = "omp.effects.";

/// Reads an outcome.
pub fn read(event: &Event, hook: &Hook, outcome: &Outcome) -> Verdict {
    let row = hook.event_spec_for(event).unwrap_or(event.spec);
    let mut answer = outcome.answer.clone().unwrap_or_default();
    let verdict = match &outcome.end {
        End::Answered => rounds(&Asked { event, row, hook }, &answer),
        End::TimedOut => late(row, hook, outcome, &mut answer),
        End::FailedToStart(why) => Verdict::default().with_gate_failure(why.clone()),
        _ => Verdict::default(),
    };
    effects(event, hook, &answer).then(verdict)
}

/// The event's own round, and those of events that happened with it.
fn rounds(asked: &Asked<'_>, answer: &Value) -> Verdict {
    let mut verdict = answered(asked, answer);
    let then = answer["then"].as_array().map(Vec::as_slice).unwrap_or_default();
    if !asked.event.is_from(&Omp) {
        for (row, round) in others(asked.row).zip(then) {
            verdict = verdict.then(answered(&Asked { row, ..*asked }, round));
        }
    }
    verdict
}

/// A handler that does not come back is one that failed.
fn late(row: &EventSpec, hook: &Hook, outcome: &Outcome, answer: &mut Value) -> Verdict {
    let newer = is_newer(hook);
    let limit = super::call::pace(row, hook).timeout;
    let late = match &outcome.cut_short_by {
        Some(_) => outcome.timeout_reason(limit),
        // The limit, not how long it took to see that it was passed.
        None if newer => format!("timed out after {}ms", limit.as_millis()),
        None => format!("timed out after {}ms", outcome.elapsed.as_millis()),
    };
    if rule(row) != Rule::Call && answer.is_object() {
        let error = format!("handler {late}");
        let error = serde_json::json!({"hookPath": path(hook), "event": row.name, "error": error});
        answer["errors"] = Value::Array(vec![error]);
    }
    let why = match newer {
        true => format!("Extension {} {late}", path(hook)),
        false => format!("{FAILED}{late}"),
    };
    failed(row, &why)
}

/// The module's file.
pub fn path(hook: &Hook) -> String {
    text(&hook.draft.config, "path").unwrap_or_default()
}

/// An error blocks a tool call; at every other event it is only recorded
/// (`contracts/omp/CONTRACT.md#late-handlers`).
fn failed(row: &EventSpec, why: &str) -> Verdict {
    match rule(row) {
        Rule::Call => Verdict::with_ruling(Ruling::Deny, why),
        _ => Verdict::default().with_gate_failure(why),
    }
}

fn answered(asked: &Asked<'_>, answer: &Value) -> Verdict {
    let errors = answer["errors"].as_array().map(Vec::as_slice).unwrap_or_default();
    let mut verdict = Verdict::default();
    for error in errors {
        verdict = verdict.then(thrown(asked, error));
    }
    if rule(asked.row) == Rule::Call && !errors.is_empty() {
        return verdict;
    }
    verdict.then(merged(asked, answer))
}

/// An error of a handler, with its file and line. A caller of this dialect receives the refusal
/// with oh-my-pi's text; file and line are in the trail.
fn thrown(asked: &Asked<'_>, error: &Value) -> Verdict {
    let why = error_text(asked, error);
    let Some(at) = text(error, "at") else { return failed(asked.row, &why) };
    match rule(asked.row) == Rule::Call && asked.event.is_from(&Omp) {
        true => failed(asked.row, &why).with_gate_failure(format!("thrown at {at}")),
        false => failed(asked.row, &format!("{why} ({at})")),
    }
}

fn error_text(asked: &Asked<'_>, error: &Value) -> String {
    let message = text(error, "error").unwrap_or_default();
    let blocks = rule(asked.row) == Rule::Call && error["thrown"] == "value";
    match (is_newer(asked.hook), blocks) {
        (true, _) => format!("Extension {} failed: {message}", path(asked.hook)),
        (false, true) => format!("{FAILED}{message}"),
        (false, false) => message,
    }
}
