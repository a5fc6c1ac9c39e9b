//! The merged result object, and our own key `effects` for what it has no place for.

use std::collections::BTreeMap;

use gambrel_model::{Decision, Ear, Event, Kind, Moment, Reply, Ruling, Slot};
use serde_json::{Map, Value, json};

use super::verdict::{EFFECTS, RESULT};
use crate::payload::text;

/// Spells a decision as the contract's runner would return it.
pub fn reply(event: &Event, decision: &Decision) -> Reply {
    let mut result = Map::new();
    let mut effects = Map::new();
    let said = &decision.said;
    let reason = said.why().join("\n");
    match (&event.moment, said.ruling.refuses()) {
        (Moment::ToolBefore, true) => {
            result.insert("block".into(), json!(true));
            result.insert("reason".into(), json!(reason));
        }
        (_, true) if event.kind() == Kind::Gate => {
            result.insert("cancel".into(), json!(true));
            result.insert("reason".into(), json!(reason));
        }
        _ => {}
    }
    told(event, decision, &mut result);
    rewritten(decision, &mut result);
    let wanted = Wanted::of(decision);
    let words = said.words(Ear::Next).map(|text| message(event, decision, text));
    let messages: Vec<Value> = words.chain(wanted.messages).collect();
    let shown = said.words(Ear::Person).map(Value::from);
    let notices: Vec<Value> = shown.chain(wanted.notices).collect();
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
    notices: Vec<Value>,
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
            if let Some(kept) = decision.said.patch.get(&slot) {
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
            Some("notify") => self.notices.push(effect["message"].clone()),
            _ => self.others.push(effect.clone()),
        }
    }
}

/// Words that the event itself can carry.
fn told(event: &Event, decision: &Decision, result: &mut Map<String, Value>) {
    let words: Vec<&str> = decision.said.words(Ear::Agent).collect();
    if words.is_empty() {
        return;
    }
    match event.moment {
        Moment::IterationStart => {
            let message =
                json!({"customType": "gambrel", "content": words.join("\n"), "display": true});
            result.insert("message".into(), message);
        }
        _ => drop(result.insert("context".into(), json!(words))),
    }
}

fn rewritten(decision: &Decision, result: &mut Map<String, Value>) {
    if let Some(Value::Object(own)) = decision.said.patch.get(&Slot::Native(RESULT.into())) {
        result.extend(own.clone());
    }
    if let Some(output) = decision.said.patch.get(&Slot::Output) {
        for key in ["content", "details", "isError"] {
            if let Some(value) = output.get(key).filter(|value| !value.is_null()) {
                result.insert(key.into(), value.clone());
            }
        }
    }
    for (slot, key) in [(Slot::Messages, "messages"), (Slot::Message, "message")] {
        if let Some(value) = decision.said.patch.get(&slot) {
            result.insert(key.into(), value.clone());
        }
    }
}

/// A message that a session is to be given. Where a turn has ended it begins a new one if a hook
/// refused the end; mere words wait, else every end would be a beginning.
fn message(event: &Event, decision: &Decision, text: &str) -> Value {
    let ended = event.moment == Moment::IterationEnd;
    let goes_on = matches!(decision.meant.ruling, Ruling::Ask | Ruling::Defer | Ruling::Deny);
    json!({
        "message": {"customType": "gambrel", "content": text, "display": true},
        "options": {
            "triggerTurn": ended && goes_on,
            "deliverAs": if ended { "followUp" } else { "steer" },
        },
    })
}
