//! The variables of agent-pipelines and of gambrel: their values in commands, environments and
//! conditions.

use gambrel_model::condition::Fact;
use gambrel_model::description::value_text;
use gambrel_model::text::truncate_bytes;
use gambrel_model::{Carry, Event, Moment, iso_time};
use serde_json::Value;

use super::{NAME, UNIFIED};

/// The variable that is set in `on_error` only.
pub const ERROR: &str = "ERROR";

/// The variables of agent-pipelines (`contracts/unified/CONTRACT.md#variables`).
const PIPELINE_VARIABLES: [&str; 17] = [
    "SESSION",
    "STAGE",
    "NEXT_STAGE",
    "ITERATION",
    "MAX_ITERATIONS",
    "PROGRESS",
    "STATUS",
    "CTX",
    "LAST_DECISION",
    "LAST_HOOK_STATUS",
    "CHANGED_FILES",
    "STAGE_OUTPUTS",
    ERROR,
    "TIMESTAMP",
    "CALLBACK_URL",
    "HOOK_RESPONSE",
    "SPAWN_OUTPUT",
];

/// Variables that gambrel adds if the event has a value for them.
const GAMBREL_VARIABLES: [&str; 8] = [
    "TOOL_NAME",
    "TOOL_KIND",
    "TOOL_COMMAND",
    "TOOL_PATH",
    "PROMPT",
    "TASK_ID",
    "TASK_SUBJECT",
    "MEMBER",
];

/// Linux takes at most 128 KiB in one environment string; this leaves room for the name.
const MAX_ENV_BYTES: usize = 120 * 1024;

/// The names of all variables.
pub fn known_names() -> impl Iterator<Item = &'static str> {
    PIPELINE_VARIABLES.into_iter().chain(GAMBREL_VARIABLES)
}

/// Whether a name is a variable.
pub fn is_known(name: &str) -> bool {
    known_names().any(|known| known == name)
}

/// The value of a variable in a command; `None` leaves the name to the shell.
pub fn variable_value(event: &Event, carry: &Carry, name: &str) -> Option<String> {
    match PIPELINE_VARIABLES.contains(&name) {
        true if name == ERROR && event.moment != Moment::Error => None,
        true => Some(pipeline_value(event, carry, name).unwrap_or_default()),
        false => gambrel_value(event, name).or_else(|| event.facts.vars.get(name).cloned()),
    }
}

/// The value of a variable in a condition. A fact that a foreign caller does not have is absent,
/// not empty.
pub fn condition_fact(event: &Event, carry: &Carry, name: &str) -> Fact {
    let is = |text: String| if text.is_empty() { Fact::Unset } else { Fact::Is(text) };
    let elsewhere = name == ERROR && event.moment != Moment::Error;
    if PIPELINE_VARIABLES.contains(&name) && !elsewhere {
        return match pipeline_value(event, carry, name) {
            Some(text) => is(text),
            None if event.is_from(&UNIFIED) => Fact::Unset,
            None => Fact::Absent,
        };
    }
    match variable_value(event, carry, name) {
        Some(text) => is(text),
        None if is_known(name) => Fact::Unset,
        None => event.context.env.get(name).map_or(Fact::Unset, |text| is(text.clone())),
    }
}

/// A variable of agent-pipelines; `None` if the caller has no such fact.
fn pipeline_value(event: &Event, carry: &Carry, name: &str) -> Option<String> {
    let last = carry.previous_of(NAME);
    let given = || event.facts.vars.get(name).cloned();
    match name {
        "TIMESTAMP" => Some(iso_time(event.at, false)),
        "LAST_HOOK_STATUS" => Some(status_text(last.ok).to_owned()),
        "HOOK_RESPONSE" => Some(last.answer),
        "SPAWN_OUTPUT" => Some(last.output),
        // The webhook action creates it when it sends a request.
        "CALLBACK_URL" => Some(String::new()),
        "SESSION" => Some(given().unwrap_or_else(|| event.session.clone())),
        _ if event.is_from(&UNIFIED) => given(),
        "ITERATION" => given().or_else(|| event.facts.iteration.map(|n| n.to_string())),
        "STAGE" => given().or_else(|| event.facts.stage.clone()),
        ERROR => given().or_else(|| event.facts.error.clone()),
        _ => given(),
    }
}

/// The status of the previous action, as agent-pipelines writes it.
pub fn status_text(ok: Option<bool>) -> &'static str {
    match ok {
        Some(true) => "success",
        Some(false) => "failed",
        None => "",
    }
}

fn gambrel_value(event: &Event, name: &str) -> Option<String> {
    let facts = &event.facts;
    let tool = facts.tool.as_ref();
    let task = facts.task.as_ref();
    let argument = |key: &str| tool?.args.get(key)?.as_str().map(str::to_owned);
    match name {
        "TOOL_NAME" => {
            tool.map(|tool| native_tool_name(event).unwrap_or_else(|| tool.name.clone()))
        }
        "TOOL_KIND" => {
            tool.and_then(|tool| serde_json::to_value(tool.kind).ok()).as_ref().map(value_text)
        }
        "TOOL_COMMAND" => argument("command"),
        "TOOL_PATH" => argument("path"),
        "PROMPT" => facts.prompt.clone(),
        "TASK_ID" => task.map(|task| task.id.clone()),
        "TASK_SUBJECT" => task.map(|task| task.subject.clone()),
        "MEMBER" => facts.member.clone(),
        _ => None,
    }
}

/// The tool's own name, which a caller of this dialect may send in addition to the kind.
fn native_tool_name(event: &Event) -> Option<String> {
    let own = event.is_from(&UNIFIED);
    own.then(|| event.native.get("tool")?.get("name").and_then(Value::as_str))?.map(str::to_owned)
}

/// The environment of a command: the variables of agent-pipelines, of gambrel, and of the caller.
pub fn command_env(event: &Event, carry: &Carry) -> Vec<(String, String)> {
    let known = known_names()
        .filter_map(|name| Some((name.to_owned(), variable_value(event, carry, name)?)));
    let named = event.facts.vars.iter().filter(|(name, _)| is_free(event, name));
    let named = named.map(|(name, value)| (name.clone(), value.clone()));
    known
        .chain(named)
        .map(|(name, value)| (limit_value(&name, value), name))
        .map(|(v, n)| (n, v))
        .collect()
}

/// Whether a name can be set without replacing a variable of the process, such as PATH.
fn is_free(event: &Event, name: &str) -> bool {
    let shaped = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let sound = name.chars().all(shaped) && name.starts_with(|c: char| !c.is_ascii_digit());
    sound && !is_known(name) && !event.context.env.contains_key(name)
}

/// Cuts a value that is too long for the kernel. Values about a tool are never cut, because a gate
/// must see the whole command.
fn limit_value(name: &str, value: String) -> String {
    let value = value.replace('\0', "");
    if name.starts_with("TOOL_") {
        return value;
    }
    truncate_bytes(&value, MAX_ENV_BYTES, "…")
}
