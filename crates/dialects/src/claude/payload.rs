//! The hook input JSON as it comes from a caller: neutral facts beside the untouched payload.

use gambrel_model::tool::text_block;
use gambrel_model::{
    CallerContext, Complaint, Event, EventSpec, Facts, Moment, SourceSpan, Subject, TaskFacts,
    TeamFacts, Tool, ToolResult,
};
use serde_json::Value;

use super::Claude;
use super::events::EVENTS;
use super::hosts::{Host, event_name as foreign_event_name, host_of, row_for, translate};
use super::result::heard;
use super::tools::TOOLS;
use crate::payload::{Heard, event_name, loose_text, object, row, text};

/// Understands a hook input.
pub fn receive(
    dialect: &'static Claude,
    native: &[u8],
    arrival: CallerContext,
) -> Result<Event, Complaint> {
    let native = object(native)?;
    let host = host_of(&native, &arrival.env);
    let native = if host == Host::ClaudeCode { native } else { translate(native) };
    let Some(name) = event_name(&native, "hook_event_name", &arrival) else {
        let complaint = Complaint::error(SourceSpan::default(), "`hook_event_name` is missing");
        return Err(complaint.with_help("name the event: \"hook_event_name\": \"PreToolUse\""));
    };
    let name = known_name(name, &arrival);
    let row = row(dialect, &name)
        .ok_or_else(|| Complaint::error(SourceSpan::default(), format!("no event `{name}`")))?;
    let session = native.get("session_id").map(loose_text).unwrap_or_default();
    let cwd = text(&native, "cwd");
    let facts = facts(row, &native);
    let translated = (host != Host::ClaudeCode).then(|| native.to_string().into_bytes().into());
    let row = row_for(host, row);
    let event = Heard { row, name, session, cwd, facts, native }.into_event(dialect, arrival);
    Ok(Event { raw_line: translated, ..event })
}

/// The event's name. One that nobody knows is taken for the event that it is spelled like, or for the
/// one that the entry was written for: a gate must not open because its host spells it differently.
fn known_name(written: String, arrival: &CallerContext) -> String {
    let is_known = |name: &str| EVENTS.iter().any(|row| !name.is_empty() && row.name == name);
    if is_known(&written) {
        return written;
    }
    let named = arrival.event_name.clone().filter(|name| is_known(name));
    let alike = Some(foreign_event_name(&written)).filter(|name| is_known(name));
    alike.or(named).unwrap_or(written)
}

fn facts(row: &EventSpec, native: &Value) -> Facts {
    let named = |key: &str| text(native, key).filter(|text| !text.is_empty());
    Facts {
        tool: tool(native),
        prompt: text(native, "prompt"),
        task: task(row, native),
        team: named("team_name").map(|id| TeamFacts { id, ..TeamFacts::default() }),
        member: named("teammate_name").or_else(|| named("agent_type")),
        agent: named("agent_id"),
        error: error(native),
        cause: cause(row, native),
        instructions: named("custom_instructions"),
        summary: named("compact_summary"),
        ..Facts::default()
    }
}

fn tool(native: &Value) -> Option<Tool> {
    let name = text(native, "tool_name")?;
    let input = native.get("tool_input").cloned().unwrap_or_default();
    let failed = text(native, "error").map(|error| ToolResult {
        content: vec![text_block(&error)],
        error: Some(error),
        ..ToolResult::default()
    });
    Some(Tool {
        id: text(native, "tool_use_id"),
        result: native.get("tool_response").map(heard).or(failed),
        ..Tool::from_native(TOOLS, &name, &input)
    })
}

fn task(row: &EventSpec, native: &Value) -> Option<TaskFacts> {
    let field = |key: &str| native.get(key).map(loose_text).unwrap_or_default();
    let status = match row.moment {
        Moment::TaskCompleted => "completed",
        Moment::TaskCreated => "pending",
        _ => "",
    };
    let known = native.get("task_id").is_some() || native.get("task_subject").is_some();
    known.then(|| TaskFacts {
        id: field("task_id"),
        subject: field("task_subject"),
        description: field("task_description"),
        owner: text(native, "teammate_name"),
        status: status.to_owned(),
        native: Value::Null,
    })
}

fn error(native: &Value) -> Option<String> {
    let error = text(native, "error")?;
    let details = text(native, "error_details").filter(|details| !details.is_empty());
    Some(details.map_or_else(|| error.clone(), |details| format!("{error}: {details}")))
}

/// What a matcher looks at. Files are matched by their name alone.
fn cause(row: &EventSpec, native: &Value) -> Option<String> {
    let Subject::Cause(field) = row.subject else { return None };
    let cause = text(native, field)?;
    match field {
        "file_path" => cause.rsplit(['/', '\\']).next().map(str::to_owned),
        _ => Some(cause),
    }
}
