//! The merged result object, and our own key `effects` for what it has no place for.

use std::collections::BTreeMap;

use gambrel_model::{Audience, Decision, Dialect, Event, Moment, Reply, Ruling, Slot};
use serde_json::{Map, Value, json};

use super::Omp;
use super::edition::hears_newer;
use super::events::{Rule, TOOLS, rule};
use super::payload::truthy;
use super::results::rewritten_output;
use super::verdict::{EFFECTS, RESULT, SYSTEM};
use crate::payload::text;

/// Writes a decision as oh-my-pi's own runner returns it.
pub fn reply(event: &Event, decision: &Decision) -> Reply {
    let mut result = Map::new();
    let mut effects = Map::new();
    let said = &decision.for_caller;
    rewritten(event, decision, &mut result);
    if said.ruling.refuses() {
        refused(event, decision, &mut result);
    }
    let wanted = Wanted::of(decision);
    let now = told(event, decision, &mut result);
    let words = said
        .messages_for(Audience::AgentNextTurn)
        .map(|text| message(event, decision, own_message(text)));
    let now = now.into_iter().map(|own| message(event, decision, own));
    let messages: Vec<Value> = now.chain(words).chain(wanted.messages).collect();
    let unsaid = unsaid(event, decision);
    let shown = unsaid.into_iter().chain(said.messages_for(Audience::User).map(str::to_owned));
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
    let stdout = format!("{}\n", Value::Object(result)).into_bytes();
    Reply { stdout, ..Reply::default() }
}

/// What modules wanted done, sorted for whoever does it.
#[derive(Default)]
struct Wanted {
    messages: Vec<Value>,
    entries: Vec<Value>,
    others: Vec<Value>,
    /// One status line for all modules.
    statuses: BTreeMap<String, Value>,
    errors: Vec<Value>,
}

impl Wanted {
    fn of(decision: &Decision) -> Self {
        let mut wanted = Self::default();
        // By the trail: what modules want is done in the order in which they ran.
        for step in decision.trail.iter().filter(|step| step.ran && !step.recheck) {
            let slot = Slot::Native(format!("{EFFECTS}{}", step.hook));
            if let Some(kept) = decision.for_caller.patch.get(&slot) {
                let effects = kept["effects"].as_array().into_iter().flatten();
                effects.for_each(|effect| wanted.take(effect));
                wanted.errors.extend(kept["errors"].as_array().into_iter().flatten().cloned());
            }
        }
        wanted.others.extend(std::mem::take(&mut wanted.statuses).into_values());
        wanted
    }

    fn take(&mut self, effect: &Value) {
        match effect["type"].as_str() {
            Some("sendMessage") => {
                let options = effect.get("options").cloned().unwrap_or_else(|| json!({}));
                self.messages.push(json!({"message": effect["message"], "options": options}));
            }
            Some("appendEntry") => self.entries.push(effect.clone()),
            Some("setStatus") => {
                self.statuses.insert(text(effect, "key").unwrap_or_default(), effect.clone());
            }
            _ => self.others.push(effect.clone()),
        }
    }
}

/// A refusal, as each event says it.
fn refused(event: &Event, decision: &Decision, result: &mut Map<String, Value>) {
    let reason = decision.for_caller.ruling_reasons().join("\n");
    let by_modules = {
        let mut refusers = decision.trail.iter().filter(|s| s.ran && s.verdict.refuses());
        refusers.all(|step| step.dialect == Omp.name())
    };
    let word = match rule(event.spec) {
        Rule::Call => "block",
        Rule::Input => "handled",
        // What a module itself has returned says it already.
        Rule::Cancel if by_modules && result.get("cancel").is_some_and(truthy) => return,
        Rule::Cancel => "cancel",
        Rule::Stop if by_modules && !result.is_empty() => return,
        Rule::Stop => {
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

/// Input that was handled vanishes without a word: the person hears why.
fn unsaid(event: &Event, decision: &Decision) -> Vec<String> {
    let swallowed = rule(event.spec) == Rule::Input && decision.for_caller.ruling.refuses();
    let by = |hook: &str| decision.trail.iter().find(|step| step.hook == hook);
    let other = |hook: &str| by(hook).is_none_or(|step| step.dialect != Omp.name());
    let reasons = decision.for_caller.reasons.iter().filter(|r| swallowed && r.ruling.refuses());
    reasons.filter(|r| other(&r.hook)).map(|r| r.text.clone()).collect()
}

/// Words and messages that the event itself can carry; those for which it has no place.
fn told(event: &Event, decision: &Decision, result: &mut Map<String, Value>) -> Vec<Value> {
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
    messages.extend((!words.is_empty()).then(|| own_message(&words.join("\n"))));
    if messages.is_empty() {
        return messages;
    }
    if hears_newer(event) {
        result.insert("messages".into(), json!(messages));
        return Vec::new();
    }
    // before_agent_start has one message; the reply carries the others beside it.
    let rest = messages.split_off(1);
    result.extend(messages.pop().map(|first| ("message".to_owned(), first)));
    rest
}

fn rewritten(event: &Event, decision: &Decision, result: &mut Map<String, Value>) {
    let patch = &decision.for_caller.patch;
    if let Some(Value::Object(own)) = patch.get(&Slot::Native(RESULT.into())) {
        result.extend(own.clone());
    }
    let told = rewritten_output(patch).filter(|(_, value)| !value.is_null());
    result.extend(told.map(|(key, value)| (key.to_owned(), value.clone())));
    if let Some(prompt) = patch.get(&Slot::Prompt).and_then(Value::as_object) {
        let changed = prompt.iter().filter(|(key, value)| event.native.get(*key) != Some(*value));
        result.extend(changed.map(|(key, value)| (key.clone(), value.clone())));
    }
    if patch.contains_key(&Slot::Input) {
        let tool = event.with_patch(patch).facts.tool.unwrap_or_default();
        result.insert("input".into(), tool.to_native(TOOLS).1);
    }
    let slots = [(Slot::ChatMessages, "messages"), (Slot::Native(SYSTEM.into()), "systemPrompt")];
    for (slot, key) in slots {
        if let Some(value) = patch.get(&slot) {
            result.insert(key.into(), value.clone());
        }
    }
}

/// A message of our own.
fn own_message(text: &str) -> Value {
    json!({"customType": "gambrel", "content": text, "display": true})
}

/// A message that a session is to be given. Where a turn has ended it begins a new one if a hook
/// refused the end; mere words wait, else every end would be a beginning.
fn message(event: &Event, decision: &Decision, message: Value) -> Value {
    let ended = event.moment == Moment::IterationEnd;
    let goes_on = matches!(decision.merged.ruling, Ruling::Ask | Ruling::Defer | Ruling::Deny);
    // A refusal that the reply itself says needs no message to begin a turn.
    let said = decision.for_caller.ruling.refuses();
    json!({
        "message": message,
        "options": {
            "triggerTurn": ended && goes_on && !said,
            "deliverAs": if ended { "followUp" } else { "steer" },
        },
    })
}
