//! Builds the hook input JSON: the caller's own payload, or one from neutral facts for a caller of
//! another dialect.

use gambrel_model::{Event, EventSpec, Hook, Moment, Slot, Subject};
use serde_json::{Map, Value, json};

use super::CLAUDE;
use super::events::event_row;
use super::tool_result::{apply_rewrite, foreign_response};
use super::tools::TOOLS;

/// The field of the agent's permission mode.
const PERMISSION_MODE: &str = "permission_mode";

/// The JSON that a hook reads on stdin.
pub fn hook_input(event: &Event, hook: &Hook, row: &EventSpec) -> Value {
    match event.is_from(&CLAUDE) {
        true => own_payload(event),
        false => build_input(event, &hook.draft.event, row),
    }
}

/// The caller's payload with all its fields, with rewrites applied.
fn own_payload(event: &Event) -> Value {
    let mut native = event.native.clone();
    let Some(tool) = &event.facts.tool else { return native };
    if event.patched.contains_key(&Slot::Input) {
        native["tool_input"] = tool.to_native(TOOLS).1;
    }
    if let Some(patch) = event.patched.get(&Slot::Output) {
        native["tool_response"] = apply_rewrite(patch, &event.native["tool_response"]);
    }
    native
}

/// The payload of an event of another dialect, under this dialect's name for it.
pub fn build_input(event: &Event, name: &str, row: &EventSpec) -> Value {
    let mut input = Map::new();
    let mut put = |key: &str, value: Value| drop(input.insert(key.to_owned(), value));
    put("session_id", json!(event.session));
    put("transcript_path", json!(""));
    put("cwd", json!(event.cwd.display().to_string()));
    put("hook_event_name", json!(name));
    if has_permission_mode(row) {
        put(PERMISSION_MODE, json!("default"));
    }
    if let Subject::Cause(field) = row.subject {
        put(field, json!(event_cause(event, row)));
    }
    input.extend(tool_fields(event, row));
    input.extend(own_fields(event, row));
    Value::Object(input)
}

/// Whether the event has a `permission_mode`. Only moments that other dialects share get one.
fn has_permission_mode(row: &EventSpec) -> bool {
    let mut fields = event_row(row).input.into_iter().flatten();
    let is_shared = !matches!(row.moment, Moment::Other(_));
    is_shared && fields.any(|field| field.name == PERMISSION_MODE)
}

/// The cause of the event. A default value if the caller sends none.
fn event_cause(event: &Event, row: &EventSpec) -> String {
    let given = event.facts.cause.clone().or_else(|| match row.moment {
        Moment::SubagentStart | Moment::SubagentStop => event.facts.member.clone(),
        _ => None,
    });
    given.unwrap_or_else(|| event_row(row).usual_cause.to_owned())
}

fn tool_fields(event: &Event, row: &EventSpec) -> Map<String, Value> {
    let mut fields = Map::new();
    let Some(tool) = event.facts.tool.as_ref().filter(|_| row.subject == Subject::Tool) else {
        return fields;
    };
    let (name, input) = tool.to_native(TOOLS);
    fields.insert("tool_name".into(), json!(name));
    fields.insert("tool_input".into(), input);
    if row.moment == Moment::ToolPermission {
        return fields;
    }
    fields.insert("tool_use_id".into(), json!(tool.id.clone().unwrap_or_default()));
    match &row.moment {
        Moment::ToolAfter => {
            let result = tool.result.clone().unwrap_or_default();
            fields.insert("tool_response".into(), foreign_response(tool, &result));
        }
        Moment::ToolFailed => {
            let of_tool =
                tool.result.as_ref().map(|r| r.error.clone().unwrap_or_else(|| r.joined_text()));
            let error = event.facts.error.clone().or(of_tool).unwrap_or_default();
            fields.insert("error".into(), json!(error));
            fields.insert("is_interrupt".into(), json!(false));
        }
        _ => {}
    }
    fields
}

/// The fields of one event that are not null.
fn own_fields(event: &Event, row: &EventSpec) -> Map<String, Value> {
    let Value::Object(fields) = (event_row(row).foreign_fields)(event) else { return Map::new() };
    fields.into_iter().filter(|(_, value)| !value.is_null()).collect()
}

// The fields of each event for a caller of another dialect, named in the event table.

pub fn subagent_stop_fields(event: &Event) -> Value {
    json!({
        "stop_hook_active": event.facts.refusals > 0,
        "agent_id": agent_id(event),
        "agent_transcript_path": "",
    })
}

pub fn instructions_fields(event: &Event) -> Value {
    json!({"custom_instructions": event.facts.instructions.clone().unwrap_or_default()})
}

pub fn summary_fields(event: &Event) -> Value {
    json!({"compact_summary": event.facts.summary.clone().unwrap_or_default()})
}

pub fn task_fields(event: &Event) -> Value {
    let task = event.facts.task.clone().unwrap_or_default();
    let owner = task.owner.or_else(|| event.facts.member.clone());
    json!({
        "task_id": task.id, "task_subject": task.subject, "task_description": task.description,
        "teammate_name": owner, "team_name": team_name(event),
    })
}

pub fn idle_fields(event: &Event) -> Value {
    json!({
        "teammate_name": event.facts.member.clone().unwrap_or_default(),
        "team_name": team_name(event).unwrap_or_default(),
    })
}

pub fn agent_id(event: &Event) -> String {
    let facts = &event.facts;
    facts.agent.clone().or_else(|| facts.member.clone()).unwrap_or_default()
}

fn team_name(event: &Event) -> Option<&str> {
    event.facts.team.as_ref().map(|team| team.id.as_str()).filter(|id| !id.is_empty())
}
