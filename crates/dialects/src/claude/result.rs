//! A tool's result: the structured `tool_response` of this dialect and neutral text blocks.

use gambrel_model::tool::text_block;
use gambrel_model::{Tool, ToolKind, ToolResult};
use serde_json::{Value, json};

/// What a `tool_response` says, as blocks.
pub fn heard(response: &Value) -> ToolResult {
    ToolResult { content: blocks(response), native: response.clone(), error: None }
}

fn blocks(response: &Value) -> Vec<Value> {
    match response {
        Value::Null => Vec::new(),
        Value::String(text) => vec![text_block(text)],
        Value::Array(items) if items.iter().all(is_block) => items.clone(),
        Value::Object(fields) => {
            let text = |key: &str| fields.get(key).and_then(Value::as_str);
            let file = fields.get("file").and_then(|file| file.get("content"));
            match (text("stdout"), fields.get("content").or(file)) {
                (Some(stdout), _) => vec![text_block(&streams(stdout, text("stderr")))],
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

fn streams(stdout: &str, stderr: Option<&str>) -> String {
    match stderr.filter(|text| !text.is_empty()) {
        Some(stderr) if stdout.is_empty() => stderr.to_owned(),
        Some(stderr) => format!("{}\n{stderr}", stdout.trim_end_matches('\n')),
        None => stdout.to_owned(),
    }
}

/// A rewrite in the shape of what it replaces: its own native form if it brings one.
pub fn rewritten(patch: &Value, before: &Value) -> Value {
    if let Some(native) = patch.get("native").filter(|native| !native.is_null()) {
        return native.clone();
    }
    let content = patch.get("content").and_then(Value::as_array).cloned().unwrap_or_default();
    let text = ToolResult { content: content.clone(), ..ToolResult::default() }.text();
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

/// The result of another dialect's tool as a hook of this one expects it.
pub fn foreign(tool: &Tool, result: &ToolResult) -> Value {
    match tool.kind {
        ToolKind::Shell => json!({"stdout": result.text(), "stderr": "", "interrupted": false}),
        ToolKind::Mcp => Value::Array(result.content.clone()),
        _ => json!(result.text()),
    }
}
