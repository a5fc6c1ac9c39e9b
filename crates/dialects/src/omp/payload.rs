//! Event objects in: `{"type":"tool_call","toolName":"bash","input":{…},"ctx":{…}}`.

use gambrel_model::tool::text_block;
use gambrel_model::{
    CallerContext, Complaint, Event, EventSpec, Facts, Moment, SourceSpan, Tool, ToolResult,
};
use serde_json::Value;

use super::Omp;
use super::edition::{setting, speaks_newer};
use super::events::{self, EVENTS, TOOLS};
use crate::payload::{Heard, event_name, object, row, text};

/// Understands an event object.
pub fn receive(
    dialect: &'static Omp,
    native: &[u8],
    arrival: CallerContext,
) -> Result<Event, Complaint> {
    let native = object(native)?;
    let Some(name) = event_name(&native, "type", &arrival) else {
        let complaint = Complaint::error(SourceSpan::default(), "`type` is missing");
        return Err(complaint.with_help("name the event, like \"type\": \"tool_call\""));
    };
    let failed = native.get("isError").is_some_and(truthy);
    let newer = speaks_newer(&native, setting(&arrival.env));
    let row = named(dialect, &name, (failed, newer))
        .ok_or_else(|| Complaint::error(SourceSpan::default(), format!("no event `{name}`")))?;
    let ctx = native.get("ctx").cloned().unwrap_or_default();
    let field = |key: &str| text(&native, key).or_else(|| text(&ctx, key));
    let session = field("sessionId").or_else(|| field("session")).unwrap_or_default();
    let cwd = field("cwd");
    let facts = facts(&native, failed);
    Ok(Heard { row, name, session, cwd, facts, native }.into_event(dialect, arrival))
}

/// A tool's result is one name for two moments; each edition has rows of its own.
fn named(dialect: &Omp, name: &str, how: (bool, bool)) -> Option<&'static EventSpec> {
    let (failed, newer) = how;
    let wanted = if failed { Moment::ToolFailed } else { Moment::ToolAfter };
    let table = if newer { events::newer() } else { EVENTS };
    let rows: Vec<_> = table.iter().filter(|row| row.name == name).collect();
    let fits = rows.iter().find(|row| rows.len() == 1 || row.moment == wanted);
    fits.copied().or_else(|| row(dialect, name))
}

/// Whether a value is truthy in JavaScript, as oh-my-pi tests it.
pub fn truthy(value: &Value) -> bool {
    match value {
        Value::Null => false,
        Value::Bool(flag) => *flag,
        Value::Number(number) => number.as_f64().is_some_and(|n| n != 0.0),
        Value::String(text) => !text.is_empty(),
        Value::Array(_) | Value::Object(_) => true,
    }
}

/// JavaScript's idea of a value as text.
pub fn worded(value: &Value) -> String {
    let item = |item: &Value| if item.is_null() { String::new() } else { worded(item) };
    match value {
        Value::String(text) => text.clone(),
        Value::Array(items) => items.iter().map(item).collect::<Vec<_>>().join(","),
        Value::Object(_) => "[object Object]".into(),
        other => other.to_string(),
    }
}

fn facts(native: &Value, failed: bool) -> Facts {
    let tool = text(native, "toolName").map(|name| {
        let empty = Value::Object(serde_json::Map::new());
        let mut tool = Tool::from_native(TOOLS, &name, native.get("input").unwrap_or(&empty));
        tool.id = text(native, "toolCallId");
        tool.result = native.get("content").map(|content| result(native, content, failed));
        tool
    });
    let error = tool.as_ref().and_then(|t| t.result.as_ref()?.error.clone());
    Facts {
        tool,
        prompt: text(native, "prompt").or_else(|| text(native, "text")),
        error: text(native, "errorMessage").or(error),
        chat_messages: native.get("messages").cloned(),
        cause: text(native, "reason"),
        instructions: text(native, "customInstructions"),
        summary: native.get("compactionEntry").and_then(|entry| text(entry, "summary")),
        ..Facts::default()
    }
}

fn result(native: &Value, content: &Value, failed: bool) -> ToolResult {
    let content = match content {
        Value::Array(blocks) => blocks.clone(),
        Value::String(text) => vec![text_block(text)],
        _ => Vec::new(),
    };
    let native = native.get("details").cloned().unwrap_or_default();
    let mut result = ToolResult { content, native, error: None };
    result.error = failed.then(|| result.text());
    result
}
