//! The merged result object, and our own key `effects` for what it has no place for.

use gambrel_model::{Decision, Ear, Event, Kind, Moment, Reply, Ruling, Slot};
use serde_json::{Map, Value, json};

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
    let messages: Vec<Value> =
        said.words(Ear::Next).map(|text| message(event, decision, text)).collect();
    let notices: Vec<&str> = said.words(Ear::Person).collect();
    for (key, value) in [("messages", json!(messages)), ("notices", json!(notices))] {
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
    if let Some(output) = decision.said.patch.get(&Slot::Output) {
        for key in ["content", "details"] {
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
