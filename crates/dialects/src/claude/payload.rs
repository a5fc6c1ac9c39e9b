//! Parses the hook input JSON that a caller sends into neutral facts.

use gambrel_model::description::value_text;
use gambrel_model::tool::text_block;
use gambrel_model::{
    CallerContext, Complaint, EventSpec, Facts, Moment, ParsedEvent, Subject, TaskFacts, TeamFacts,
    Tool, ToolResult,
};
use serde_json::Value;

use super::CLAUDE;
use super::events::TABLE;
use super::hosts::{
    Host, claude_event_name as foreign_event_name, host_of, spec_for_host, translate_payload,
};
use super::tool_result::parse_tool_response;
use super::tools::TOOLS;
use crate::event_parts::{event_error, event_name, parse_object, text_field};

/// Parses a hook input.
pub fn parse_event(native: &[u8], context: &CallerContext) -> Result<ParsedEvent, Complaint> {
    let native = parse_object(native)?;
    let host = host_of(&native, &context.env);
    let native = if host == Host::ClaudeCode { native } else { translate_payload(native) };
    let Some(name) = event_name(&native, "hook_event_name", context) else {
        let complaint = event_error("`hook_event_name` is missing");
        return Err(complaint.with_help("name the event: \"hook_event_name\": \"PreToolUse\""));
    };
    let name = known_name(name, context);

    let row = CLAUDE.find_spec(&name).ok_or_else(|| event_error(format!("no event `{name}`")))?;
    let session = native.get("session_id").map(value_text).unwrap_or_default();
    let cwd = text_field(&native, "cwd");
    let facts = parse_facts(row, &native);

    let translated = (host != Host::ClaudeCode).then(|| format!("{native}\n").into_bytes().into());
    let row = spec_for_host(host, row);
    let parsed = ParsedEvent::new(&CLAUDE, row, name, native);
    Ok(ParsedEvent { session, cwd, facts, translated, ..parsed })
}

/// The event's name. An unknown name becomes the event with the same spelling, or the event that
/// the caller gave separately. So a gate still runs in a host that spells the event differently.
fn known_name(written: String, context: &CallerContext) -> String {
    let is_known = |name: &str| TABLE.iter().any(|row| !name.is_empty() && row.spec.name == name);
    if is_known(&written) {
        return written;
    }
    let named = context.event_name.clone().filter(|name| is_known(name));
    let alike = Some(foreign_event_name(&written)).filter(|name| is_known(name));
    alike.or(named).unwrap_or(written)
}

fn parse_facts(row: &EventSpec, native: &Value) -> Facts {
    let named = |key: &str| text_field(native, key).filter(|text| !text.is_empty());
    Facts {
        tool: parse_tool(native),
        prompt: text_field(native, "prompt"),
        task: parse_task(row, native),
        team: named("team_name").map(|id| TeamFacts { id, ..TeamFacts::default() }),
        member: named("teammate_name").or_else(|| named("agent_type")),
        agent: named("agent_id"),
        error: error_text(native),
        cause: matcher_subject(row, native),
        instructions: named("custom_instructions"),
        summary: named("compact_summary"),
        ..Facts::default()
    }
}

fn parse_tool(native: &Value) -> Option<Tool> {
    let name = text_field(native, "tool_name")?;
    let input = native.get("tool_input").unwrap_or(&Value::Null);
    let failed = text_field(native, "error").map(|error| ToolResult {
        content: vec![text_block(&error)],
        error: Some(error),
        ..ToolResult::default()
    });
    Some(Tool {
        id: text_field(native, "tool_use_id"),
        result: native.get("tool_response").map(parse_tool_response).or(failed),
        ..Tool::from_native(TOOLS, &name, input)
    })
}

fn parse_task(row: &EventSpec, native: &Value) -> Option<TaskFacts> {
    let field = |key: &str| native.get(key).map(value_text).unwrap_or_default();
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
        owner: text_field(native, "teammate_name"),
        status: status.to_owned(),
        native: Value::Null,
    })
}

fn error_text(native: &Value) -> Option<String> {
    let error = text_field(native, "error")?;
    let details = text_field(native, "error_details").filter(|details| !details.is_empty());
    Some(details.map_or_else(|| error.clone(), |details| format!("{error}: {details}")))
}

/// The value that a matcher is compared with. For files, only the file name.
fn matcher_subject(row: &EventSpec, native: &Value) -> Option<String> {
    let Subject::Cause(field) = row.subject else { return None };
    let cause = text_field(native, field)?;
    match field {
        "file_path" => cause.rsplit(['/', '\\']).next().map(str::to_owned),
        _ => Some(cause),
    }
}
