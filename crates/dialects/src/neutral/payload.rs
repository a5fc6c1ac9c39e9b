//! Parses `{"moment":"tool.before","session":"s","facts":{…}}`. Accepts some other spellings of
//! facts.

use gambrel_model::description::value_text;
use gambrel_model::{
    CallerContext, Complaint, Dialect, Facts, Moment, ParsedEvent, TaskFacts, Tool, ToolKind,
    ToolWord,
};
use serde_json::{Map, Value};

use crate::event_parts::{event_error, event_name, parse_object, text_field};

const fn tool_word(kind: ToolKind, shape: &'static str) -> ToolWord {
    ToolWord::new(kind, shape, shape, &[])
}

/// The neutral names of tools.
pub static TOOLS: &[ToolWord] = &[
    tool_word(ToolKind::Shell, "shell"),
    tool_word(ToolKind::Read, "read"),
    tool_word(ToolKind::Write, "write"),
    tool_word(ToolKind::Edit, "edit"),
    tool_word(ToolKind::Search, "search"),
    tool_word(ToolKind::Fetch, "fetch"),
    tool_word(ToolKind::Task, "task"),
];

/// The facts that hold a slot.
pub const REWRITTEN_FIELDS: &[(&str, &str)] = &[
    ("output", "/facts/tool/result"),
    ("prompt", "/facts/prompt"),
    ("messages", "/facts/messages"),
];

/// Parses a neutral event.
pub fn parse_event(
    dialect: &'static Dialect,
    native: &[u8],
    context: &CallerContext,
) -> Result<ParsedEvent, Complaint> {
    let native = parse_object(native)?;
    let Some(name) = event_name(&native, "moment", context) else {
        let complaint = event_error("`moment` is missing");
        return Err(complaint.with_help("name one, like \"moment\": \"tool.before\""));
    };
    let moment = Moment::parse(&name);
    let known = !matches!(moment, Moment::Other(_));
    let name = if known { moment.name().to_owned() } else { name };

    let row = dialect.find_spec(&name).ok_or_else(|| event_error(format!("no moment `{name}`")))?;
    let session = native.get("session").map(value_text).unwrap_or_default();
    let cwd = text_field(&native, "cwd");
    let facts =
        parse_facts(native.get("facts").and_then(Value::as_object).cloned().unwrap_or_default())?;
    Ok(ParsedEvent { session, cwd, facts, ..ParsedEvent::new(dialect, row, name, native) })
}

fn parse_facts(mut object: Map<String, Value>) -> Result<Facts, Complaint> {
    let tool = object.remove("tool").map(|tool| tool_fact(tool, &mut object));
    let task = object.remove("task").map(task_fact);
    for key in ["prompt", "stage", "member", "agent", "error", "cause", "instructions", "summary"] {
        if let Some(value) = object.get_mut(key).filter(|value| !value.is_null()) {
            *value = Value::String(value_text(value));
        }
    }
    if let Some(vars) = object.get_mut("vars").and_then(Value::as_object_mut) {
        vars.values_mut().for_each(|value| *value = Value::String(value_text(value)));
    }
    let facts: Facts = serde_json::from_value(Value::Object(object))
        .map_err(|error| event_error(format!("`facts` cannot be read: {error}")))?;
    Ok(Facts { tool, task, ..facts })
}

/// Reads `{"kind":"shell","name":"Bash","args":{…}}`, or only a name with the arguments among the
/// facts.
fn tool_fact(tool: Value, beside: &mut Map<String, Value>) -> Tool {
    let Value::Object(mut fields) = tool else {
        let word = value_text(&tool);
        return named_tool(&word, "", Value::Object(std::mem::take(beside)));
    };
    let args = ["args", "input", "arguments"].iter().find_map(|key| fields.remove(*key));
    let word = |key: &str| fields.get(key).map(value_text).unwrap_or_default();
    let (kind, name, id) = (word("kind"), word("name"), fields.get("id").map(value_text));
    let result = fields.remove("result").and_then(|result| serde_json::from_value(result).ok());
    let flat = || {
        fields.retain(|key, _| !matches!(key.as_str(), "kind" | "name" | "id" | "shape"));
        Value::Object(fields)
    };
    Tool { id, result, ..named_tool(&kind, &name, args.unwrap_or_else(flat)) }
}

fn named_tool(kind: &str, name: &str, args: Value) -> Tool {
    let word = if kind.is_empty() { name } else { kind };
    let known = ToolKind::parse(kind).or_else(|| ToolKind::parse(name)).unwrap_or_default();
    let name = if name.is_empty() { word } else { name };
    if known == ToolKind::Mcp || name.starts_with("mcp__") {
        return mcp_tool(name, args);
    }
    Tool { kind: known, name: name.to_owned(), args, ..Tool::default() }
}

/// Turns `{server, tool, arguments}` into a tool named `mcp__server__tool`.
fn mcp_tool(name: &str, mut args: Value) -> Tool {
    let (server, tool) = (text_field(&args, "server"), text_field(&args, "tool"));
    let name = match (server, tool) {
        (Some(server), Some(tool)) => format!("mcp__{server}__{tool}"),
        _ => return Tool { kind: ToolKind::Mcp, name: name.to_owned(), args, ..Tool::default() },
    };
    let args = args.get_mut("arguments").map(Value::take).unwrap_or_default();
    Tool { kind: ToolKind::Mcp, name, args, ..Tool::default() }
}

fn task_fact(task: Value) -> TaskFacts {
    match task {
        Value::Object(mut fields) => {
            for key in ["id", "subject", "description", "owner", "status"] {
                if let Some(value) = fields.get_mut(key).filter(|value| !value.is_null()) {
                    *value = Value::String(value_text(value));
                }
            }
            serde_json::from_value(Value::Object(fields)).unwrap_or_default()
        }
        other => TaskFacts { id: value_text(&other), ..TaskFacts::default() },
    }
}
