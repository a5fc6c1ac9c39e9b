//! Converts a tool's result between the structured `tool_response` of this dialect and neutral
//! text blocks.

use gambrel_model::tool::text_block;
use gambrel_model::{Tool, ToolKind, ToolResult};
use serde_json::{Value, json};

/// The neutral form of a `tool_response`.
pub fn parse_tool_response(response: &Value) -> ToolResult {
    ToolResult { content: response_blocks(response), native: response.clone(), error: None }
}

fn response_blocks(response: &Value) -> Vec<Value> {
    match response {
        Value::Null => Vec::new(),
        Value::String(text) => vec![text_block(text)],
        Value::Array(items) if items.iter().all(is_block) => items.clone(),
        Value::Object(fields) => {
            let text = |key: &str| fields.get(key).and_then(Value::as_str);
            let file = fields.get("file").and_then(|file| file.get("content"));
            match (text("stdout"), fields.get("content").or(file)) {
                (Some(stdout), _) => vec![text_block(&join_streams(stdout, text("stderr")))],
                (None, Some(Value::String(text))) => vec![text_block(text)],
                (None, Some(Value::Array(items))) if items.iter().all(is_block) => items.clone(),
                _ => vec![text_block(&response.to_string())],
            }
        }
        other => vec![text_block(&other.to_string())],
    }
}

fn is_block(item: &Value) -> bool {
    item.get("type").is_some_and(Value::is_string)
}

fn join_streams(stdout: &str, stderr: Option<&str>) -> String {
    match stderr.filter(|text| !text.is_empty()) {
        Some(stderr) if stdout.is_empty() => stderr.to_owned(),
        Some(stderr) => format!("{}\n{stderr}", stdout.trim_end_matches('\n')),
        None => stdout.to_owned(),
    }
}

/// A rewritten result in the shape of the original. A native form in the patch takes precedence.
pub fn apply_rewrite(patch: &Value, before: &Value) -> Value {
    if let Some(native) = patch.get("native").filter(|native| !native.is_null()) {
        return native.clone();
    }
    let content = patch.get("content").and_then(Value::as_array).cloned().unwrap_or_default();
    let text = ToolResult { content: content.clone(), ..ToolResult::default() }.joined_text();

    let mut shaped = before.clone();
    match &mut shaped {
        Value::Array(_) => return Value::Array(content),
        Value::Object(fields) if fields.contains_key("stdout") => {
            fields.insert("stdout".into(), json!(text));
            fields.insert("stderr".into(), json!(""));
        }
        Value::Object(fields) if fields.get("content").is_some_and(Value::is_array) => {
            fields.insert("content".into(), Value::Array(content));
        }
        Value::Object(fields) if fields.contains_key("content") => {
            fields.insert("content".into(), json!(text));
        }
        Value::Object(fields) if fields.get("file").is_some_and(|f| f.get("content").is_some()) => {
            fields["file"]["content"] = json!(text);
        }
        _ => return json!(text),
    }
    shaped
}

/// The result of a foreign tool in the form that a Claude Code hook expects.
pub fn foreign_response(tool: &Tool, result: &ToolResult) -> Value {
    match tool.kind {
        ToolKind::Shell => {
            json!({"stdout": result.joined_text(), "stderr": "", "interrupted": false})
        }
        ToolKind::Mcp => Value::Array(result.content.clone()),
        _ => json!(result.joined_text()),
    }
}
