//! What a module wanted done: kept whole for a caller of its own kind, said in words to others.
//! What is for a person's eyes is words for all.

use gambrel_model::{Ear, Event, Hook, Slot, Verdict};
use serde_json::{Value, json};

use super::Omp;
use super::verdict::EFFECTS;
use crate::payload::text;

/// The effects of one call, with the errors that its handlers made.
pub fn effects(event: &Event, hook: &Hook, answer: &Value) -> Verdict {
    let wanted = answer["effects"].as_array().map(Vec::as_slice).unwrap_or_default();
    let errors = answer["errors"].as_array().filter(|errors| !errors.is_empty());
    if !event.is_from(&Omp) {
        return wanted.iter().fold(Verdict::default(), said);
    }
    let (shown, kept): (Vec<_>, Vec<_>) = wanted.iter().partition(|effect| is_notice(effect));
    let verdict = shown.into_iter().fold(Verdict::default(), said);
    if kept.is_empty() && errors.is_none() {
        return verdict;
    }
    let kept = json!({"effects": kept, "errors": errors});
    verdict.patching(Slot::Native(format!("{EFFECTS}{}", hook.id)), kept)
}

fn is_notice(effect: &Value) -> bool {
    effect["type"] == "notify"
}

/// What can be said in words, is.
fn said(verdict: Verdict, effect: &Value) -> Verdict {
    let mut verdict = match effect["type"].as_str() {
        Some("sendMessage") => verdict.saying(Ear::Next, words(&effect["message"]["content"])),
        _ if is_notice(effect) => {
            verdict.saying(Ear::Person, text(effect, "message").unwrap_or_default())
        }
        _ => verdict,
    };
    verdict.says.retain(|say| !say.text.is_empty());
    verdict
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
