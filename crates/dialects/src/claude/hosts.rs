//! Other agents that run hooks of Claude Code's settings files. Their payloads are translated to
//! Claude Code's names, and a refusal takes the form that each of them supports.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use gambrel_model::moment::to_snake_case;
use gambrel_model::{EventSpec, Powers};
use serde_json::{Map, Value};

use super::events::event_specs;

/// An agent that runs hooks of Claude Code's settings files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Host {
    /// Claude Code itself.
    ClaudeCode,
    /// Cursor, recognised by a field of its payload. Only exit code 2 refuses.
    Cursor,
    /// Copilot CLI, recognised by its environment, or by its name for the event's name.
    Copilot,
}

/// The variable that Copilot CLI sets for its hooks.
const COPILOT_VARIABLE: &str = "COPILOT_CLI";
/// The field of the event's name in a permission request of Copilot CLI.
const COPILOT_EVENT: &str = "hookName";
/// A field that only Cursor sends.
const CURSOR_VERSION: &str = "cursor_version";

/// Events of Cursor that are specific to a tool: name, event, tool.
const CURSOR_TOOL_EVENTS: &[(&str, &str, &str)] = &[
    ("beforeShellExecution", "PreToolUse", "Shell"),
    ("beforeReadFile", "PreToolUse", "Read"),
    ("beforeMCPExecution", "PreToolUse", ""),
    ("afterShellExecution", "PostToolUse", "Shell"),
    ("afterMCPExecution", "PostToolUse", ""),
    ("afterFileEdit", "PostToolUse", "Edit"),
];
/// Names of events in other agents.
const EVENT_NAMES: &[(&str, &str)] = &[
    ("beforeSubmitPrompt", "UserPromptSubmit"),
    ("userPromptSubmitted", "UserPromptSubmit"),
    ("agentStop", "Stop"),
    ("errorOccurred", "StopFailure"),
];
/// Names of fields in other agents.
const FIELDS: &[(&str, &str)] = &[
    ("conversation_id", "session_id"),
    ("sessionId", "session_id"),
    ("transcriptPath", "transcript_path"),
    ("toolName", "tool_name"),
    ("toolInput", "tool_input"),
    ("toolArgs", "tool_input"),
    ("toolResult", "tool_response"),
    ("tool_output", "tool_response"),
    ("toolUseId", "tool_use_id"),
    ("toolCallId", "tool_use_id"),
];
/// Names of tool arguments in other agents: tool, argument, own name.
const ARGUMENTS: &[(&str, &str, &str)] = &[
    ("Read", "path", "file_path"),
    ("Read", "target_file", "file_path"),
    ("Write", "path", "file_path"),
    ("Write", "file_text", "content"),
    ("Write", "contents", "content"),
    ("Edit", "path", "file_path"),
    ("Edit", "old_str", "old_string"),
    ("Edit", "new_str", "new_string"),
];

/// The agent that sent a payload.
pub fn host_of(native: &Value, env: &BTreeMap<String, String>) -> Host {
    if native.get(CURSOR_VERSION).is_some() {
        return Host::Cursor;
    }
    let copilot = env.get(COPILOT_VARIABLE).is_some_and(|value| value == "1");
    if copilot || native.get(COPILOT_EVENT).is_some() { Host::Copilot } else { Host::ClaudeCode }
}

/// Translates a payload to Claude Code's names. Fields without a counterpart stay unchanged.
pub fn translate_payload(mut native: Value) -> Value {
    let Some(fields) = native.as_object_mut() else { return native };
    for (foreign, own) in FIELDS {
        if !fields.contains_key(*own)
            && let Some(value) = fields.get(*foreign).cloned()
        {
            fields.insert((*own).to_owned(), value);
        }
    }
    if !fields.contains_key("cwd")
        && let Some(root) = fields.get("workspace_roots").and_then(|roots| roots.get(0)).cloned()
    {
        fields.insert("cwd".to_owned(), root);
    }
    translate_event(fields);
    translate_tool(fields);
    native
}

