//! What a module's handlers returned, and what they wanted done: the contract's rules of truth,
//! merging and failing.

use gambrel_model::{
    Ear, End, Event, EventSpec, Hook, Kind, Moment, Outcome, Ruling, Slot, Tool, Verdict,
};
use serde_json::{Value, json};

use super::events::TOOLS;
use super::payload::{truthy, worded};
use super::{Omp, is_newer};
use crate::payload::text;

/// The wrapper's words for a refusal without any.
const BLOCKED: &str = "Tool execution was blocked by a hook";
const FAILED: &str = "Hook failed, blocking execution: ";
/// Where results go that only this dialect knows.
pub const RESULT: &str = "omp.result";
/// What modules wanted done, by module.
pub const EFFECTS: &str = "omp.effects.";

/// Reads an outcome.
pub fn read(event: &Event, hook: &Hook, outcome: &Outcome) -> Verdict {
    let row = hook.row_for(event).unwrap_or(event.row);
    let answer = outcome.answer.as_ref().unwrap_or(&Value::Null);
    let effects = effects(event, hook, answer);
    let verdict = match &outcome.end {
        End::Answered => answered(&Asked { event, row, hook }, answer),
        End::Late => late(row, hook, outcome),
        End::Unstarted(why) => Verdict::default().unheard(why.clone()),
        _ => Verdict::default(),
    };
    effects.then(verdict)
}

/// A handler that does not come back is one that failed.
fn late(row: &EventSpec, hook: &Hook, outcome: &Outcome) -> Verdict {
    let late = match &outcome.cut {
        Some(_) => outcome.lateness(hook.draft.terms.timeout),
        None => format!("timed out after {}ms", outcome.took.as_millis()),
    };
    let why = match is_newer(hook) {
        true => format!("Extension {} {late}", path(hook)),
        false => format!("{FAILED}{late}"),
    };
    failed(row, &why)
}

fn path(hook: &Hook) -> String {
    text(&hook.draft.config, "path").unwrap_or_default()
}

/// 004, errors: a tool call fails closed, everything else is noted.
fn failed(row: &EventSpec, why: &str) -> Verdict {
    match row.moment {
        Moment::ToolBefore => Verdict::ruled(Ruling::Deny, why),
        _ => Verdict::default().unheard(why),
    }
}

/// Who was asked about what.
struct Asked<'a> {
    event: &'a Event,
    row: &'a EventSpec,
    hook: &'a Hook,
}

fn answered(asked: &Asked<'_>, answer: &Value) -> Verdict {
    let Asked { row, hook, .. } = *asked;
    let errors = answer["errors"].as_array().map(Vec::as_slice).unwrap_or_default();
    let mut verdict = Verdict::default();
    for error in errors {
        verdict = verdict.then(failed(row, &error_text(hook, error)));
    }
    if row.moment == Moment::ToolBefore && !errors.is_empty() {
        return verdict;
    }
    let results = answer["results"].as_array().map(Vec::as_slice).unwrap_or_default();
    verdict.then(merged(asked, results))
}

fn error_text(hook: &Hook, error: &Value) -> String {
    let message = text(error, "error").unwrap_or_default();
    match (is_newer(hook), error["thrown"] == "value") {
        (true, _) => format!("Extension {} failed: {message}", path(hook)),
        (false, true) => format!("{FAILED}{message}"),
        (false, false) => message,
    }
}

/// Of several results the last that is true counts, as a whole; but the first message stands.
fn merged(asked: &Asked<'_>, results: &[Value]) -> Verdict {
    let Asked { row, hook, .. } = *asked;
    let last = results.iter().rfind(|result| truthy(result));
    match &row.moment {
        Moment::ToolBefore => last.map(|result| call(asked, result)).unwrap_or_default(),
        Moment::ToolAfter if is_newer(hook) => merged_output(hook, results),
        Moment::ToolAfter => last.map(|result| output(hook, result)).unwrap_or_default(),
        // The original error is thrown again, whatever a handler returns.
        Moment::ToolFailed if is_newer(hook) => merged_output(hook, results),
        Moment::Context => {
            let mut chain = results.iter().rev().filter_map(|result| result.get("messages"));
            let patch = chain.find(|messages| messages.is_array()).cloned();
            patch.map(|m| Verdict::default().patching(Slot::Messages, m)).unwrap_or_default()
        }
        Moment::IterationStart => {
            let mut messages = results.iter().filter_map(|result| result.get("message"));
            let message = messages.find(|message| truthy(message)).cloned();
            // Callers of other dialects take words, not messages.
            if !asked.event.is_from(&Omp) {
                let text = message.map(|message| words(&message["content"])).unwrap_or_default();
                let said = Verdict::says(Ear::Agent, text);
                return if said.says[0].text.is_empty() { Verdict::default() } else { said };
            }
            message.map(|m| Verdict::default().patching(Slot::Message, m)).unwrap_or_default()
        }
        _ if row.kind() == Kind::Gate => last.map(gate).unwrap_or_default(),
        Moment::CompactBefore => last.map(kept).unwrap_or_default(),
        _ => Verdict::default(),
    }
}

