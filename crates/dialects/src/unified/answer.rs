//! What became of a question that a webhook brought to somebody: a yes, a no, another word, no
//! answer in time, or a question that was never asked.

use gambrel_model::{Audience, End, Event, Hook, Moment, MomentKind, Outcome, Ruling, Verdict};
use serde_json::Value;

use super::events::is_own;
use super::webhook::shows_whole_input;
use crate::payload::text;

/// Answers that allow the input that was shown.
const YES: [&str; 2] = ["approve", "ok"];
/// Answers that reject.
const NO: [&str; 3] = ["reject", "deny", "abort"];

/// Whether a hook asks somebody and waits for the answer.
pub fn asks(hook: &Hook) -> bool {
    hook.draft.action == "webhook" && hook.draft.policy.blocking
}

fn word_of(answer: &Value) -> Option<String> {
    Some(answer.get("action")?.as_str()?.trim().to_lowercase())
}

fn message_of(answer: &Value) -> &str {
    answer.get("message").and_then(Value::as_str).unwrap_or_default().trim()
}

/// The person's no, if that is what an answer says: its words.
pub fn rejection(outcome: &Outcome) -> Option<String> {
    let answer = outcome.answer.as_ref()?;
    if outcome.end != End::Answered || outcome.failure.is_some() {
        return None;
    }
    let action = word_of(answer).filter(|word| NO.contains(&word.as_str()))?;
    Some(match message_of(answer) {
        "" => format!("a person answered `{action}`"),
        words => format!("a person answered `{action}`: {words}"),
    })
}

/// An approval is Allow for a tool call and for a permission, if the whole input was shown. The
/// answer's message is for the agent, at every point that agent-pipelines does not have.
pub fn approval(event: &Event, answer: &Value) -> Verdict {
    if is_own(event.spec) {
        return Verdict::default();
    }
    let word = word_of(answer).filter(|word| YES.contains(&word.as_str()));
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
    match message_of(answer) {
        "" => verdict,
        words => verdict.with_message(Audience::AgentNow, format!("the approver says: {words}")),
    }
}

/// A question that was not answered in time. A host that cannot wait any longer is told where the
/// answer will be found; nothing passes in the meantime.
pub fn unanswered(event: &Event, hook: &Hook, outcome: &Outcome) -> Verdict {
    let terms = &hook.draft.policy;
    let pending = outcome.answer.as_ref().and_then(|answer| text(answer, "pending"));
    if let Some(ticket) = pending {
        return match event.kind() {
            MomentKind::Gate => Verdict::with_ruling(
                Ruling::Deny,
                format!("waiting for approval, ticket {ticket}: try again once it is given"),
            ),
            _ => terms.on_timeout.with_reason(&format!("waiting for approval, {ticket}")),
        };
    }
    // Something ended it before anybody could answer: then it was not asked at all, and what a
    // failure means counts as well.
    if let Some(cut) = &outcome.cut_short_by {
        let either = terms.on_timeout.clone().then(terms.on_failure.clone());
        return either.with_reason(&unsent(hook, cut)).with_gate_failure(format!("late: {cut}"));
    }
    let seconds = terms.timeout.as_secs_f64();
    let unit = if seconds == 1.0 { "second" } else { "seconds" };
    let nobody = format!("nobody answered `{}` within {seconds} {unit}", hook.title());
    terms.on_timeout.with_reason(&nobody).with_gate_failure("late: nobody answered in time")
}

/// The words for a question that did not get out.
pub fn unsent(hook: &Hook, why: &str) -> String {
    format!("`{}` could not send its question: {why}", hook.title())
}
