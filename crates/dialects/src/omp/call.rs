//! What a module is called with: the event object of the contract, its context, and how the
//! handlers of this event take turns.

use gambrel_model::{Call, Carry, Event, EventSpec, Hook, Moment, Order, Slot};
use serde_json::{Map, Value, json};

use super::events::TOOLS;
use super::{Omp, is_newer};
use crate::payload::text;

/// The call of a module for an event.
pub fn stage(event: &Event, hook: &Hook, carry: &Carry) -> Call {
    let row = hook.row_for(event).unwrap_or(event.row);
    let (stop, chain) = (stop(row), (row.moment == Moment::Context).then_some("messages"));
    let fresh = matches!(row.moment, Moment::Context | Moment::IterationStart);
    let body = json!({
        "op": "emit",
        "path": hook.draft.config["path"],
        "edition": hook.draft.config["edition"],
        "event": object(event, row, hook, carry),
        "ctx": context(event),
        "stop": stop,
        "chain": chain,
        "fresh": fresh,
        // 004, errors: a tool call fails closed; everything else is noted and goes on.
        "catch": row.moment != Moment::ToolBefore,
    });
    Call { body, cwd: event.cwd.clone(), pace: hook.draft.terms.pace(), ..Call::default() }
}

/// The field whose truth ends the asking.
fn stop(row: &EventSpec) -> Option<&'static str> {
    match row.moment {
        Moment::ToolBefore => Some("block"),
        _ if row.order == Order::UntilRefused => Some("cancel"),
        _ => None,
    }
}

/// The caller's own object with rewrites in their places, or one made of neutral facts.
fn object(event: &Event, row: &EventSpec, hook: &Hook, carry: &Carry) -> Value {
    let mut object = match event.is_from(&Omp) {
        true => event.native.clone(),
        false => made(event, row),
    };
    if let Some(fields) = object.as_object_mut() {
        fields.remove("ctx");
        fields.insert("type".into(), json!(row.name));
        rewritten(event, fields);
        if is_newer(hook) {
            chained(carry, fields);
        }
    }
    object
}

/// What other dialects' hooks have rewritten before.
fn rewritten(event: &Event, fields: &mut Map<String, Value>) {
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
            (Slot::Messages, _) => {
                fields.insert("messages".into(), json!(event.facts.messages));
            }
            _ => {}
        }
    }
}

/// The newer edition shows each module what the one before it made of a result.
fn chained(carry: &Carry, fields: &mut Map<String, Value>) {
    let output = carry.now.get(&Slot::Output);
    for key in ["content", "details", "isError"] {
        if let Some(value) = output.and_then(|output| output.get(key)) {
            fields.insert(key.into(), value.clone());
        }
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
                put("details", result.native);
                put("isError", json!(row.moment == Moment::ToolFailed));
            }
        }
        Moment::Context | Moment::IterationEnd => {
            put("messages", facts.messages.clone().unwrap_or_else(|| json!([])));
        }
        Moment::IterationStart => put("prompt", json!(facts.prompt.clone().unwrap_or_default())),
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
    ctx["hasUI"] = json!(asked);
    if text(&ctx, "cwd").is_none() {
        ctx["cwd"] = json!(event.cwd);
    }
    if ctx.get("session").is_none_or(|session| !session.is_object()) {
        ctx["session"] = json!({"id": event.session, "cwd": event.cwd});
    }
    ctx
}