fn call(asked: &Asked<'_>, result: &Value) -> Verdict {
    if result.get("block").is_some_and(truthy) {
        let reason = result.get("reason").filter(|reason| truthy(reason)).map(worded);
        return Verdict::ruled(Ruling::Deny, reason.unwrap_or_else(|| BLOCKED.into()));
    }
    let input = result.get("input").filter(|input| input.is_object() && is_newer(asked.hook));
    match input {
        Some(input) => {
            let tool = asked.event.facts.tool.as_ref();
            let name = tool.map(|tool| tool.to_native(TOOLS).0).unwrap_or_default();
            let tool = Tool::from_native(TOOLS, &name, input);
            Verdict::default().patching(Slot::Input, tool.args)
        }
        None => Verdict::default(),
    }
}

/// `null` clears nothing; whether it was an error only the newer edition lets a handler say.
fn output(hook: &Hook, result: &Value) -> Verdict {
    let mut patch = json!({});
    for key in ["content", "details", "isError"] {
        let may = key != "isError" || is_newer(hook);
        if let Some(value) = result.get(key).filter(|value| may && !value.is_null()) {
            patch[key] = value.clone();
        }
    }
    Verdict::default().patching(Slot::Output, patch)
}

/// The newer edition merges results field by field.
fn merged_output(hook: &Hook, results: &[Value]) -> Verdict {
    let mut all = json!({});
    for (key, value) in results.iter().filter_map(Value::as_object).flatten() {
        all[key] = value.clone();
    }
    match all.as_object().is_some_and(serde_json::Map::is_empty) {
        true => Verdict::default(),
        false => output(hook, &all),
    }
}

fn gate(result: &Value) -> Verdict {
    let verdict = kept(result);
    match result.get("cancel").is_some_and(truthy) {
        true => {
            let reason = text(result, "reason").unwrap_or_else(|| "cancelled by a hook".into());
            verdict.then(Verdict::ruled(Ruling::Deny, reason))
        }
        false => verdict,
    }
}

/// What else stands in a result is for a caller of the same dialect.
fn kept(result: &Value) -> Verdict {
    let fields = result.as_object().into_iter().flatten();
    let own: serde_json::Map<String, Value> = fields
        .filter(|(key, _)| *key != "cancel")
        .map(|(key, value)| (key.clone(), value.clone()))
        .collect();
    Verdict::default().patching(Slot::Native(RESULT.into()), Value::Object(own))
}

/// What a module wanted done: kept whole for a caller of its own kind, said in words to others.
fn effects(event: &Event, hook: &Hook, answer: &Value) -> Verdict {
    let wanted = answer["effects"].as_array().map(Vec::as_slice).unwrap_or_default();
    let errors = answer["errors"].as_array().filter(|errors| !errors.is_empty());
    if event.is_from(&Omp) {
        if wanted.is_empty() && errors.is_none() {
            return Verdict::default();
        }
        let kept = json!({"effects": wanted, "errors": errors});
        return Verdict::default().patching(Slot::Native(format!("{EFFECTS}{}", hook.id)), kept);
    }
    let mut verdict = Verdict::default();
    for effect in wanted {
        verdict = match effect["type"].as_str() {
            Some("sendMessage") => verdict.saying(Ear::Next, words(&effect["message"]["content"])),
            Some("notify") => {
                verdict.saying(Ear::Person, text(effect, "message").unwrap_or_default())
            }
            _ => verdict,
        };
    }
    verdict.says.retain(|say| !say.text.is_empty());
    verdict
}

/// A message's text, whatever its content is made of.
fn words(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(blocks) => {
            let texts = blocks.iter().filter_map(|block| block["text"].as_str());
            texts.collect::<Vec<_>>().join("\n")
        }
        _ => String::new(),
    }
}
