//! The call of a module: oh-my-pi's event object, its context, and how the handlers of this event
//! take turns.

use std::time::Duration;

use gambrel_model::{Call, Carry, Event, EventSpec, Hook, Limits, Moment, Slot};
use serde_json::{Map, Value, json};

use super::Omp;
use super::config::{PATIENCE, REACHABLE};
use super::declarations::result_keys;
use super::edition::{FIELD, is_newer};
use super::events::{Rule, TOOLS, others, rule};
use super::fields::{PAYLOADS, SIGNAL};
use super::payload::truthy;
use super::results::rewritten_output;
use super::verdict::SYSTEM;
use crate::payload::text;

/// The system prompt, a list of texts.
const SYSTEM_PROMPT: &str = "systemPrompt";
/// What the newer edition gives those who say farewell.
const FAREWELL: Duration = Duration::from_secs(2);

/// The call of a module for an event.
pub fn stage(event: &Event, hook: &Hook, carry: &Carry) -> Call {
    let row = hook.event_spec_for(event).unwrap_or(event.spec);
    let mut body = round(event, row, hook, carry);
    body["op"] = json!("emit");
    body["path"] = hook.draft.config["path"].clone();
    body["ctx"] = context(event);
    if let Some(reachable) = hook.draft.config.get(REACHABLE) {
        body[REACHABLE] = reachable.clone();
    }
    // Callers of other dialects have one name for what happens here under several.
    let also: Vec<Value> = match event.is_from(&Omp) {
        true => Vec::new(),
        false => others(row).map(|row| round(event, row, hook, carry)).collect(),
    };
    if !also.is_empty() {
        body["then"] = json!(also);
    }
    Call { body, cwd: event.cwd.clone(), limits: pace(row, hook), ..Call::default() }
}

/// How long each handler may take.
pub fn pace(row: &EventSpec, hook: &Hook) -> Limits {
    let mut pace = hook.draft.policy.limits();
    if is_newer(hook) {
        let own = hook.draft.config.get(PATIENCE).and_then(Value::as_u64);
        match rule(row) {
            Rule::Call => pace.timeout = own.map_or(pace.timeout, Duration::from_millis),
            Rule::Farewell => pace.timeout = FAREWELL,
            _ => {}
        }
    }
    pace
}

/// One event for a module's handlers, and how they take turns: what ends the asking, what goes
/// from a result into the next handler's event, whether they share that event.
fn round(event: &Event, row: &EventSpec, hook: &Hook, carry: &Carry) -> Value {
    let newer = is_newer(hook);
    let (stop, chain, fresh) = match rule(row) {
        Rule::Call => (json!("block"), Value::Null, json!(false)),
        Rule::Result if newer => {
            let given = json!({"content": "given", "details": "given", "isError": "given"});
            (Value::Null, given, json!(false))
        }
        // What a handler does to the messages in place counts as if it had returned them.
        Rule::Context => (Value::Null, json!({"messages": "true"}), json!("shell")),
        Rule::Input => {
            (json!("handled"), json!({"text": "given", "images": "given"}), json!("shell"))
        }
        Rule::Start if newer => (Value::Null, json!({"systemPrompt": "list"}), json!("shell")),
        Rule::Start => (Value::Null, Value::Null, json!(true)),
        Rule::Stop => (json!({"decision": "block"}), Value::Null, json!(false)),
        Rule::First => (json!(true), Value::Null, json!(false)),
        Rule::Cancel => (json!("cancel"), Value::Null, json!(false)),
        _ => (Value::Null, Value::Null, json!(false)),
    };
    let mut round = json!({
        "event": object(event, row, hook, carry),
        "stop": stop,
        "chain": chain,
        "fresh": fresh,
        // An error blocks a tool call; at every other event it is recorded, and the rest runs.
        "catch": rule(row) != Rule::Call,
        "changes": matches!(rule(row), Rule::Context | Rule::Result),
        "closes": matches!(rule(row), Rule::Input | Rule::Cancel),
        "together": newer && rule(row) == Rule::Farewell,
    });
    if let Some((names, open)) = result_keys(row) {
        round["keys"] = json!({"names": names, "open": open});
    }
    round
}

/// The caller's own object with rewrites in their places, or one made of neutral facts.
fn object(event: &Event, row: &EventSpec, hook: &Hook, carry: &Carry) -> Value {
    let mut object = match event.is_from(&Omp) {
        true => event.native.clone(),
        false => made(event, row),
    };
    if let Some(fields) = object.as_object_mut() {
        fields.remove("ctx");
        fields.remove(FIELD);
        let name = if row.name.is_empty() { &event.name } else { row.name };
        fields.insert("type".into(), json!(name));
        if has_signal(row) {
            fields.insert(SIGNAL.0.into(), Value::Null);
        }
        rewritten(event, row, fields);
        if is_newer(hook) {
            chained(row, carry, fields);
        }
    }
    object
}

fn has_signal(row: &EventSpec) -> bool {
    let own = PAYLOADS.iter().find(|(name, _)| *name == row.name);
    own.is_some_and(|(_, fields)| fields.contains(&SIGNAL))
}

