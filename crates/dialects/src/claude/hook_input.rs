//! Builds the hook input JSON: the caller's own payload, or one from neutral facts for a caller of
//! another dialect.

use gambrel_model::{Event, EventSpec, Hook, Moment, Slot, Subject};
use serde_json::{Map, Value, json};

use super::CLAUDE;
use super::tool_result::{apply_rewrite, foreign_response};
use super::tools::TOOLS;

/// The JSON that a hook reads on stdin.
pub fn hook_input(event: &Event, hook: &Hook, row: &EventSpec) -> Value {
    match event.is_from(&CLAUDE) {
        true => own_payload(event),
        false => build_input(event, hook, row),
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

fn build_input(event: &Event, hook: &Hook, row: &EventSpec) -> Value {
    let mut input = Map::new();
    let mut put = |key: &str, value: Value| drop(input.insert(key.to_owned(), value));
    put("session_id", json!(event.session));
    put("transcript_path", json!(""));
    put("cwd", json!(event.cwd.display().to_string()));
    put("hook_event_name", json!(hook.draft.event));
    if has_permission_mode(row) {
        put("permission_mode", json!("default"));
    }
    if let Subject::Cause(field) = row.subject {
        put(field, json!(event_cause(event, row)));
    }
    input.extend(tool_fields(event, row));
    input.extend(other_fields(event, row));
    Value::Object(input)
}

/// Whether the event has a `permission_mode`.
fn has_permission_mode(row: &EventSpec) -> bool {
    matches!(
        row.moment,
        Moment::IterationStart
            | Moment::IterationEnd
            | Moment::SubagentStop
            | Moment::ToolBefore
            | Moment::ToolAfter
            | Moment::ToolFailed
            | Moment::ToolPermission
    )
}

/// The cause of the event. A default value if the caller sends none.
fn event_cause(event: &Event, row: &EventSpec) -> String {
    let given = event.facts.cause.clone().or_else(|| match row.moment {
        Moment::SubagentStart | Moment::SubagentStop => event.facts.member.clone(),
        _ => None,
    });
    let usual = match row.moment {
        Moment::SessionStart => "startup",
        Moment::CompactBefore | Moment::CompactAfter => "auto",
        Moment::SessionEnd => "other",
        Moment::Error => "unknown",
        _ => "",
    };
    given.unwrap_or_else(|| usual.to_owned())
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

fn other_fields(event: &Event, row: &EventSpec) -> Map<String, Value> {
    let facts = &event.facts;
    let team = facts.team.as_ref().map(|team| team.id.as_str()).filter(|id| !id.is_empty());
    let agent = facts.agent.clone().or_else(|| facts.member.clone()).unwrap_or_default();
    let fields = match &row.moment {
        Moment::IterationStart => json!({"prompt": facts.prompt.clone().unwrap_or_default()}),
        Moment::IterationEnd => json!({"stop_hook_active": facts.refusals > 0}),
        Moment::SubagentStop => json!({
            "stop_hook_active": facts.refusals > 0,
            "agent_id": agent,
            "agent_transcript_path": "",
        }),
        Moment::SubagentStart => json!({"agent_id": agent}),
        Moment::Error => json!({"error_details": facts.error}),
        Moment::Notification => json!({"message": facts.prompt.clone().unwrap_or_default()}),
        Moment::CompactBefore => {
            json!({"custom_instructions": facts.instructions.clone().unwrap_or_default()})
        }
        Moment::CompactAfter => {
            json!({"compact_summary": facts.summary.clone().unwrap_or_default()})
        }
        Moment::TaskCreated | Moment::TaskCompleted => {
            let task = facts.task.clone().unwrap_or_default();
            let owner = task.owner.or_else(|| facts.member.clone());
            json!({
                "task_id": task.id, "task_subject": task.subject,
                "task_description": task.description,
                "teammate_name": owner, "team_name": team,
            })
        }
        Moment::MemberIdle => json!({
            "teammate_name": facts.member.clone().unwrap_or_default(),
            "team_name": team.unwrap_or_default(),
        }),
        _ => Value::Null,
    };
    let Value::Object(fields) = fields else { return Map::new() };
    fields.into_iter().filter(|(_, value)| !value.is_null()).collect()
}
