//! Parses an event (a hook's name and five variables), and builds the call of a command with these
//! variables.

use std::collections::BTreeMap;

use gambrel_model::complaint::nearest_word;
use gambrel_model::description::value_text;
use gambrel_model::template::{Style, expand_shell};
use gambrel_model::{
    Call, CallerContext, Complaint, Event, Facts, Hook, ParsedEvent, Program, Shell, TaskFacts,
};
use serde_json::{Map, Value, json};

use super::{EVENTS, ITERATR};
use crate::event_parts::{event_error, event_name, parse_object, text_field};

/// The events at which each variable has a value; an empty list means all events.
const VARIABLE_EVENTS: [(&str, &[&str]); 5] = [
    ("session", &[]),
    ("iteration", &["pre_iteration", "post_iteration", "on_error"]),
    ("task_id", &["on_task_complete"]),
    ("task_content", &["on_task_complete"]),
    ("error", &["on_error"]),
];

/// The names of iteratr's variables.
pub fn known_variables() -> impl Iterator<Item = &'static str> {
    VARIABLE_EVENTS.iter().map(|(name, _)| *name)
}

/// Whether a variable has a value at an event.
pub fn has_value(name: &str, event: &str) -> bool {
    let at = VARIABLE_EVENTS.iter().find(|(known, _)| *known == name).map(|(_, at)| *at);
    at.is_some_and(|at| at.is_empty() || at.contains(&event))
}

/// Parses `{"hook":"pre_iteration","vars":{…}}`.
pub fn parse_event(native: &[u8], context: &CallerContext) -> Result<ParsedEvent, Complaint> {
    let native = parse_object(native)?;
    let name = event_name(&native, "hook", context).unwrap_or_default();
    let Some(row) = EVENTS.iter().find(|row| row.name == name) else {
        return Err(unknown_hook(&name));
    };
    let vars = match native.get("vars") {
        Some(Value::Object(vars)) => vars.iter().map(|(k, v)| (k.clone(), value_text(v))).collect(),
        None | Some(Value::Null) => BTreeMap::new(),
        Some(_) => {
            return Err(event_error("`vars` should be an object"));
        }
    };
    let session = vars.get("session").cloned().unwrap_or_default();
    let cwd = text_field(&native, "cwd");
    let facts = parse_facts(vars);
    Ok(ParsedEvent { session, cwd, facts, ..ParsedEvent::new(&ITERATR, row, name, native) })
}

fn unknown_hook(name: &str) -> Complaint {
    let names = || EVENTS.iter().map(|row| row.name);
    let list = names().collect::<Vec<_>>().join(", ");
    let complaint = event_error(format!("`hook` is one of {list}, not `{name}`"));
    match nearest_word(name, names()) {
        Some(near) => complaint.with_help(format!("did you mean `{near}`?")),
        None => complaint,
    }
}

fn parse_facts(vars: BTreeMap<String, String>) -> Facts {
    let filled = |name: &str| vars.get(name).filter(|value| !value.is_empty()).cloned();
    let content = filled("task_content").unwrap_or_default();
    let id = filled("task_id").unwrap_or_default();
    let task = (!id.is_empty() || !content.is_empty()).then(|| TaskFacts {
        id,
        subject: content.lines().next().unwrap_or_default().to_owned(),
        description: content,
        status: "completed".into(),
        ..TaskFacts::default()
    });
    Facts {
        iteration: filled("iteration").and_then(|text| text.trim().parse().ok()),
        error: filled("error"),
        task,
        vars,
        ..Facts::default()
    }
}

/// A sample of an event, with the facts of a neutral event.
pub fn sample_event(event: &Event, name: &str) -> Value {
    let value = |variable: &str| variable_value(event, variable, name).unwrap_or_default();
    let vars: Map<String, Value> =
        known_variables().map(|variable| (variable.to_owned(), json!(value(variable)))).collect();
    json!({"hook": name, "vars": vars, "cwd": event.cwd.display().to_string()})
}

/// Builds the call: `sh` in the project's folder, with the caller's environment and no stdin.
pub fn stage_call(event: &Event, hook: &Hook) -> Call {
    let command = text_field(&hook.draft.config, "command").unwrap_or_default();
    let lookup = |name: &str| variable_value(event, name, &hook.draft.event);
    let filled = expand_shell(&command, Style::Braces, &lookup);
    let policy = &hook.draft.policy;
    Call {
        program: Program::Shell { shell: Shell::Sh, text: filled.text },
        env: filled.env,
        cwd: event.project.clone(),
        limits: policy.limits.clone(),
        ..Call::default()
    }
}

/// The value of a variable; empty if the hook's event has none, `None` for an unknown variable.
fn variable_value(event: &Event, name: &str, own_name: &str) -> Option<String> {
    if !known_variables().any(|known| known == name) {
        return None;
    }
    if !has_value(name, own_name) {
        return Some(String::new());
    }
    if event.is_from(&ITERATR) {
        return Some(event.facts.vars.get(name).cloned().unwrap_or_default());
    }
    let facts = &event.facts;
    let task = facts.task.as_ref();
    let foreign = match name {
        "session" => Some(event.session.clone()),
        "iteration" => facts.iteration.map(|n| n.to_string()),
        "task_id" => task.map(|task| task.id.clone()),
        "task_content" => task.map(task_text),
        _ => facts.error.clone(),
    };
    Some(foreign.unwrap_or_default())
}

/// The subject, followed by the description. A description that begins with the subject is the
/// whole text.
fn task_text(task: &TaskFacts) -> String {
    let TaskFacts { subject, description, .. } = task;
    match description.starts_with(subject.as_str()) {
        true => description.clone(),
        false if description.is_empty() => subject.clone(),
        false => format!("{subject}\n{description}"),
    }
}
