//! Reads the answer to a question that a webhook sent: approval, rejection, another text, a
//! timeout, or a question that was not sent.

use std::time::Duration;

use gambrel_model::{Audience, End, Event, Hook, Moment, MomentKind, Outcome, Ruling, Verdict};
use serde_json::Value;

use super::events::is_pipeline_point;
use super::webhook::shows_whole_input;
use crate::event_parts::text_field;

/// Answers that approve.
const APPROVALS: [&str; 2] = ["approve", "ok"];
/// Answers that reject.
const REJECTIONS: [&str; 3] = ["reject", "deny", "abort"];

/// Added when no process serves the link of a question that stays open.
const UNSERVED: &str = "; nobody serves its link now: start `gambrel serve`";

/// Whether a hook sends a question and waits for the answer.
pub fn sends_question(hook: &Hook) -> bool {
    hook.draft.action == "webhook" && hook.draft.policy.limits.blocking
}

fn answer_action(answer: &Value) -> Option<String> {
    Some(answer.get("action")?.as_str()?.trim().to_lowercase())
}

fn answer_message(answer: &Value) -> &str {
    answer.get("message").and_then(Value::as_str).unwrap_or_default().trim()
}

/// The reason of a rejection, if the answer is one.
pub fn rejection_reason(outcome: &Outcome) -> Option<String> {
    let answer = outcome.answer.as_ref()?;
    if outcome.end != End::Answered || outcome.failure.is_some() {
        return None;
    }
    let action = answer_action(answer).filter(|word| REJECTIONS.contains(&word.as_str()))?;
    Some(match answer_message(answer) {
        "" => format!("a person answered `{action}`"),
        words => format!("a person answered `{action}`: {words}"),
    })
}

/// The verdict of an answer that does not reject. An approval of a tool call allows it, if the
/// whole input was shown. At points that agent-pipelines does not have, the agent receives the
/// answer's message.
pub fn approval_verdict(event: &Event, answer: &Value) -> Verdict {
    if is_pipeline_point(event.spec) {
        return Verdict::default();
    }
    let word = answer_action(answer).filter(|word| APPROVALS.contains(&word.as_str()));
    let tool = matches!(event.moment, Moment::ToolBefore | Moment::ToolPermission);
    let verdict = match word {
        Some(word) if tool && shows_whole_input(event) => {
            Verdict::with_ruling(Ruling::Allow, format!("a person answered `{word}`"))
        }
        Some(_) if tool => {
            let cut = "a person answered, but was shown only the beginning of the input: \
                nothing is allowed by it";
            Verdict::with_only_message(Audience::User, cut)
        }
        _ => Verdict::default(),
    };
    match answer_message(answer) {
        "" => verdict,
        words => verdict.with_message(Audience::AgentNow, format!("the approver says: {words}")),
    }
}

/// The verdict of a question without an answer in time. If the ticket stays open, a gate denies and
/// names the ticket.
pub fn timeout_verdict(event: &Event, hook: &Hook, outcome: &Outcome) -> Verdict {
    let policy = &hook.draft.policy;
    let pending = outcome.answer.as_ref().and_then(|answer| text_field(answer, "pending"));
    if let Some(ticket) = pending {
        let is_unserved = outcome.answer.as_ref().is_some_and(|answer| answer["served"] == false);
        let served = if is_unserved { UNSERVED } else { "" };
        return match event.kind() {
            MomentKind::Gate => Verdict::with_ruling(
                Ruling::Deny,
                format!(
                    "waiting for approval, ticket {ticket}: try again once it is given{served}"
                ),
            ),
            _ => policy.on_timeout.with_reason(&format!("waiting for approval, {ticket}{served}")),
        };
    }

    // If the hook was cut short before an answer was possible, the verdict of a failure counts too.
    if let Some(cut) = &outcome.cut_short_by {
        let either = Verdict::clone(&policy.on_timeout).then(Verdict::clone(&policy.on_failure));
        return either
            .with_reason(&unsent_text(hook, &cut.to_string()))
            .with_gate_failure(format!("late: {cut}"));
    }

    let within = seconds_text(policy.limits.timeout);
    let nobody = format!("nobody answered `{}` within {within}", hook.title());
    policy.on_timeout.with_reason(&nobody).with_gate_failure("late: nobody answered in time")
}

/// A time in seconds: `1 second`, `2.5 seconds`.
pub fn seconds_text(time: Duration) -> String {
    let seconds = time.as_secs_f64();
    let unit = if seconds == 1.0 { "second" } else { "seconds" };
    format!("{seconds} {unit}")
}

/// The message about a question that could not be sent.
pub fn unsent_text(hook: &Hook, why: &str) -> String {
    format!("`{}` could not send its question: {why}", hook.title())
}
