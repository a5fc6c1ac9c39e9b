//! What the results of a module's handlers mean, by the rule of the event and by edition: which of
//! them counts, what it rules, what it rewrites.

use gambrel_model::tool::text_block;
use gambrel_model::{Audience, Event, EventSpec, Hook, Moment, Patch, Ruling, Slot, Tool, Verdict};
use serde_json::{Map, Value, json};

use super::Omp;
use super::edition::is_newer;
use super::effects::words;
use super::events::{Rule, TOOLS, rule};
use super::payload::{truthy, worded};
use super::verdict::{DETAILS, IS_ERROR, RESULT, SYSTEM, path};
use crate::payload::text;

/// The wrappers' words for a refusal without any.
const BLOCKED: [&str; 2] =
    ["Tool execution was blocked by a hook", "Tool execution was blocked by an extension"];
const NOT_YET: &str = "an extension does not let the session stop";
const CONTENT: &str = "content";
/// What results may say of a tool's result, and where it goes if only this dialect knows it.
const OUTPUT: &[(&str, Option<&str>)] =
    &[(CONTENT, None), ("details", Some(DETAILS)), ("isError", Some(IS_ERROR))];

/// What rewrites make of a tool's result, in the words of this dialect.
pub fn rewritten_output(patch: &Patch) -> impl Iterator<Item = (&'static str, &Value)> {
    OUTPUT.iter().filter_map(|(key, own)| {
        let value = match own {
            Some(own) => patch.get(&Slot::Native((*own).into()))?,
            None => patch.get(&Slot::Output)?.get(*key)?,
        };
        Some((*key, value))
    })
}

/// Who was asked about what.
#[derive(Clone, Copy)]
pub struct Asked<'a> {
    /// The event.
    pub event: &'a Event,
    /// The row under which the module heard it.
    pub row: &'a EventSpec,
    /// The module.
    pub hook: &'a Hook,
}

/// Why a module is not asked any more: an earlier one has given the answer that ends the asking.
pub fn objection(event: &Event, hook: &Hook) -> Option<String> {
    // For callers of other dialects more happens here than what was answered.
    let own = event.is_from(&Omp);
    let stands = event.patched.get(&Slot::Native(RESULT.into())).filter(|_| own)?;
    match rule(hook.event_spec_for(event)?) {
        Rule::First => Some("answered already".into()),
        Rule::Stop if stands["decision"] == "block" => Some("blocked already".into()),
        _ => None,
    }
}

/// What the handlers of one module said together.
pub fn merged(asked: &Asked<'_>, answer: &Value) -> Verdict {
    let results = answer["results"].as_array().map(Vec::as_slice).unwrap_or_default();
    let newer = is_newer(asked.hook);
    let last = || results.iter().rfind(|result| truthy(result));
    match rule(asked.row) {
        Rule::Call => last().map(|result| call(asked, result)).unwrap_or_default(),
        Rule::Result if newer => merged_output(asked, answer, results),
        // The product throws the original error again, whatever a handler returns. What another
        // caller cannot take is its own matter, and is told.
        Rule::Result if asked.event.moment == Moment::ToolFailed && asked.event.is_from(&Omp) => {
            Verdict::default()
        }
        Rule::Result => output(asked, answer, last()),
        Rule::Context => context(answer, results),
        Rule::Input => input(asked, results),
        Rule::Start if newer => started(asked, results),
        Rule::Start => first_message(asked, results),
        Rule::Stop => stop(asked, results),
        Rule::First | Rule::Last => last().map(kept).unwrap_or_default(),
        Rule::Cancel => last().map(gate).unwrap_or_default(),
        Rule::Farewell | Rule::Observe => Verdict::default(),
    }
}

fn call(asked: &Asked<'_>, result: &Value) -> Verdict {
    let newer = is_newer(asked.hook);
    if result.get("block").is_some_and(truthy) {
        let reason = result.get("reason").filter(|reason| truthy(reason)).map(worded);
        let reason = reason.unwrap_or_else(|| BLOCKED[usize::from(newer)].into());
        return Verdict::with_ruling(Ruling::Deny, reason);
    }
    match result.get("input").filter(|input| truthy(input)) {
        Some(input) => other_input(asked, input),
        None => Verdict::default(),
    }
}

