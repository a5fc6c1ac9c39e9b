//! Interprets the results of a module's handlers, by the rule of the event and by edition: which
//! result counts, its ruling, and its rewrites.

use gambrel_model::text::{MAX_SHOWN_INPUT_CHARS, truncate_chars};
use gambrel_model::tool::text_block;
use gambrel_model::{Audience, Event, EventSpec, Hook, Moment, Patch, Ruling, Slot, Tool, Verdict};
use serde_json::{Map, Value, json};

use super::OMP;
use super::edition::is_extensions;
use super::effects::message_text;
use super::events::{ResultRule, TOOLS, result_rule};
use super::payload::{is_truthy, to_js_string};
use super::verdict::{DETAILS_SLOT, IS_ERROR_SLOT, RESULT_SLOT, SYSTEM_PROMPT_SLOT, module_path};
use crate::event_parts::text_field;

/// The reasons of a refusal without a reason, by edition.
const DEFAULT_REASONS: [&str; 2] =
    ["Tool execution was blocked by a hook", "Tool execution was blocked by an extension"];
const STOP_REFUSED: &str = "an extension does not let the session stop";
const CONTENT: &str = "content";
/// Fields of a tool's result, and the slots of those that only this dialect has.
const OUTPUT_FIELDS: &[(&str, Option<&str>)] =
    &[(CONTENT, None), ("details", Some(DETAILS_SLOT)), ("isError", Some(IS_ERROR_SLOT))];

/// The rewritten fields of a tool's result, in this dialect's names.
pub fn rewritten_output(patch: &Patch) -> impl Iterator<Item = (&'static str, &Value)> {
    OUTPUT_FIELDS.iter().filter_map(|(key, own)| {
        let value = match own {
            Some(own) => patch.get(&Slot::Native((*own).into()))?,
            None => patch.get(&Slot::Output)?.get(*key)?,
        };
        Some((*key, value))
    })
}

/// The module and the event that a result belongs to.
#[derive(Clone, Copy)]
pub struct ResultContext<'a> {
    /// The event.
    pub event: &'a Event,
    /// The row under which the module received it.
    pub row: &'a EventSpec,
    /// The module.
    pub hook: &'a Hook,
}

/// Why a module does not run: an earlier module gave the final answer.
pub fn skip_reason(event: &Event, hook: &Hook) -> Option<String> {
    // A caller of another dialect fires several events at once, and the answer is to only one.
    let own = event.is_from(&OMP);
    let stands = event.patched.get(&Slot::Native(RESULT_SLOT.into())).filter(|_| own)?;
    match result_rule(hook.event_spec_for(event)?) {
        ResultRule::First => Some("answered already".into()),
        ResultRule::Stop if stands["decision"] == "block" => Some("blocked already".into()),
        _ => None,
    }
}

/// The verdict of all results of one module.
pub fn merge_results(context: &ResultContext<'_>, answer: &Value) -> Verdict {
    let results = answer["results"].as_array().map(Vec::as_slice).unwrap_or_default();
    let newer = is_extensions(context.hook);
    let last = || results.iter().rfind(|result| is_truthy(result));
    match result_rule(context.row) {
        ResultRule::Call => last().map(|result| call_verdict(context, result)).unwrap_or_default(),
        ResultRule::Result if newer => extensions_output_verdict(context, answer, results),
        // oh-my-pi throws the original error again and ignores results. For other callers, the
        // engine drops what they cannot accept and records the loss.
        ResultRule::Result
            if context.event.moment == Moment::ToolFailed && context.event.is_from(&OMP) =>
        {
            Verdict::default()
        }
        ResultRule::Result => output_verdict(context, answer, last()),
        ResultRule::Context => context_verdict(answer, results),
        ResultRule::Input => typed_input_verdict(context, results),
        ResultRule::Start if newer => start_verdict(context, results),
        ResultRule::Start => first_message_verdict(context, results),
        ResultRule::Stop => stop_verdict(context, results),
        ResultRule::First | ResultRule::Last => last().map(keep_result).unwrap_or_default(),
        ResultRule::Cancel => last().map(cancel_verdict).unwrap_or_default(),
        ResultRule::Shutdown | ResultRule::Observe => Verdict::default(),
    }
}

fn call_verdict(context: &ResultContext<'_>, result: &Value) -> Verdict {
    let newer = is_extensions(context.hook);
    if result.get("block").is_some_and(is_truthy) {
        let reason = result.get("reason").filter(|reason| is_truthy(reason)).map(to_js_string);
        let reason = reason.unwrap_or_else(|| DEFAULT_REASONS[usize::from(newer)].into());
        return Verdict::with_ruling(Ruling::Deny, reason);
    }
    match result.get("input").filter(|input| is_truthy(input)) {
        Some(input) => input_verdict(context, input),
        None => Verdict::default(),
    }
}

