//! `{"moment":"tool.before","session":"s","facts":{…}}`: the facts as they are, a few spellings
//! forgiven.

use gambrel_model::{
    CallerContext, Complaint, Event, Facts, Moment, SourceSpan, TaskFacts, Tool, ToolKind, ToolWord,
};
use serde_json::{Map, Value};

use super::Neutral;
use crate::payload::{Heard, event_name, loose_text, object, row, text};

const fn word(kind: ToolKind, shape: &'static str) -> ToolWord {
    ToolWord::new(kind, shape, shape, &[])
}

/// The vocabulary itself.
pub static TOOLS: &[ToolWord] = &[
    word(ToolKind::Shell, "shell"),
    word(ToolKind::Read, "read"),
    word(ToolKind::Write, "write"),
    word(ToolKind::Edit, "edit"),
    word(ToolKind::Search, "search"),
    word(ToolKind::Fetch, "fetch"),
    word(ToolKind::Task, "task"),
];

/// Understands a neutral event.
pub fn receive(
    dialect: &'static Neutral,
    native: &[u8],
    arrival: CallerContext,
) -> Result<Event, Complaint> {
    let native = object(native)?;
    let Some(name) = event_name(&native, "moment", &arrival) else {
        let complaint = Complaint::error(SourceSpan::default(), "`moment` is missing");
        return Err(complaint.with_help("name one, like \"moment\": \"tool.before\""));
    };
    let moment = Moment::parse(&name);
    let known = !matches!(moment, Moment::Other(_));
    let name = if known { moment.name().to_owned() } else { name };
    let row = row(dialect, &name)
        .ok_or_else(|| Complaint::error(SourceSpan::default(), format!("no moment `{name}`")))?;
    let session = native.get("session").map(loose_text).unwrap_or_default();
    let cwd = text(&native, "cwd");
    let facts = facts(native.get("facts").and_then(Value::as_object).cloned().unwrap_or_default())?;
    Ok(Heard { row, name, session, cwd, facts, native }.into_event(dialect, arrival))
}

fn facts(mut object: Map<String, Value>) -> Result<Facts, Complaint> {
    let tool = object.remove("tool").map(|tool| tool_fact(tool, &mut object));
    let task = object.remove("task").map(task_fact);
    for key in ["prompt", "stage", "member", "agent", "error", "cause", "instructions", "summary"] {
        if let Some(value) = object.get_mut(key).filter(|value| !value.is_null()) {
            *value = Value::String(loose_text(value));
        }
    }
    if let Some(vars) = object.get_mut("vars").and_then(Value::as_object_mut) {
        vars.values_mut().for_each(|value| *value = Value::String(loose_text(value)));
    }
    let facts: Facts = serde_json::from_value(Value::Object(object)).map_err(|error| {
        Complaint::error(SourceSpan::default(), format!("`facts` cannot be read: {error}"))
    })?;
    Ok(Facts { tool, task, ..facts })
}

/// `{"kind":"shell","name":"Bash","args":{…}}`; or only a word, with the arguments among the facts.
fn tool_fact(tool: Value, beside: &mut Map<String, Value>) -> Tool {
    let Value::Object(mut fields) = tool else {
        let word = loose_text(&tool);
        return named(&word, "", Value::Object(std::mem::take(beside)));
    };
    let args = ["args", "input", "arguments"].iter().find_map(|key| fields.remove(*key));
    let word = |key: &str| fields.get(key).map(loose_text).unwrap_or_default();
    let (kind, name, id) = (word("kind"), word("name"), fields.get("id").map(loose_text));
    let result = fields.remove("result").and_then(|result| serde_json::from_value(result).ok());
    let flat = || Value::Object(fields.iter().filter(|(k, _)| !own(k)).map(pair).collect());
    Tool { id, result, ..named(&kind, &name, args.unwrap_or_else(flat)) }
}

fn own(key: &str) -> bool {
    matches!(key, "kind" | "name" | "id" | "shape")
}

fn pair((key, value): (&String, &Value)) -> (String, Value) {
    (key.clone(), value.clone())
}

fn named(kind: &str, name: &str, args: Value) -> Tool {
    let word = if kind.is_empty() { name } else { kind };
    let known = ToolKind::parse(kind).or_else(|| ToolKind::parse(name)).unwrap_or_default();
    let name = if name.is_empty() { word } else { name };
    if known == ToolKind::Mcp || name.starts_with("mcp__") {
        return mcp(name, args);
    }
    Tool { kind: known, name: name.to_owned(), args, ..Tool::default() }
}

/// `{server, tool, arguments}` is what every dialect calls `mcp__server__tool` with arguments.
fn mcp(name: &str, mut args: Value) -> Tool {
    let (server, tool) = (text(&args, "server"), text(&args, "tool"));
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
                    *value = Value::String(loose_text(value));
                }
            }
            serde_json::from_value(Value::Object(fields)).unwrap_or_default()
        }
        other => TaskFacts { id: loose_text(&other), ..TaskFacts::default() },
    }
}