/// What the tool is to run with instead. Whether its caller can take that is the caller's matter:
/// one that cannot is told a block.
fn other_input(asked: &Asked<'_>, input: &Value) -> Verdict {
    if !input.is_object() {
        let said = input.to_string().chars().take(500).collect::<String>();
        return Verdict::with_ruling(
            Ruling::Deny,
            format!("a hook wants input that is no object: {said}"),
        );
    }
    let stands = asked.event.facts.tool.as_ref();
    let name = stands.map(|tool| tool.to_native(TOOLS).0).unwrap_or_default();
    let tool = Tool::from_native(TOOLS, &name, input);
    let same = stands.is_some_and(|stands| stands.args == tool.args);
    match same && !is_newer(asked.hook) {
        true => Verdict::default(),
        false => Verdict::default().with_rewrite(Slot::Input, tool.args),
    }
}

/// The last result as a whole, over what handlers have changed in place. What it says nothing of
/// is again as it was before the modules were asked; `null` clears nothing, and whether it was an
/// error is not for a handler to say.
fn output(asked: &Asked<'_>, answer: &Value, last: Option<&Value>) -> Verdict {
    let said = |key: &str| {
        let said = [last.and_then(|last| last.get(key)), answer["event"].get(key)];
        said.into_iter().flatten().find(|value| !value.is_null()).cloned()
    };
    let (content, details) = (said(CONTENT), said("details"));
    if last.is_none() && content.is_none() && details.is_none() {
        return Verdict::default();
    }
    let before = || asked.event.patched.get(&Slot::Output).cloned().unwrap_or_default();
    let content = content.and_then(|content| rewrite(asked, content)).unwrap_or_else(before);
    Verdict::default()
        .with_rewrite(Slot::Output, content)
        .with_rewrite(Slot::Native(DETAILS.into()), details.unwrap_or_default())
}

/// The newer edition merges results field by field; `null` brings back what the tool itself said.
/// The event has the end of it, with what was changed in place; the words of an error are changed
/// only with a result.
fn merged_output(asked: &Asked<'_>, answer: &Value, results: &[Value]) -> Verdict {
    let mut fields = Map::new();
    let own = |(key, _): &(&String, &Value)| OUTPUT.iter().any(|(name, _)| name == key);
    let said = results.iter().filter_map(Value::as_object).flatten().filter(own);
    fields.extend(said.map(|(key, value)| (key.clone(), value.clone())));
    if asked.event.moment != Moment::ToolFailed || !fields.is_empty() {
        let held = answer["event"].as_object().into_iter().flatten().filter(own);
        let held = held.filter(|(key, value)| !value.is_null() && *key != "isError");
        fields.extend(held.map(|(key, value)| (key.clone(), value.clone())));
    }
    let mut verdict = Verdict::default();
    for (key, slot) in OUTPUT {
        let Some(value) = fields.remove(*key) else { continue };
        let first = || asked.event.native.get(*key).filter(|_| asked.event.is_from(&Omp)).cloned();
        let value = if value.is_null() { first().unwrap_or_default() } else { value };
        verdict = match slot {
            Some(slot) => verdict.with_rewrite(Slot::Native((*slot).into()), value),
            None => match rewrite(asked, value) {
                Some(rewrite) => verdict.with_rewrite(Slot::Output, rewrite),
                None => verdict,
            },
        };
    }
    verdict
}

/// Another content. Whoever speaks this dialect is told it as it is; for others it must be blocks,
/// or a text that makes one.
fn rewrite(asked: &Asked<'_>, content: Value) -> Option<Value> {
    let content = match content {
        content if content.is_array() || asked.event.is_from(&Omp) => content,
        Value::String(text) => json!([text_block(&text)]),
        _ => return None,
    };
    Some(json!({CONTENT: content}))
}

/// The chain's end: what the event holds, where handlers may change it, else the last that was
/// returned.
fn context(answer: &Value, results: &[Value]) -> Verdict {
    let returned = results.iter().rev().filter_map(|result| result.get("messages"));
    let mut held = answer["event"].get("messages").into_iter().chain(returned);
    let patch = held.find(|messages| messages.is_array()).cloned();
    patch.map(|m| Verdict::default().with_rewrite(Slot::ChatMessages, m)).unwrap_or_default()
}

/// What was typed, as handlers have changed it; or it was handled and goes no further.
fn input(asked: &Asked<'_>, results: &[Value]) -> Verdict {
    let handles = |result: &&Value| result.get("handled").is_some_and(truthy);
    if let Some(handled) = results.iter().find(handles) {
        let reason = format!("Extension {} handled the input", path(asked.hook));
        return kept(handled).then(Verdict::with_ruling(Ruling::Deny, reason));
    }
    // From what earlier modules made of it.
    let stands = asked.event.patched.get(&Slot::Prompt).and_then(Value::as_object);
    let before = stands.cloned().unwrap_or_default();
    let mut patch = before.clone();
    for (key, value) in results.iter().filter_map(Value::as_object).flatten() {
        if ["text", "images"].contains(&key.as_str()) {
            patch.insert(key.clone(), value.clone());
        }
    }
    if patch == before {
        return Verdict::default();
    }
    let patch = Value::Object(patch);
    let reading =
        text(&patch, "text").filter(|text| asked.event.facts.prompt.as_ref() != Some(text));
    let verdict = Verdict::default().with_rewrite(Slot::Prompt, patch);
    match reading {
        // Callers of other dialects send what was typed; their agent is told how to read it.
        Some(text) if !asked.event.is_from(&Omp) => {
            verdict.with_message(Audience::AgentNow, format!("A hook reads the prompt as: {text}"))
        }
        _ => verdict,
    }
}

