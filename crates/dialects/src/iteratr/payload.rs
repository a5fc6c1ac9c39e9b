//! An event as a hook's name and five variables; a command with those variables filled in.

use std::collections::BTreeMap;

use gambrel_model::complaint::nearest_word;
use gambrel_model::template::{Style, expand_shell};
use gambrel_model::{
    Call, CallerContext, Complaint, Event, Facts, Hook, Program, Shell, SourceSpan, TaskFacts,
};
use serde_json::Value;

use super::{EVENTS, Iteratr};
use crate::payload::{Heard, event_name, loose_text, object, text};

/// Where each variable has a value; nothing means everywhere.
const GIVEN: [(&str, &[&str]); 5] = [
    ("session", &[]),
    ("iteration", &["pre_iteration", "post_iteration", "on_error"]),
    ("task_id", &["on_task_complete"]),
    ("task_content", &["on_task_complete"]),
    ("error", &["on_error"]),
];

/// The variables of iteratr.
pub fn names() -> impl Iterator<Item = &'static str> {
    GIVEN.iter().map(|(name, _)| *name)
}

/// Whether a variable has a value at an event.
pub fn is_given(name: &str, event: &str) -> bool {
    let at = GIVEN.iter().find(|(known, _)| *known == name).map(|(_, at)| *at);
    at.is_some_and(|at| at.is_empty() || at.contains(&event))
}

/// Understands `{"hook":"pre_iteration","vars":{…}}`.
pub fn receive(
    dialect: &'static Iteratr,
    native: &[u8],
    arrival: CallerContext,
) -> Result<Event, Complaint> {
    let native = object(native)?;
    let name = event_name(&native, "hook", &arrival).unwrap_or_default();
    let Some(row) = EVENTS.iter().find(|row| row.name == name) else {
        return Err(unknown(&name));
    };
    let vars = match native.get("vars") {
        Some(Value::Object(vars)) => vars.iter().map(|(k, v)| (k.clone(), loose_text(v))).collect(),
        None | Some(Value::Null) => BTreeMap::new(),
        Some(_) => {
            return Err(Complaint::error(SourceSpan::default(), "`vars` should be an object"));
        }
    };
    let session = vars.get("session").cloned().unwrap_or_default();
    let cwd = text(&native, "cwd");
    let facts = facts(vars);
    Ok(Heard { row, name, session, cwd, facts, native }.into_event(dialect, arrival))
}

fn unknown(name: &str) -> Complaint {
    let names = || EVENTS.iter().map(|row| row.name);
    let list = names().collect::<Vec<_>>().join(", ");
    let complaint =
        Complaint::error(SourceSpan::default(), format!("`hook` is one of {list}, not `{name}`"));
    match nearest_word(name, names()) {
        Some(near) => complaint.with_help(format!("did you mean `{near}`?")),
        None => complaint,
    }
}

fn facts(vars: BTreeMap<String, String>) -> Facts {
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

/// A command in `sh`, in the working folder, with the caller's environment and no stdin.
pub fn stage(event: &Event, hook: &Hook) -> Call {
    let command = text(&hook.draft.config, "command").unwrap_or_default();
    let lookup = |name: &str| value(event, name, &hook.draft.event);
    let filled = expand_shell(&command, Style::Braces, &lookup);
    let terms = &hook.draft.policy;
    Call {
        program: Program::Shell { shell: Shell::Sh, text: filled.text },
        env: filled.env,
        cwd: event.project.clone(),
        limits: terms.limits(),
        ..Call::default()
    }
}

/// A variable's value: empty if the hook's event has none. An unknown variable stays as it is.
fn value(event: &Event, name: &str, own_name: &str) -> Option<String> {
    if !names().any(|known| known == name) {
        return None;
    }
    if !is_given(name, own_name) {
        return Some(String::new());
    }
    if event.is_from(&Iteratr) {
        return Some(event.facts.vars.get(name).cloned().unwrap_or_default());
    }
    let facts = &event.facts;
    let task = facts.task.as_ref();
    let foreign = match name {
        "session" => Some(event.session.clone()),
        "iteration" => facts.iteration.map(|n| n.to_string()),
        "task_id" => task.map(|task| task.id.clone()),
        "task_content" => task.map(content),
        _ => facts.error.clone(),
    };
    Some(foreign.unwrap_or_default())
}

fn content(task: &TaskFacts) -> String {
    let text = if task.description.is_empty() { &task.subject } else { &task.description };
    text.clone()
}
