//! The variables of agent-pipelines and those that gambrel adds: their values in a command, its
//! environment and a condition.

use gambrel_model::condition::Fact;
use gambrel_model::{Carry, Event, Moment};
use serde_json::Value;

use super::{NAME, Unified};
use crate::payload::{iso_time, loose_text};

/// Set in `on_error` only.
pub const ERROR: &str = "ERROR";

/// The variables of agent-pipelines (`contracts/unified/CONTRACT.md#variables`).
const CONTRACT: [&str; 17] = [
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

/// Variables that gambrel adds where the event has them.
const OURS: [&str; 8] = [
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
const ENV_STRING: usize = 120 * 1024;

/// Every name that has a meaning here.
pub fn names() -> impl Iterator<Item = &'static str> {
    CONTRACT.into_iter().chain(OURS)
}

/// Whether a name has a meaning here.
pub fn is_known(name: &str) -> bool {
    names().any(|known| known == name)
}

/// What a command sees under a name; `None` leaves the name to the shell.
pub fn value(event: &Event, carry: &Carry, name: &str) -> Option<String> {
    match CONTRACT.contains(&name) {
        true if name == ERROR && event.moment != Moment::Error => None,
        true => Some(contract(event, carry, name).unwrap_or_default()),
        false => ours(event, name).or_else(|| event.facts.vars.get(name).cloned()),
    }
}

/// What a condition sees under a name. Of a foreign caller's missing facts it is told that they
/// are missing, not that they are empty.
pub fn fact(event: &Event, carry: &Carry, name: &str) -> Fact {
    let is = |text: String| if text.is_empty() { Fact::Unset } else { Fact::Is(text) };
    let elsewhere = name == ERROR && event.moment != Moment::Error;
    if CONTRACT.contains(&name) && !elsewhere {
        return match contract(event, carry, name) {
            Some(text) => is(text),
            None if event.is_from(&Unified) => Fact::Unset,
            None => Fact::Absent,
        };
    }
    match value(event, carry, name) {
        Some(text) => is(text),
        None if is_known(name) => Fact::Unset,
        None => event.env.get(name).map_or(Fact::Unset, |text| is(text.clone())),
    }
}

/// A variable of agent-pipelines; `None` if the caller has no such fact.
fn contract(event: &Event, carry: &Carry, name: &str) -> Option<String> {
    let last = carry.previous_of(NAME);
    let told = || event.facts.vars.get(name).cloned();
    match name {
        "TIMESTAMP" => Some(iso_time(event.at, false)),
        "LAST_HOOK_STATUS" => Some(status(last.ok).to_owned()),
        "HOOK_RESPONSE" => Some(last.answer),
        "SPAWN_OUTPUT" => Some(last.output),
        // Made for a webhook, when one is sent.
        "CALLBACK_URL" => Some(String::new()),
        "SESSION" => Some(told().unwrap_or_else(|| event.session.clone())),
        _ if event.is_from(&Unified) => told(),
        "ITERATION" => told().or_else(|| event.facts.iteration.map(|n| n.to_string())),
        "STAGE" => told().or_else(|| event.facts.stage.clone()),
        ERROR => told().or_else(|| event.facts.error.clone()),
        _ => told(),
    }
}

/// The status of the previous action, as agent-pipelines writes it.
pub fn status(ok: Option<bool>) -> &'static str {
    match ok {
        Some(true) => "success",
        Some(false) => "failed",
        None => "",
    }
}

fn ours(event: &Event, name: &str) -> Option<String> {
    let facts = &event.facts;
    let tool = facts.tool.as_ref();
    let task = facts.task.as_ref();
    let argument = |key: &str| tool?.args.get(key)?.as_str().map(str::to_owned);
    match name {
        "TOOL_NAME" => tool.map(|tool| native_name(event).unwrap_or_else(|| tool.name.clone())),
        "TOOL_KIND" => {
            tool.and_then(|tool| serde_json::to_value(tool.kind).ok()).as_ref().map(loose_text)
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

/// A caller of ours may name its tool by its own word beside the kind.
fn native_name(event: &Event) -> Option<String> {
    let own = event.is_from(&Unified);
    own.then(|| event.native.get("tool")?.get("name").and_then(Value::as_str))?.map(str::to_owned)
}

/// A command's variables: those of agent-pipelines, gambrel's, and others that the caller sent.
pub fn environment(event: &Event, carry: &Carry) -> Vec<(String, String)> {
    let known = names().filter_map(|name| Some((name.to_owned(), value(event, carry, name)?)));
    let named = event.facts.vars.iter().filter(|(name, _)| is_free(event, name));
    let named = named.map(|(name, value)| (name.clone(), value.clone()));
    known
        .chain(named)
        .map(|(name, value)| (bounded(&name, value), name))
        .map(|(v, n)| (n, v))
        .collect()
}

/// A name that can be set without hiding what the process has under it, like PATH.
fn is_free(event: &Event, name: &str) -> bool {
    let shaped = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let sound = name.chars().all(shaped) && name.starts_with(|c: char| !c.is_ascii_digit());
    sound && !is_known(name) && !event.env.contains_key(name)
}

/// A value that the kernel would refuse is cut, with a mark. What a tool is about to do is never
/// cut: a guard that sees half of it would let the other half pass.
fn bounded(name: &str, value: String) -> String {
    let value = value.replace('\0', "");
    if value.len() <= ENV_STRING || name.starts_with("TOOL_") {
        return value;
    }
    let mut end = ENV_STRING;
    while !value.is_char_boundary(end) {
        end -= 1;
    }
    format!("{}…", &value[..end])
}
