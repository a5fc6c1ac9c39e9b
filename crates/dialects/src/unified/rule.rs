//! The action `rule`: a regular expression on a fact, and the verdict of a match. The rule action
//! compares them without a process.

use gambrel_document::DocumentFields;
use gambrel_model::request::to_body;
use gambrel_model::tool::text_block;
use gambrel_model::{
    Audience, Call, Carry, Complaint, Event, EventSpec, Hook, Moment, Outcome, RegexCheck, Ruling,
    Slot, SpannedText, Verdict,
};
use serde_json::{Value, json};

use super::events::is_pipeline_point;
use super::variables::{is_known, variable_value};
use crate::event_parts::text_field;

/// The effects of a match. A rule has one of these fields, with the pattern as its value.
pub const EFFECT_FIELDS: [&str; 4] = ["block", "ask", "say", "redact"];
/// The fact with the whole input of a tool.
pub const INPUT_FACT: &str = "INPUT";
/// The fact with the text of a tool's output.
pub const RESULT_FACT: &str = "RESULT";
const REDACTED_TEXT: &str = "[redacted]";

/// Checks the fields of a rule. Returns its pattern and the field's name. The pattern is compiled
/// when the rule runs.
pub fn read_fields(
    fields: &mut DocumentFields<'_>,
    row: &EventSpec,
) -> Option<(String, SpannedText)> {
    let written: Vec<&str> =
        EFFECT_FIELDS.into_iter().filter(|word| fields.has_key(word)).collect();
    let [does] = written.as_slice() else {
        let message = "a rule does one thing: block, ask, say or redact";
        fields.add_error("rule", message, "write one of them with a regular expression");
        return None;
    };
    let pattern = fields.read_spanned(does).map(|pattern| ((*does).to_owned(), pattern));
    let (_, _) = (fields.read_text("message"), fields.read_text("with"));
    if let Some(fact) = fields.read_spanned("fact").filter(|fact| !is_fact(&fact.text)) {
        fields.complaints.push(unknown_fact(fact));
    }
    if *does == "redact" && redacted_slot(row).is_none() {
        let message = format!("there is nothing to redact at {}", row.name);
        fields.add_error(does, message, "use it at on_tool_before or on_tool_after");
    }
    pattern
}

fn is_fact(name: &str) -> bool {
    is_known(name) || [INPUT_FACT, RESULT_FACT].contains(&name)
}

fn unknown_fact(fact: SpannedText) -> Complaint {
    let message =
        format!("`{}` is not a gambrel fact: it is read from the caller's vars", fact.text);
    Complaint::warning(fact.spot, message)
        .with_help("for example TOOL_COMMAND, PROMPT, RESULT or INPUT")
}

/// What a rule redacts at an event: the input of a tool, or its output.
pub fn redacted_slot(row: &EventSpec) -> Option<Slot> {
    match row.moment {
        Moment::ToolBefore | Moment::ToolPermission => Some(Slot::Input),
        Moment::ToolAfter | Moment::ToolFailed => Some(Slot::Output),
        _ => None,
    }
}

pub fn effect_of(config: &Value) -> Option<(&'static str, String)> {
    EFFECT_FIELDS.into_iter().find_map(|word| Some((word, text_field(config, word)?)))
}

/// Builds the call with the pattern and the value to compare.
pub fn stage_rule(event: &Event, hook: &Hook, carry: &Carry) -> Call {
    let config = &hook.draft.config;
    let (word, pattern) = effect_of(config).unwrap_or_default();
    let named = text_field(config, "fact");
    let usual = match event.moment {
        Moment::ToolAfter | Moment::ToolFailed => RESULT_FACT,
        Moment::ToolBefore | Moment::ToolPermission => INPUT_FACT,
        Moment::Error => "ERROR",
        _ => "PROMPT",
    };
    let input = word == "redact" && redacted_slot(event.spec) == Some(Slot::Input);
    let fact = if input { INPUT_FACT } else { named.as_deref().unwrap_or(usual) };
    let with = text_field(config, "with").unwrap_or_else(|| REDACTED_TEXT.into());
    let check = RegexCheck {
        pattern,
        value: fact_value(event, carry, fact),
        with: (word == "redact").then_some(with),
    };
    Call { body: to_body(&check), ..Call::default() }
}

fn fact_value(event: &Event, carry: &Carry, fact: &str) -> Value {
    let tool = event.facts.tool.as_ref();
    match fact {
        INPUT_FACT => tool.map(|tool| tool.args.clone()).unwrap_or_default(),
        RESULT_FACT => json!(tool.and_then(|t| t.result.as_ref()).map(|r| r.joined_text())),
        name => json!(variable_value(event, carry, name)),
    }
}

/// The verdict of a match.
pub fn read_match(event: &Event, hook: &Hook, outcome: &Outcome) -> Verdict {
    let config = &hook.draft.config;
    let Some(answer) = outcome.answer.as_ref().filter(|answer| answer["matched"] == true) else {
        return Verdict::default();
    };
    let Some((word, pattern)) = effect_of(config) else { return Verdict::default() };
    let found = answer["found"].as_str().unwrap_or_default();
    let message = text_field(config, "message").filter(|message| !message.trim().is_empty());
    let reason = message.unwrap_or_else(|| match word {
        "say" => found.to_owned(),
        _ => format!("`{found}` is not allowed here (rule `{pattern}`)"),
    });
    let row = hook.event_spec_for(event).unwrap_or(event.spec);
    match word {
        "block" if is_pipeline_point(row) => Verdict::with_ruling(Ruling::Halt, reason),
        "block" => Verdict::with_ruling(Ruling::Deny, reason),
        "ask" => Verdict::with_ruling(Ruling::Ask, reason),
        "say" => Verdict::with_only_message(Audience::AgentNow, reason),
        _ => redaction_verdict(row, &answer["value"]),
    }
}

/// The verdict of a redaction: the value with every match replaced.
fn redaction_verdict(row: &EventSpec, clean: &Value) -> Verdict {
    match redacted_slot(row) {
        Some(Slot::Output) => {
            let text = clean.as_str().unwrap_or_default();
            Verdict::default().with_rewrite(Slot::Output, json!({"content": [text_block(text)]}))
        }
        Some(slot) => Verdict::default().with_rewrite(slot, clean.clone()),
        None => Verdict::default(),
    }
}