/// What other dialects' hooks have rewritten before.
fn rewritten(event: &Event, row: &EventSpec, fields: &mut Map<String, Value>) {
    for slot in event.patched.keys() {
        let tool = event.facts.tool.as_ref();
        match (slot, tool) {
            (Slot::Input, Some(tool)) => {
                fields.insert("input".into(), tool.to_native(TOOLS).1);
            }
            (Slot::Output, Some(tool)) => {
                let result = tool.result.clone().unwrap_or_default();
                fields.insert("content".into(), json!(result.content));
            }
            (Slot::ChatMessages, _) => {
                fields.insert("messages".into(), json!(event.facts.chat_messages));
            }
            (Slot::Prompt, _) if rule(row) == Rule::Input => {
                fields.extend(event.patched[slot].as_object().cloned().unwrap_or_default());
            }
            _ => {}
        }
    }
}

/// The newer edition shows each module what the one before it made of a result, or of the system
/// prompt.
fn chained(row: &EventSpec, carry: &Carry, fields: &mut Map<String, Value>) {
    let stands = rewritten_output(&carry.patch);
    fields.extend(stands.map(|(key, value)| (key.to_owned(), value.clone())));
    if rule(row) == Rule::Start {
        let stands = carry.patch.get(&Slot::Native(SYSTEM.into())).cloned();
        let stands = stands.or_else(|| fields.get(SYSTEM_PROMPT).cloned());
        fields.insert(SYSTEM_PROMPT.into(), stands.unwrap_or_else(|| json!([])));
    }
}

/// The event object for a caller of another dialect.
fn made(event: &Event, row: &EventSpec) -> Value {
    let facts = &event.facts;
    let mut object = json!({"type": row.name});
    let mut put = |key: &str, value: Value| object[key] = value;
    match &row.moment {
        Moment::ToolBefore | Moment::ToolAfter | Moment::ToolFailed => {
            let tool = facts.tool.clone().unwrap_or_default();
            let (name, input) = tool.to_native(TOOLS);
            put("toolName", json!(name));
            put("toolCallId", json!(tool.id.clone().unwrap_or_default()));
            put("input", input);
            if row.moment != Moment::ToolBefore {
                let result = tool.result.unwrap_or_default();
                put("content", json!(result.content));
                // Where there are none they are undefined, which is not null.
                if !result.native.is_null() && row.moment != Moment::ToolFailed {
                    put("details", result.native);
                }
                put("isError", json!(row.moment == Moment::ToolFailed));
            }
        }
        Moment::CompactBefore if rule(row) == Rule::Cancel => {
            put("preparation", json!({}));
            put("branchEntries", json!([]));
            if let Some(wish) = &facts.instructions {
                put("customInstructions", json!(wish));
            }
        }
        Moment::CompactBefore => {
            put("sessionId", json!(event.session));
            put("messages", facts.chat_messages.clone().unwrap_or_else(|| json!([])));
        }
        Moment::CompactAfter => {
            let summary = facts.summary.clone().unwrap_or_default();
            put("compactionEntry", json!({"type": "compaction", "summary": summary}));
        }
        Moment::Context | Moment::IterationEnd => {
            put("messages", facts.chat_messages.clone().unwrap_or_else(|| json!([])));
            if rule(row) == Rule::Stop {
                put("turn_id", json!(facts.iteration.unwrap_or_default()));
                put("session_id", json!(event.session));
                put("stop_hook_active", json!(facts.refusals > 0));
            }
        }
        Moment::IterationStart => {
            let typed = rule(row) == Rule::Input;
            let prompt = json!(facts.prompt.clone().unwrap_or_default());
            put(if typed { "text" } else { "prompt" }, prompt);
            if typed {
                put("source", json!("interactive"));
            }
        }
        Moment::SessionSwitchBefore | Moment::SessionSwitch => {
            put("reason", json!(facts.cause.clone().unwrap_or_else(|| "new".into())));
        }
        _ => {}
    }
    object
}

/// What handlers see beside the event: as the caller says, else what is known of it.
fn context(event: &Event) -> Value {
    let told = event.native.get("ctx").filter(|_| event.is_from(&Omp));
    let mut ctx = told.cloned().filter(Value::is_object).unwrap_or_else(|| json!({}));
    let asked = event.env.get("GAMBREL_UI").is_some_and(|way| way == "tty" || way == "page");
    // A caller that has no UI has none, wherever else questions could go.
    let denied = ctx.get("hasUI").is_some_and(|has| !truthy(has));
    ctx["hasUI"] = json!(asked && !denied);
    if text(&ctx, "cwd").is_none() {
        ctx["cwd"] = json!(shown(event));
    }
    if ctx.get("session").is_none_or(|session| !session.is_object()) {
        ctx["session"] = json!({"id": event.session, "cwd": shown(event)});
    }
    ctx
}

fn shown(event: &Event) -> String {
    event.cwd.display().to_string()
}