/// Claude Code's name for an event of another agent.
pub fn claude_event_name(written: &str) -> String {
    let tool_event = CURSOR_TOOL_EVENTS.iter().find(|(name, _, _)| *name == written);
    if let Some((_, own, _)) = tool_event {
        return (*own).to_owned();
    }
    if let Some((_, own)) = EVENT_NAMES.iter().find(|(name, _)| *name == written) {
        return (*own).to_owned();
    }
    let same = |row: &&EventSpec| {
        !row.name.is_empty() && to_snake_case(row.name) == to_snake_case(written)
    };
    event_specs().iter().find(same).map_or_else(|| written.to_owned(), |row| row.name.to_owned())
}

fn translate_event(fields: &mut Map<String, Value>) {
    let written = ["hook_event_name", COPILOT_EVENT].iter().find_map(|key| fields.get(*key));
    let Some(written) = written.and_then(Value::as_str).map(str::to_owned) else { return };
    let tool = CURSOR_TOOL_EVENTS.iter().find(|(name, _, _)| *name == written);
    if let Some((_, _, tool)) = tool
        && !fields.contains_key("tool_name")
        && !tool.is_empty()
    {
        fields.insert("tool_name".to_owned(), Value::from(*tool));
    }
    // These events have the tool's arguments among their other fields.
    if tool.is_some() && !fields.contains_key("tool_input") {
        let keys = ["command", "file_path", "edits"];
        let own = |key: &&str| Some(((*key).to_owned(), fields.get(*key)?.clone()));
        let input: Map<String, Value> = keys.iter().filter_map(own).collect();
        fields.insert("tool_input".to_owned(), Value::Object(input));
    }
    fields.insert("hook_event_name".to_owned(), Value::from(claude_event_name(&written)));
}

fn translate_tool(fields: &mut Map<String, Value>) {
    // Arguments and results may be JSON inside a text.
    for key in ["tool_input", "tool_response"] {
        let inside = fields.get(key).and_then(Value::as_str);
        let inside = inside.and_then(|text| serde_json::from_str::<Value>(text).ok());
        if let Some(object) = inside.filter(Value::is_object) {
            fields.insert(key.to_owned(), object);
        }
    }
    let Some(written) = fields.get("tool_name").and_then(Value::as_str) else { return };
    let Some(name) = tool_name(&written.to_lowercase()) else { return };
    fields.insert("tool_name".to_owned(), Value::from(name));
    let Some(input) = fields.get_mut("tool_input").and_then(Value::as_object_mut) else { return };
    for (_, foreign, own) in ARGUMENTS.iter().filter(|(tool, _, _)| *tool == name) {
        if !input.contains_key(*own)
            && let Some(value) = input.remove(*foreign)
        {
            input.insert((*own).to_owned(), value);
        }
    }
}

/// The name of a tool of another agent, in lower case, in Claude Code.
fn tool_name(foreign: &str) -> Option<&'static str> {
    Some(match foreign {
        "shell" | "bash" | "run_terminal_cmd" => "Bash",
        "read" | "view" | "read_file" => "Read",
        "write" | "create" => "Write",
        "edit" | "str_replace" => "Edit",
        "grep" | "rg" => "Grep",
        "glob" => "Glob",
        "web_fetch" | "fetch" => "WebFetch",
        "task" => "Task",
        _ => return None,
    })
}

/// The row of an event for a host. Cursor can only receive refusals.
pub fn spec_for_host(host: Host, row: &'static EventSpec) -> &'static EventSpec {
    static CURSOR: OnceLock<Vec<EventSpec>> = OnceLock::new();
    if host != Host::Cursor {
        return row;
    }
    let refusals_only = || event_specs().iter().map(limit_to_refusals).collect();
    let rows = CURSOR.get_or_init(refusals_only);
    rows.iter().find(|other| other.name == row.name).unwrap_or(row)
}

fn limit_to_refusals(row: &EventSpec) -> EventSpec {
    let can = if row.caller_powers.contains(Powers::DENY) { Powers::DENY } else { Powers::empty() };
    EventSpec { caller_powers: can, caller_accepts: &[], ..row.clone() }
}
