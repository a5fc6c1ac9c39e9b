//! Builds the call of a module: oh-my-pi's event object, its context, and how the handlers of the
//! event run.

use std::time::Duration;

use gambrel_model::{Call, Carry, Event, EventSpec, Hook, Limits, Moment, Slot};
use serde_json::{Map, Value, json};

use super::OMP;
use super::config::{REACHABLE_KEY, TOOL_CALL_TIMEOUT_KEY};
use super::declarations::result_keys;
use super::edition::{EDITION_FIELD, is_extensions};
use super::events::{ResultRule, TOOLS, result_rule, same_moment};
use super::fields::{PAYLOADS, SIGNAL_FIELD, find_payload};
use super::payload::is_truthy;
use super::results::rewritten_output;
use super::verdict::SYSTEM_PROMPT_SLOT;
use crate::event_parts::text_field;

/// The field of the system prompt, a list of texts.
const SYSTEM_PROMPT: &str = "systemPrompt";
/// The timeout of handlers at the end of a session, in the newer edition.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(2);

/// Builds the call of a module for an event.
pub fn stage_call(event: &Event, hook: &Hook, carry: &Carry) -> Call {
    let row = hook.event_spec_for(event).unwrap_or(event.spec);
    let mut body = build_round(event, row, hook, carry);
    body["op"] = json!("emit");
    body["path"] = hook.draft.config["path"].clone();
    body["ctx"] = build_context(event);
    if let Some(reachable) = hook.draft.config.get(REACHABLE_KEY) {
        body[REACHABLE_KEY] = reachable.clone();
    }

    // Callers of other dialects have one event for several events of this dialect.
    let also: Vec<Value> = match event.is_from(&OMP) {
        true => Vec::new(),
        false => same_moment(row).map(|row| build_round(event, row, hook, carry)).collect(),
    };
    if !also.is_empty() {
        body["then"] = json!(also);
    }
    Call { body, cwd: event.cwd.clone(), limits: handler_limits(row, hook), ..Call::default() }
}

/// The limits of each handler.
pub fn handler_limits(row: &EventSpec, hook: &Hook) -> Limits {
    let mut limits = hook.draft.policy.limits.clone();
    if is_extensions(hook) {
        let own = hook.draft.config.get(TOOL_CALL_TIMEOUT_KEY).and_then(Value::as_u64);
        match result_rule(row) {
            ResultRule::Call => limits.timeout = own.map_or(limits.timeout, Duration::from_millis),
            ResultRule::Shutdown => limits.timeout = SHUTDOWN_TIMEOUT,
            _ => {}
        }
    }
    limits
}

/// One event for a module's handlers, and how they run. `stop`: the result that ends the round.
/// `chain`: the fields of a result that go into the next handler's event. `fresh`: whether each
/// handler gets its own event object.
fn build_round(event: &Event, row: &EventSpec, hook: &Hook, carry: &Carry) -> Value {
    let newer = is_extensions(hook);
    let (stop, chain, fresh) = match result_rule(row) {
        ResultRule::Call => (json!("block"), Value::Null, json!(false)),
        ResultRule::Result if newer => {
            let given = json!({"content": "given", "details": "given", "isError": "given"});
            (Value::Null, given, json!(false))
        }
        // Changes to the messages in place count as a result.
        ResultRule::Context => (Value::Null, json!({"messages": "true"}), json!("shell")),
        ResultRule::Input => {
            (json!("handled"), json!({"text": "given", "images": "given"}), json!("shell"))
        }
        ResultRule::Start if newer => {
            (Value::Null, json!({"systemPrompt": "list"}), json!("shell"))
        }
        ResultRule::Start => (Value::Null, Value::Null, json!(true)),
        ResultRule::Stop => (json!({"decision": "block"}), Value::Null, json!(false)),
        ResultRule::First => (json!(true), Value::Null, json!(false)),
        ResultRule::Cancel => (json!("cancel"), Value::Null, json!(false)),
        _ => (Value::Null, Value::Null, json!(false)),
    };
    let mut round = json!({
        "event": event_object(event, row, hook, carry),
        "stop": stop,
        "chain": chain,
        "fresh": fresh,
        // An error blocks a tool call; at every other event it is recorded, and the rest runs.
        "catch": result_rule(row) != ResultRule::Call,
        "changes": matches!(result_rule(row), ResultRule::Context | ResultRule::Result),
        "closes": matches!(result_rule(row), ResultRule::Input | ResultRule::Cancel),
        "together": newer && result_rule(row) == ResultRule::Shutdown,
    });
    if let Some((names, open)) = result_keys(row) {
        round["keys"] = json!({"names": names, "open": open});
    }
    round
}

