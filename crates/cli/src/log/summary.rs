//! A recorded event in a few words: the tool, and the argument that says what it does.

use gambrel::DIALECTS;
use gambrel_model::ledger::RecordedFiring;
use gambrel_model::text::join_lines;
use gambrel_model::{CallerContext, Facts, Tool};
use serde_json::Value;

/// Arguments that say what a tool does, the most telling first.
const TELLING_ARGUMENTS: [&str; 8] =
    ["command", "path", "pattern", "url", "query", "prompt", "description", "text"];

/// What an event is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EventSummary {
    /// What the text is: `command`, `path`, `prompt`.
    pub label: &'static str,
    /// The text.
    pub text: String,
}

/// What a recorded event is about, if the journal has it.
pub fn summarize_event(firing: &RecordedFiring<'_>) -> Option<EventSummary> {
    let event = firing.event(DIALECTS)?;
    let dialect = DIALECTS.iter().find(|dialect| dialect.name == event.from)?;
    let native = event.native.to_string();
    let parsed = dialect.caller.receive_event(native.as_bytes(), &CallerContext::default()).ok()?;
    summarize_facts(&parsed.facts)
}

fn summarize_facts(facts: &Facts) -> Option<EventSummary> {
    let named = |label: &'static str, text: &Option<String>| {
        let text = text.clone().filter(|text| !text.is_empty())?;
        Some(EventSummary { label, text })
    };
    let task = facts.task.as_ref().map(|task| {
        let text = join_lines(&format!("{} {}", task.id, task.subject));
        EventSummary { label: "task", text }
    });
    facts
        .tool
        .as_ref()
        .and_then(summarize_tool)
        .or(task)
        .or_else(|| named("prompt", &facts.prompt))
        .or_else(|| named("error", &facts.error))
        .or_else(|| named("member", &facts.member))
        .or_else(|| named("cause", &facts.cause))
        .or_else(|| named("stage", &facts.stage))
}

fn summarize_tool(tool: &Tool) -> Option<EventSummary> {
    let telling = TELLING_ARGUMENTS.into_iter().find_map(|label| {
        let text = tool.args.get(label)?.as_str()?.to_owned();
        Some(EventSummary { label, text })
    });
    telling.or_else(|| match &tool.args {
        Value::Null => None,
        Value::Object(fields) if fields.is_empty() => None,
        args => Some(EventSummary { label: "input", text: args.to_string() }),
    })
}