/// The first message stands.
fn first_message(asked: &Asked<'_>, results: &[Value]) -> Verdict {
    let Some(message) = messages(results).next() else { return Verdict::default() };
    match asked.event.is_from(&Omp) {
        true => Verdict::default().with_rewrite(Slot::InjectedMessage, message.clone()),
        false => told([words(&message["content"])]),
    }
}

/// All messages count, and the system prompt goes from handler to handler.
fn started(asked: &Asked<'_>, results: &[Value]) -> Verdict {
    let slot = Slot::Native(SYSTEM.into());
    let mut prompts = results.iter().filter_map(|result| result.get("systemPrompt"));
    let prompt = prompts.next_back().cloned().map(listed);
    if !asked.event.is_from(&Omp) {
        // Others take words: of the system prompt those that were not there before.
        let before = asked.event.patched.get(&slot).cloned().unwrap_or_default();
        let before = before.as_array().cloned().unwrap_or_default();
        let parts = prompt.iter().flat_map(|p| p.as_array().into_iter().flatten());
        let added = parts.filter(|part| !before.contains(part));
        let added: Vec<String> = added.filter_map(Value::as_str).map(str::to_owned).collect();
        let said = told(messages(results).map(|m| words(&m["content"])).chain(added));
        return prompt
            .into_iter()
            .fold(said, |said, prompt| said.with_rewrite(slot.clone(), prompt));
    }
    let mut all =
        asked.event.patched.get(&Slot::InjectedMessage).cloned().map(listed).unwrap_or(json!([]));
    let mut verdict = Verdict::default();
    if let Some(all) = all.as_array_mut() {
        let before = all.len();
        all.extend(messages(results).cloned());
        if all.len() > before {
            verdict = verdict.with_rewrite(Slot::InjectedMessage, json!(all));
        }
    }
    prompt.into_iter().fold(verdict, |verdict, prompt| verdict.with_rewrite(slot.clone(), prompt))
}

fn messages(results: &[Value]) -> impl Iterator<Item = &Value> {
    results.iter().filter_map(|result| result.get("message")).filter(|message| truthy(message))
}

fn listed(value: Value) -> Value {
    if value.is_array() { value } else { json!([value]) }
}

fn told(texts: impl IntoIterator<Item = String>) -> Verdict {
    let texts = texts.into_iter().filter(|text| !text.is_empty());
    texts.fold(Verdict::default(), |verdict, text| verdict.with_message(Audience::AgentNow, text))
}

/// A block, else the first wish to go on that says with what. A wish of an earlier module stands.
fn stop(asked: &Asked<'_>, results: &[Value]) -> Verdict {
    let said = |result: &Value, key| text(result, key).filter(|text| !text.is_empty());
    if let Some(block) = results.iter().find(|result| result["decision"] == "block") {
        let reason = said(block, "reason").or_else(|| said(block, "additionalContext"));
        let reason = reason.unwrap_or_else(|| NOT_YET.into());
        return kept(block).then(Verdict::with_ruling(Ruling::Deny, reason));
    }
    if asked.event.patched.contains_key(&Slot::Native(RESULT.into())) {
        return Verdict::default();
    }
    let wish = |result: &Value| {
        let with = said(result, "additionalContext").or_else(|| said(result, "reason"))?;
        (result["continue"] == true)
            .then(|| kept(result).then(Verdict::with_ruling(Ruling::Deny, with)))
    };
    results.iter().find_map(wish).unwrap_or_default()
}

fn gate(result: &Value) -> Verdict {
    let verdict = kept(result);
    match result.get("cancel").is_some_and(truthy) {
        true => {
            let reason = text(result, "reason").unwrap_or_else(|| "cancelled by a hook".into());
            verdict.then(Verdict::with_ruling(Ruling::Deny, reason))
        }
        false => verdict,
    }
}

/// What else stands in a result is for a caller of the same dialect.
fn kept(result: &Value) -> Verdict {
    let own = result.as_object().cloned().unwrap_or_default();
    Verdict::default().with_rewrite(Slot::Native(RESULT.into()), Value::Object(own))
}