/// The caller's event object with rewrites applied, or one from neutral facts.
fn event_object(event: &Event, row: &EventSpec, hook: &Hook, carry: &Carry) -> Value {
    let mut object =
        if event.is_from(&OMP) { event.native.clone() } else { build_object(event, row) };
    if let Some(fields) = object.as_object_mut() {
        fields.remove("ctx");
        fields.remove(EDITION_FIELD);
        let name = if row.name.is_empty() { &event.name } else { row.name };
        fields.insert("type".into(), json!(name));
        if has_signal(row) {
            fields.insert(SIGNAL_FIELD.0.into(), Value::Null);
        }
        apply_rewrites(event, row, fields);
        if is_extensions(hook) {
            apply_previous(row, carry, fields);
        }
    }
    object
}

fn has_signal(row: &EventSpec) -> bool {
    find_payload(PAYLOADS, row.name).contains(&SIGNAL_FIELD)
}

/// Applies the rewrites of other dialects' hooks.
fn apply_rewrites(event: &Event, row: &EventSpec, fields: &mut Map<String, Value>) {
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
            (Slot::Prompt, _) if result_rule(row) == ResultRule::Input => {
                fields.extend(event.patched[slot].as_object().cloned().unwrap_or_default());
            }
            _ => {}
        }
    }
}

/// Applies the previous module's changes to a result or to the system prompt. Only the newer
/// edition passes them on.
fn apply_previous(row: &EventSpec, carry: &Carry, fields: &mut Map<String, Value>) {
    let stands = rewritten_output(&carry.patch);
    fields.extend(stands.map(|(key, value)| (key.to_owned(), value.clone())));
    if result_rule(row) == ResultRule::Start {
        let stands = carry.patch.get(&Slot::Native(SYSTEM_PROMPT_SLOT.into())).cloned();
        let stands = stands.or_else(|| fields.get(SYSTEM_PROMPT).cloned());
        fields.insert(SYSTEM_PROMPT.into(), stands.unwrap_or_else(|| json!([])));
    }
}

/// Builds the event object for a caller of another dialect.
pub fn build_object(event: &Event, row: &EventSpec) -> Value {
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
                // Absent details are undefined, not null.
                if !result.native.is_null() && row.moment != Moment::ToolFailed {
                    put("details", result.native);
                }
                put("isError", json!(row.moment == Moment::ToolFailed));
            }
        }
        Moment::CompactBefore if result_rule(row) == ResultRule::Cancel => {
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
            if result_rule(row) == ResultRule::Stop {
                put("turn_id", json!(facts.iteration.unwrap_or_default()));
                put("session_id", json!(event.session));
                put("stop_hook_active", json!(facts.refusals > 0));
            }
        }
        Moment::IterationStart => {
            let typed = result_rule(row) == ResultRule::Input;
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

/// The `ctx` object of handlers: the caller's, completed with known values.
fn build_context(event: &Event) -> Value {
    let given = event.native.get("ctx").filter(|_| event.is_from(&OMP));
    let mut ctx = given.cloned().filter(Value::is_object).unwrap_or_else(|| json!({}));
    let asked =
        event.context.env.get("GAMBREL_UI").is_some_and(|way| way == "tty" || way == "page");
    // If the caller has no UI, no other UI is used.
    let denied = ctx.get("hasUI").is_some_and(|has| !is_truthy(has));
    ctx["hasUI"] = json!(asked && !denied);
    if text_field(&ctx, "cwd").is_none() {
        ctx["cwd"] = json!(cwd_text(event));
    }
    if ctx.get("session").is_none_or(|session| !session.is_object()) {
        ctx["session"] = json!({"id": event.session, "cwd": cwd_text(event)});
    }
    ctx
}

fn cwd_text(event: &Event) -> String {
    event.cwd.display().to_string()
}
