//! Reads the outcome of a module: an answer, an error, or a timeout. `results` interprets its
//! results, and `effects` its requested effects.

use gambrel_model::{End, Event, EventSpec, Hook, Outcome, Ruling, Verdict};
use serde_json::Value;

use super::OMP;
use super::edition::is_extensions;
use super::effects::read_effects;
use super::events::{ResultRule, result_rule, same_moment};
use super::results::{ResultContext, merge_results};
use crate::event_parts::text_field;

const FAILED_PREFIX: &str = "Hook failed, blocking execution: ";
/// The slot of a result that only this dialect has.
pub const RESULT_SLOT: &str = "omp.result";
/// The slot of `details` of a tool's result.
pub const DETAILS_SLOT: &str = "omp.details";
/// The slot of `isError` of a tool's result.
pub const IS_ERROR_SLOT: &str = "omp.isError";
/// The slot of the system prompt.
pub const SYSTEM_PROMPT_SLOT: &str = "omp.systemPrompt";
/// The prefix of the slot of a module's effects.
pub const EFFECTS_PREFIX: &str = "omp.effects.";

/// Reads an outcome.
pub fn read_outcome(event: &Event, hook: &Hook, outcome: &Outcome) -> Verdict {
    let row = hook.event_spec_for(event).unwrap_or(event.spec);
    let mut answer = outcome.answer.clone().unwrap_or_default();
    let verdict = match &outcome.end {
        End::Answered => read_rounds(&ResultContext { event, row, hook }, &answer),
        End::TimedOut => timeout_verdict(row, hook, outcome, &mut answer),
        End::FailedToStart(why) => Verdict::default().with_gate_failure(why.clone()),
        _ => Verdict::default(),
    };
    read_effects(event, hook, &answer).then(verdict)
}

/// The verdict of the event's own round, and of the rounds of events that fired with it.
fn read_rounds(context: &ResultContext<'_>, answer: &Value) -> Verdict {
    let mut verdict = round_verdict(context, answer);
    let then = answer["then"].as_array().map(Vec::as_slice).unwrap_or_default();
    if !context.event.is_from(&OMP) {
        for (row, round) in same_moment(context.row).zip(then) {
            verdict = verdict.then(round_verdict(&ResultContext { row, ..*context }, round));
        }
    }
    verdict
}

/// The verdict of a timeout, which counts as a failure.
fn timeout_verdict(row: &EventSpec, hook: &Hook, outcome: &Outcome, answer: &mut Value) -> Verdict {
    let newer = is_extensions(hook);
    let limit = super::call::handler_limits(row, hook).timeout;
    let late = match &outcome.cut_short_by {
        Some(_) => outcome.timeout_reason(limit),
        // The limit, not the elapsed time.
        None if newer => format!("timed out after {}ms", limit.as_millis()),
        None => format!("timed out after {}ms", outcome.elapsed.as_millis()),
    };

    if result_rule(row) != ResultRule::Call && answer.is_object() {
        let error = format!("handler {late}");
        let error =
            serde_json::json!({"hookPath": module_path(hook), "event": row.name, "error": error});
        answer["errors"] = Value::Array(vec![error]);
    }
    let why = match newer {
        true => format!("Extension {} {late}", module_path(hook)),
        false => format!("{FAILED_PREFIX}{late}"),
    };
    failure_verdict(row, &why)
}

/// The path of the module's file.
pub fn module_path(hook: &Hook) -> String {
    text_field(&hook.draft.config, "path").unwrap_or_default()
}

/// The verdict of an error. It blocks a tool call; at every other event it is only recorded
/// (`contracts/omp/CONTRACT.md#late-handlers`).
fn failure_verdict(row: &EventSpec, why: &str) -> Verdict {
    match result_rule(row) {
        ResultRule::Call => Verdict::with_ruling(Ruling::Deny, why),
        _ => Verdict::default().with_gate_failure(why),
    }
}

fn round_verdict(context: &ResultContext<'_>, answer: &Value) -> Verdict {
    let errors = answer["errors"].as_array().map(Vec::as_slice).unwrap_or_default();
    let mut verdict = Verdict::default();
    for error in errors {
        verdict = verdict.then(error_verdict(context, error));
    }
    if result_rule(context.row) == ResultRule::Call && !errors.is_empty() {
        return verdict;
    }
    verdict.then(merge_results(context, answer))
}

/// The verdict of a handler's error, with its file and line. A caller of this dialect receives the
/// refusal with oh-my-pi's text; the trail has the file and line.
fn error_verdict(context: &ResultContext<'_>, error: &Value) -> Verdict {
    let why = error_text(context, error);
    let Some(at) = text_field(error, "at") else { return failure_verdict(context.row, &why) };
    match is_own_call(context) {
        true => failure_verdict(context.row, &why).with_gate_failure(format!("thrown at {at}")),
        false => failure_verdict(context.row, &format!("{why} ({at})")),
    }
}

/// Whether a caller of this dialect is about to call a tool. It receives oh-my-pi's texts.
fn is_own_call(context: &ResultContext<'_>) -> bool {
    result_rule(context.row) == ResultRule::Call && context.event.is_from(&OMP)
}

fn error_text(context: &ResultContext<'_>, error: &Value) -> String {
    let message = match text_field(error, "error").unwrap_or_default() {
        text if text.trim().is_empty() && !is_own_call(context) => {
            "an error without a message".to_owned()
        }
        text => text,
    };
    let blocks = result_rule(context.row) == ResultRule::Call && error["thrown"] == "value";
    match (is_extensions(context.hook), blocks) {
        (true, _) => format!("Extension {} failed: {message}", module_path(context.hook)),
        (false, true) => format!("{FAILED_PREFIX}{message}"),
        (false, false) => message,
    }
}
