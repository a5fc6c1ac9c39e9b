//! Reads the effects that a module requested. A caller of this dialect receives them unchanged. For
//! other callers they become messages, or named slots if there is no equivalent. Notices become
//! messages for the user of every caller.

use gambrel_model::{Audience, Event, Hook, Slot, Verdict};
use serde_json::{Value, json};

use super::OMP;
use super::verdict::EFFECTS_PREFIX;
use crate::event_parts::text_field;

/// The effects of one call, with the errors of its handlers.
pub fn read_effects(event: &Event, hook: &Hook, answer: &Value) -> Verdict {
    let wanted = answer["effects"].as_array().map(Vec::as_slice).unwrap_or_default();
    let errors = answer["errors"].as_array().filter(|errors| !errors.is_empty());
    if !event.is_from(&OMP) {
        return wanted.iter().fold(Verdict::default(), add_foreign_effect);
    }
    let (shown, kept): (Vec<_>, Vec<_>) = wanted.iter().partition(|effect| is_notice(effect));
    let verdict = shown.into_iter().fold(Verdict::default(), add_notice);
    if kept.is_empty() && errors.is_none() {
        return verdict;
    }
    let kept = json!({"effects": kept, "errors": errors});
    verdict.with_rewrite(Slot::Native(format!("{EFFECTS_PREFIX}{}", hook.id)), kept)
}

fn is_notice(effect: &Value) -> bool {
    effect["type"] == "notify"
}

/// Adds an effect for a caller of another dialect.
fn add_foreign_effect(verdict: Verdict, effect: &Value) -> Verdict {
    let Some(kind) = effect["type"].as_str() else { return verdict };
    match kind {
        "sendMessage" => add_agent_message(verdict, &effect["message"]["content"], effect),
        "sendUserMessage" => add_agent_message(verdict, &effect["content"], effect),
        // Logs are dropped, and the trail has the warnings.
        "log" | "warning" => verdict,
        _ if is_notice(effect) => add_notice(verdict, effect),
        _ => {
            let slot = Slot::List(format!("{}.{kind}", OMP.name));
            verdict.then(Verdict::default().with_rewrite(slot, json!([effect])))
        }
    }
}

fn add_notice(verdict: Verdict, effect: &Value) -> Verdict {
    match text_field(effect, "message").filter(|text| !text.is_empty()) {
        Some(text) => verdict.with_message(Audience::User, text),
        None => verdict,
    }
}

/// Adds a message for the agent: now, or at the next turn if the module requests it.
fn add_agent_message(verdict: Verdict, content: &Value, effect: &Value) -> Verdict {
    let waits = matches!(effect["options"]["deliverAs"].as_str(), Some("followUp" | "nextTurn"));
    let text = message_text(content);
    match (text.is_empty(), waits) {
        (true, _) => verdict,
        (false, true) => verdict.with_message(Audience::AgentNextTurn, text),
        (false, false) => verdict.with_message(Audience::AgentNow, text),
    }
}

/// The text of a message, from a string or from blocks.
pub fn message_text(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(blocks) => {
            let texts = blocks.iter().filter_map(|block| block["text"].as_str());
            texts.collect::<Vec<_>>().join("\n")
        }
        _ => String::new(),
    }
}
