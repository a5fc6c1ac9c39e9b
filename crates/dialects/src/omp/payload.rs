//! Parses event objects: `{"type":"tool_call","toolName":"bash","input":{…},"ctx":{…}}`.

use gambrel_model::tool::text_block;
use gambrel_model::{
    CallerContext, Complaint, EventSpec, Facts, Moment, ParsedEvent, Tool, ToolResult,
};
use serde_json::Value;

use super::OMP;
use super::edition::{edition_setting, payload_is_extensions};
use super::events::{self, EVENTS, TOOLS};
use crate::event_parts::{event_error, event_name, parse_object, text_field};

/// Parses an event object.
pub fn parse_event(native: &[u8], context: &CallerContext) -> Result<ParsedEvent, Complaint> {
    let native = parse_object(native)?;
    let Some(name) = event_name(&native, "type", context) else {
        let complaint = event_error("`type` is missing");
        return Err(complaint.with_help("name the event, like \"type\": \"tool_call\""));
    };

    let failed = native.get("isError").is_some_and(is_truthy);
    let newer = payload_is_extensions(&native, edition_setting(&context.env));
    let row = find_row(&name, (failed, newer))
        .ok_or_else(|| event_error(format!("no event `{name}`")))?;
    let ctx = native.get("ctx").cloned().unwrap_or_default();
    let field = |key: &str| text_field(&native, key).or_else(|| text_field(&ctx, key));
    let session = field("sessionId").or_else(|| field("session")).unwrap_or_default();
    let cwd = field("cwd");
    let facts = parse_facts(&native, failed);
    Ok(ParsedEvent { session, cwd, facts, ..ParsedEvent::new(&OMP, row, name, native) })
}

/// The row of an event, in the table of its edition. `tool_result` has two rows: one for success,
/// one for failure.
fn find_row(name: &str, how: (bool, bool)) -> Option<&'static EventSpec> {
    let (failed, newer) = how;
    let wanted = if failed { Moment::ToolFailed } else { Moment::ToolAfter };
    let table = if newer { events::extensions_events() } else { EVENTS };
    let rows: Vec<_> = table.iter().filter(|row| row.name == name).collect();
    let fits = rows.iter().find(|row| rows.len() == 1 || row.moment == wanted);
    fits.copied().or_else(|| OMP.find_spec(name))
}

/// Whether a value is truthy in JavaScript, as oh-my-pi tests it.
pub fn is_truthy(value: &Value) -> bool {
    match value {
        Value::Null => false,
        Value::Bool(flag) => *flag,
        Value::Number(number) => number.as_f64().is_some_and(|n| n != 0.0),
        Value::String(text) => !text.is_empty(),
        Value::Array(_) | Value::Object(_) => true,
    }
}

/// Converts a value to text as JavaScript's `String` does.
pub fn to_js_string(value: &Value) -> String {
    let item = |item: &Value| if item.is_null() { String::new() } else { to_js_string(item) };
    match value {
        Value::String(text) => text.clone(),
        Value::Array(items) => items.iter().map(item).collect::<Vec<_>>().join(","),
        Value::Object(_) => "[object Object]".into(),
        other => other.to_string(),
    }
}

fn parse_facts(native: &Value, failed: bool) -> Facts {
    let tool = text_field(native, "toolName").map(|name| {
        let empty = Value::Object(serde_json::Map::new());
        let mut tool = Tool::from_native(TOOLS, &name, native.get("input").unwrap_or(&empty));
        tool.id = text_field(native, "toolCallId");
        tool.result = native.get("content").map(|content| parse_result(native, content, failed));
        tool
    });
    let error = tool.as_ref().and_then(|t| t.result.as_ref()?.error.clone());
    Facts {
        tool,
        prompt: text_field(native, "prompt").or_else(|| text_field(native, "text")),
        error: text_field(native, "errorMessage").or(error),
        chat_messages: native.get("messages").cloned(),
        cause: text_field(native, "reason"),
        instructions: text_field(native, "customInstructions"),
        summary: native.get("compactionEntry").and_then(|entry| text_field(entry, "summary")),
        ..Facts::default()
    }
}

fn parse_result(native: &Value, content: &Value, failed: bool) -> ToolResult {
    let content = match content {
        Value::Array(blocks) => blocks.clone(),
        Value::String(text) => vec![text_block(text)],
        _ => Vec::new(),
    };
    let native = native.get("details").cloned().unwrap_or_default();
    let mut result = ToolResult { content, native, error: None };
    result.error = failed.then(|| result.joined_text());
    result
}
