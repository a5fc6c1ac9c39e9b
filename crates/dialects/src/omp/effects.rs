//! What a module wanted done: kept whole for a caller of its own kind; for others said in words
//! where words do, and else put beside the decision, by name, as what they have no word for.
//! What is for a person's eyes is words for all.

use gambrel_model::{Audience, Dialect, Event, Hook, Slot, Verdict};
use serde_json::{Value, json};

use super::Omp;
use super::verdict::EFFECTS;
use crate::payload::text;

/// The effects of one call, with the errors that its handlers made.
pub fn effects(event: &Event, hook: &Hook, answer: &Value) -> Verdict {
    let wanted = answer["effects"].as_array().map(Vec::as_slice).unwrap_or_default();
    let errors = answer["errors"].as_array().filter(|errors| !errors.is_empty());
    if !event.is_from(&Omp) {
        return wanted.iter().fold(Verdict::default(), told);
    }
    let (shown, kept): (Vec<_>, Vec<_>) = wanted.iter().partition(|effect| is_notice(effect));
    let verdict = shown.into_iter().fold(Verdict::default(), said);
    if kept.is_empty() && errors.is_none() {
        return verdict;
    }
    let kept = json!({"effects": kept, "errors": errors});
    verdict.with_rewrite(Slot::Native(format!("{EFFECTS}{}", hook.id)), kept)
}

fn is_notice(effect: &Value) -> bool {
    effect["type"] == "notify"
}

/// To a caller of another kind.
fn told(verdict: Verdict, effect: &Value) -> Verdict {
    let Some(kind) = effect["type"].as_str() else { return verdict };
    match kind {
        "sendMessage" => words_for_agent(verdict, &effect["message"]["content"], effect),
        "sendUserMessage" => words_for_agent(verdict, &effect["content"], effect),
        // The one is a log, the other is in the trail.
        "log" | "warning" => verdict,
        _ if is_notice(effect) => said(verdict, effect),
        _ => {
            let slot = Slot::List(format!("{}.{kind}", Omp.name()));
            verdict.then(Verdict::default().with_rewrite(slot, json!([effect])))
        }
    }
}

fn said(verdict: Verdict, effect: &Value) -> Verdict {
    match text(effect, "message").filter(|text| !text.is_empty()) {
        Some(text) => verdict.with_message(Audience::User, text),
        None => verdict,
    }
}

/// At once where that can be, unless the module itself lets it wait.
fn words_for_agent(verdict: Verdict, content: &Value, effect: &Value) -> Verdict {
    let waits = matches!(effect["options"]["deliverAs"].as_str(), Some("followUp" | "nextTurn"));
    let text = words(content);
    match (text.is_empty(), waits) {
        (true, _) => verdict,
        (false, true) => verdict.with_message(Audience::AgentNextTurn, text),
        (false, false) => verdict.with_message(Audience::AgentNow, text),
    }
}

/// A message's text, whatever its content is made of.
pub fn words(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(blocks) => {
            let texts = blocks.iter().filter_map(|block| block["text"].as_str());
            texts.collect::<Vec<_>>().join("\n")
        }
        _ => String::new(),
    }
}
