//! Writes the reply: the merged result object, and gambrel's own key `effects` for everything else.

use std::collections::BTreeMap;

use gambrel_model::{Audience, Decision, Event, Moment, Reply, Ruling, Slot};
use serde_json::{Map, Value, json};

use super::OMP;
use super::edition::caller_is_extensions;
use super::events::{ResultRule, TOOLS, result_rule};
use super::payload::is_truthy;
use super::results::rewritten_output;
use super::verdict::{EFFECTS_PREFIX, RESULT_SLOT, SYSTEM_PROMPT_SLOT};
use crate::event_parts::text_field;

/// Writes a decision as oh-my-pi's own runner returns it.
pub fn write_reply(event: &Event, decision: &Decision) -> Reply {
    let mut result = Map::new();
    let mut effects = Map::new();
    let verdict = &decision.for_caller;
    write_rewrites(event, decision, &mut result);
    if verdict.ruling.is_refusal() {
        write_refusal(event, decision, &mut result);
    }

    let wanted = RequestedEffects::from_decision(decision);
    let now = write_messages(event, decision, &mut result);
    let words = verdict
        .messages_for(Audience::AgentNextTurn)
        .map(|text| session_message(event, decision, gambrel_message(text)));
    let now = now.into_iter().map(|own| session_message(event, decision, own));
    let messages: Vec<Value> = now.chain(words).chain(wanted.messages).collect();
    let reasons = refused_input_reasons(event, decision);
    let shown = reasons.into_iter().chain(verdict.messages_for(Audience::User).map(str::to_owned));
    let notices: Vec<String> = shown.collect();

    let all = [
        ("messages", json!(messages)),
        ("entries", json!(wanted.entries)),
        ("notices", json!(notices)),
        ("others", json!(wanted.others)),
        ("errors", json!(wanted.errors)),
    ];
    for (key, value) in all {
        if value.as_array().is_some_and(|list| !list.is_empty()) {
            effects.insert(key.into(), value);
        }
    }
    if !effects.is_empty() {
        result.insert("effects".into(), Value::Object(effects));
    }
    Reply::from_json(&Value::Object(result))
}

/// The effects that modules requested, sorted by kind.
#[derive(Default)]
struct RequestedEffects {
    messages: Vec<Value>,
    entries: Vec<Value>,
    others: Vec<Value>,
    /// The last status of each key, for all modules.
    statuses: BTreeMap<String, Value>,
    errors: Vec<Value>,
}

impl RequestedEffects {
    fn from_decision(decision: &Decision) -> Self {
        let mut wanted = Self::default();
        // In the order of the trail, which is the order in which the modules ran.
        for step in decision.trail.iter().filter(|step| step.ran && !step.recheck) {
            let slot = Slot::Native(format!("{EFFECTS_PREFIX}{}", step.hook));
            if let Some(kept) = decision.for_caller.patch.get(&slot) {
                let effects = kept["effects"].as_array().into_iter().flatten();
                effects.for_each(|effect| wanted.add_effect(effect));
                wanted.errors.extend(kept["errors"].as_array().into_iter().flatten().cloned());
            }
        }
        wanted.others.extend(std::mem::take(&mut wanted.statuses).into_values());
        wanted
    }

    fn add_effect(&mut self, effect: &Value) {
        match effect["type"].as_str() {
            Some("sendMessage") => {
                let options = effect.get("options").cloned().unwrap_or_else(|| json!({}));
                self.messages.push(json!({"message": effect["message"], "options": options}));
            }
            Some("appendEntry") => self.entries.push(effect.clone()),
            Some("setStatus") => {
                self.statuses.insert(text_field(effect, "key").unwrap_or_default(), effect.clone());
            }
            _ => self.others.push(effect.clone()),
        }
    }
}

/// Adds a refusal in the form of the event.
fn write_refusal(event: &Event, decision: &Decision, result: &mut Map<String, Value>) {
    let reason = decision.for_caller.ruling_reasons().join("\n");
    let by_modules = {
        let mut refusers = decision.trail.iter().filter(|s| s.ran && s.verdict.is_refusal());
        refusers.all(|step| step.dialect == OMP.name)
    };
    let word = match result_rule(event.spec) {
        ResultRule::Call => "block",
        ResultRule::Input => "handled",
        // The module's own result contains the refusal already.
        ResultRule::Cancel if by_modules && result.get("cancel").is_some_and(is_truthy) => return,
        ResultRule::Cancel => "cancel",
        ResultRule::Stop if by_modules && !result.is_empty() => return,
        ResultRule::Stop => {
            result.clear();
            result.insert("decision".into(), json!("block"));
            result.insert("reason".into(), json!(reason));
            return;
        }
        _ => return,
    };
    if word == "block" {
        result.remove("input");
    }
    result.insert(word.into(), json!(true));
    result.entry("reason").or_insert_with(|| json!(reason));
}