/// The verdict of a rewritten input. If the caller cannot accept it, the engine turns it into a
/// deny.
fn input_verdict(context: &ResultContext<'_>, input: &Value) -> Verdict {
    if !input.is_object() {
        let shown = truncate_chars(&input.to_string(), MAX_SHOWN_INPUT_CHARS, "…");
        return Verdict::with_ruling(
            Ruling::Deny,
            format!("a hook returned input that is not an object: {shown}"),
        );
    }
    let stands = context.event.facts.tool.as_ref();
    let name = stands.map(|tool| tool.to_native(TOOLS).0).unwrap_or_default();
    let tool = Tool::from_native(TOOLS, &name, input);
    let same = stands.is_some_and(|stands| stands.args == tool.args);
    match same && !is_extensions(context.hook) {
        true => Verdict::default(),
        false => Verdict::default().with_rewrite(Slot::Input, tool.args),
    }
}

/// The last result as a whole, over changes in place. Other fields keep their values from before
/// the modules ran. `null` clears nothing, and handlers cannot change `isError`.
fn output_verdict(context: &ResultContext<'_>, answer: &Value, last: Option<&Value>) -> Verdict {
    let returned = |key: &str| {
        let values = [last.and_then(|last| last.get(key)), answer["event"].get(key)];
        values.into_iter().flatten().find(|value| !value.is_null()).cloned()
    };
    let (content, details) = (returned(CONTENT), returned("details"));
    if last.is_none() && content.is_none() && details.is_none() {
        return Verdict::default();
    }
    let before = || context.event.patched.get(&Slot::Output).cloned().unwrap_or_default();
    let content =
        content.and_then(|content| content_rewrite(context, content)).unwrap_or_else(before);
    Verdict::default()
        .with_rewrite(Slot::Output, content)
        .with_rewrite(Slot::Native(DETAILS_SLOT.into()), details.unwrap_or_default())
}

/// The results of the newer edition, merged field by field. `null` restores the tool's own value.
/// The event object has the final values with changes in place. For an error, changes in place
/// count only with a result.
fn extensions_output_verdict(
    context: &ResultContext<'_>,
    answer: &Value,
    results: &[Value],
) -> Verdict {
    let mut fields = Map::new();
    let own = |(key, _): &(&String, &Value)| OUTPUT_FIELDS.iter().any(|(name, _)| name == key);
    let returned = results.iter().filter_map(Value::as_object).flatten().filter(own);
    fields.extend(returned.map(|(key, value)| (key.clone(), value.clone())));
    if context.event.moment != Moment::ToolFailed || !fields.is_empty() {
        let held = answer["event"].as_object().into_iter().flatten().filter(own);
        let held = held.filter(|(key, value)| !value.is_null() && *key != "isError");
        fields.extend(held.map(|(key, value)| (key.clone(), value.clone())));
    }

    let mut verdict = Verdict::default();
    for (key, slot) in OUTPUT_FIELDS {
        let Some(value) = fields.remove(*key) else { continue };
        let first =
            || context.event.native.get(*key).filter(|_| context.event.is_from(&OMP)).cloned();
        let value = if value.is_null() { first().unwrap_or_default() } else { value };
        verdict = match slot {
            Some(slot) => verdict.with_rewrite(Slot::Native((*slot).into()), value),
            None => match content_rewrite(context, value) {
                Some(rewrite) => verdict.with_rewrite(Slot::Output, rewrite),
                None => verdict,
            },
        };
    }
    verdict
}

/// The rewrite of a content. A caller of this dialect accepts any value; others accept blocks, or a
/// text that becomes a block.
fn content_rewrite(context: &ResultContext<'_>, content: Value) -> Option<Value> {
    let content = match content {
        content if content.is_array() || context.event.is_from(&OMP) => content,
        Value::String(text) => json!([text_block(&text)]),
        _ => return None,
    };
    Some(json!({CONTENT: content}))
}

/// The final messages: from the event object if handlers changed it, else the last that a handler
/// returned.
fn context_verdict(answer: &Value, results: &[Value]) -> Verdict {
    let returned = results.iter().rev().filter_map(|result| result.get("messages"));
    let mut held = answer["event"].get("messages").into_iter().chain(returned);
    let patch = held.find(|messages| messages.is_array()).cloned();
    patch.map(|m| Verdict::default().with_rewrite(Slot::ChatMessages, m)).unwrap_or_default()
}

/// The user's input with the handlers' changes, or a deny if a handler handled it.
fn typed_input_verdict(context: &ResultContext<'_>, results: &[Value]) -> Verdict {
    let handles = |result: &&Value| result.get("handled").is_some_and(is_truthy);
    if let Some(handled) = results.iter().find(handles) {
        let reason = format!("Extension {} handled the input", module_path(context.hook));
        return keep_result(handled).then(Verdict::with_ruling(Ruling::Deny, reason));
    }

    // Starts from the changes of earlier modules.
    let stands = context.event.patched.get(&Slot::Prompt).and_then(Value::as_object);
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
        text_field(&patch, "text").filter(|text| context.event.facts.prompt.as_ref() != Some(text));
    let verdict = Verdict::default().with_rewrite(Slot::Prompt, patch);
    match reading {
        // Callers of other dialects send the original input, so a message has the rewritten one.
        Some(text) if !context.event.is_from(&OMP) => {
            verdict.with_message(Audience::AgentNow, format!("A hook reads the prompt as: {text}"))
        }
        _ => verdict,
    }
}