/// Reasons of refused input. oh-my-pi drops handled input silently, so the user gets a notice.
fn refused_input_reasons(event: &Event, decision: &Decision) -> Vec<String> {
    let swallowed =
        result_rule(event.spec) == ResultRule::Input && decision.for_caller.ruling.is_refusal();
    let by = |hook: &str| decision.trail.iter().find(|step| step.hook == hook);
    let other = |hook: &str| by(hook).is_none_or(|step| step.dialect != OMP.name);
    let reasons = decision.for_caller.reasons.iter().filter(|r| swallowed && r.ruling.is_refusal());
    reasons.filter(|r| other(&r.hook)).map(|r| r.text.clone()).collect()
}

/// Adds messages that fit into the event's own result, and returns the others.
fn write_messages(
    event: &Event,
    decision: &Decision,
    result: &mut Map<String, Value>,
) -> Vec<Value> {
    let words: Vec<&str> = decision.for_caller.messages_for(Audience::AgentNow).collect();
    if event.moment != Moment::IterationStart {
        if !words.is_empty() {
            result.insert("context".into(), json!(words));
        }
        return Vec::new();
    }
    let mut messages = match decision.for_caller.patch.get(&Slot::InjectedMessage).cloned() {
        Some(Value::Array(all)) => all,
        one => one.into_iter().collect(),
    };
    messages.extend((!words.is_empty()).then(|| gambrel_message(&words.join("\n"))));
    if messages.is_empty() {
        return messages;
    }
    if caller_is_extensions(event) {
        result.insert("messages".into(), json!(messages));
        return Vec::new();
    }
    // `before_agent_start` has one message; the others go into `effects`.
    let rest = messages.split_off(1);
    result.extend(messages.pop().map(|first| ("message".to_owned(), first)));
    rest
}

fn write_rewrites(event: &Event, decision: &Decision, result: &mut Map<String, Value>) {
    let patch = &decision.for_caller.patch;
    if let Some(Value::Object(own)) = patch.get(&Slot::Native(RESULT_SLOT.into())) {
        result.extend(own.clone());
    }
    let output = rewritten_output(patch).filter(|(_, value)| !value.is_null());
    result.extend(output.map(|(key, value)| (key.to_owned(), value.clone())));
    if let Some(prompt) = patch.get(&Slot::Prompt).and_then(Value::as_object) {
        let changed = prompt.iter().filter(|(key, value)| event.native.get(*key) != Some(*value));
        result.extend(changed.map(|(key, value)| (key.clone(), value.clone())));
    }
    if patch.contains_key(&Slot::Input) {
        let tool = event.with_patch(patch).facts.tool.unwrap_or_default();
        result.insert("input".into(), tool.to_native(TOOLS).1);
    }
    let slots = [
        (Slot::ChatMessages, "messages"),
        (Slot::Native(SYSTEM_PROMPT_SLOT.into()), "systemPrompt"),
    ];
    for (slot, key) in slots {
        if let Some(value) = patch.get(&slot) {
            result.insert(key.into(), value.clone());
        }
    }
}

/// A message from gambrel.
fn gambrel_message(text: &str) -> Value {
    json!({"customType": "gambrel", "content": text, "display": true})
}

/// A message for the session. At the end of a turn, it starts a new turn only if a hook refused the
/// end; otherwise every message would start one.
fn session_message(event: &Event, decision: &Decision, message: Value) -> Value {
    let ended = event.moment == Moment::IterationEnd;
    let goes_on = matches!(decision.merged.ruling, Ruling::Ask | Ruling::Defer | Ruling::Deny);
    // A refusal in the reply starts a turn by itself.
    let reply_refuses = decision.for_caller.ruling.is_refusal();
    json!({
        "message": message,
        "options": {
            "triggerTurn": ended && goes_on && !reply_refuses,
            "deliverAs": if ended { "followUp" } else { "steer" },
        },
    })
}