/// The verdict of the first message; others are dropped.
fn first_message_verdict(context: &ResultContext<'_>, results: &[Value]) -> Verdict {
    let Some(message) = result_messages(results).next() else { return Verdict::default() };
    match context.event.is_from(&OMP) {
        true => Verdict::default().with_rewrite(Slot::InjectedMessage, message.clone()),
        false => messages_now([message_text(&message["content"])]),
    }
}

/// The verdict of all messages, and of the system prompt, which each handler may change.
fn start_verdict(context: &ResultContext<'_>, results: &[Value]) -> Verdict {
    let slot = Slot::Native(SYSTEM_PROMPT_SLOT.into());
    let mut prompts = results.iter().filter_map(|result| result.get("systemPrompt"));
    let prompt = prompts.next_back().cloned().map(to_list);
    if !context.event.is_from(&OMP) {
        // Other callers receive messages: the new parts of the system prompt.
        let before = context.event.patched.get(&slot).cloned().unwrap_or_default();
        let before = before.as_array().cloned().unwrap_or_default();
        let parts = prompt.iter().flat_map(|p| p.as_array().into_iter().flatten());
        let added = parts.filter(|part| !before.contains(part));
        let added: Vec<String> = added.filter_map(Value::as_str).map(str::to_owned).collect();
        let verdict = messages_now(
            result_messages(results).map(|m| message_text(&m["content"])).chain(added),
        );
        return prompt
            .into_iter()
            .fold(verdict, |verdict, prompt| verdict.with_rewrite(slot.clone(), prompt));
    }

    let mut all = context
        .event
        .patched
        .get(&Slot::InjectedMessage)
        .cloned()
        .map(to_list)
        .unwrap_or(json!([]));
    let mut verdict = Verdict::default();
    if let Some(all) = all.as_array_mut() {
        let before = all.len();
        all.extend(result_messages(results).cloned());
        if all.len() > before {
            verdict = verdict.with_rewrite(Slot::InjectedMessage, json!(all));
        }
    }
    prompt.into_iter().fold(verdict, |verdict, prompt| verdict.with_rewrite(slot.clone(), prompt))
}

fn result_messages(results: &[Value]) -> impl Iterator<Item = &Value> {
    results.iter().filter_map(|result| result.get("message")).filter(|message| is_truthy(message))
}

fn to_list(value: Value) -> Value {
    if value.is_array() { value } else { json!([value]) }
}

fn messages_now(texts: impl IntoIterator<Item = String>) -> Verdict {
    let texts = texts.into_iter().filter(|text| !text.is_empty());
    texts.fold(Verdict::default(), |verdict, text| verdict.with_message(Audience::AgentNow, text))
}

/// A block, else the first `continue` with a text. A `continue` of an earlier module takes
/// precedence.
fn stop_verdict(context: &ResultContext<'_>, results: &[Value]) -> Verdict {
    let text_of = |result: &Value, key| text_field(result, key).filter(|text| !text.is_empty());
    if let Some(block) = results.iter().find(|result| result["decision"] == "block") {
        let reason = text_of(block, "reason").or_else(|| text_of(block, "additionalContext"));
        let reason = reason.unwrap_or_else(|| STOP_REFUSED.into());
        return keep_result(block).then(Verdict::with_ruling(Ruling::Deny, reason));
    }
    if context.event.patched.contains_key(&Slot::Native(RESULT_SLOT.into())) {
        return Verdict::default();
    }
    let wish = |result: &Value| {
        let with = text_of(result, "additionalContext").or_else(|| text_of(result, "reason"))?;
        (result["continue"] == true)
            .then(|| keep_result(result).then(Verdict::with_ruling(Ruling::Deny, with)))
    };
    results.iter().find_map(wish).unwrap_or_default()
}

fn cancel_verdict(result: &Value) -> Verdict {
    let verdict = keep_result(result);
    match result.get("cancel").is_some_and(is_truthy) {
        true => {
            let reason =
                text_field(result, "reason").unwrap_or_else(|| "cancelled by a hook".into());
            verdict.then(Verdict::with_ruling(Ruling::Deny, reason))
        }
        false => verdict,
    }
}

/// Keeps the whole result for a caller of this dialect.
fn keep_result(result: &Value) -> Verdict {
    let own = result.as_object().cloned().unwrap_or_default();
    Verdict::default().with_rewrite(Slot::Native(RESULT_SLOT.into()), Value::Object(own))
}
