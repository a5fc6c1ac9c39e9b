//! The action `rule`: a regular expression on a fact, and what its match means. No process is
//! started; the look itself is the action's.

use gambrel_model::request::to_body;
use gambrel_model::tool::text_block;
use gambrel_model::{
    Audience, Call, Carry, Complaint, Event, EventSpec, Hook, Moment, Outcome, RegexCheck, Ruling,
    Slot, SpannedText, Verdict,
};
use serde_json::{Value, json};

use super::events::is_own;
use super::variables::{is_known, value};
use crate::document::Fields;
use crate::payload::text;

/// What a match does; one of them stands in a rule, with the pattern as its value.
pub const DOES: [&str; 4] = ["block", "ask", "say", "redact"];
/// Looked at where the author names no fact.
const WHOLE: &str = "INPUT";
const RESULT: &str = "RESULT";
const MARK: &str = "[redacted]";

/// Looks at the fields of a rule. Returns its pattern and the field it stands in; the pattern is
/// compiled when the rule may run.
pub fn look(fields: &mut Fields<'_>, row: &EventSpec) -> Option<(String, SpannedText)> {
    let written: Vec<&str> = DOES.into_iter().filter(|word| fields.has(word)).collect();
    let [does] = written.as_slice() else {
        let message = "a rule does one thing: block, ask, say or redact";
        fields.complain("rule", message, "write one of them with a regular expression");
        return None;
    };
    let pattern = fields.quoted(does).map(|pattern| ((*does).to_owned(), pattern));
    let (_, _) = (fields.text("message"), fields.text("with"));
    if let Some(fact) = fields.quoted("fact").filter(|fact| !is_fact(&fact.text)) {
        fields.complaints.push(unknown_fact(fact));
    }
    if *does == "redact" && slot(row).is_none() {
        let message = format!("there is nothing to redact at {}", row.name);
        fields.complain(does, message, "use it at on_tool_before or on_tool_after");
    }
    pattern
}

fn is_fact(name: &str) -> bool {
    is_known(name) || [WHOLE, RESULT].contains(&name)
}

fn unknown_fact(fact: SpannedText) -> Complaint {
    let message = format!("`{}` is no fact of ours: it is read from the caller's vars", fact.text);
    Complaint::warning(fact.spot, message)
        .with_help("for example TOOL_COMMAND, PROMPT, RESULT or INPUT")
}

fn slot(row: &EventSpec) -> Option<Slot> {
    match row.moment {
        Moment::ToolBefore | Moment::ToolPermission => Some(Slot::Input),
        Moment::ToolAfter | Moment::ToolFailed => Some(Slot::Output),
        _ => None,
    }
}

fn does(config: &Value) -> Option<(&'static str, String)> {
    DOES.into_iter().find_map(|word| Some((word, text(config, word)?)))
}

/// The text that is looked at, and the pattern.
pub fn stage(event: &Event, hook: &Hook, carry: &Carry) -> Call {
    let config = &hook.draft.config;
    let (word, pattern) = does(config).unwrap_or_default();
    let named = text(config, "fact");
    let usual = match event.moment {
        Moment::ToolAfter | Moment::ToolFailed => RESULT,
        Moment::ToolBefore | Moment::ToolPermission => WHOLE,
        Moment::Error => "ERROR",
        _ => "PROMPT",
    };
    let input = word == "redact" && slot(event.spec) == Some(Slot::Input);
    let fact = if input { WHOLE } else { named.as_deref().unwrap_or(usual) };
    let with = text(config, "with").unwrap_or_else(|| MARK.into());
    let look = RegexCheck {
        pattern,
        value: seen(event, carry, fact),
        with: (word == "redact").then_some(with),
    };
    Call { body: to_body(&look), ..Call::default() }
}

fn seen(event: &Event, carry: &Carry, fact: &str) -> Value {
    let tool = event.facts.tool.as_ref();
    match fact {
        WHOLE => tool.map(|tool| tool.args.clone()).unwrap_or_default(),
        RESULT => json!(tool.and_then(|t| t.result.as_ref()).map(|r| r.text())),
        name => json!(value(event, carry, name)),
    }
}

/// What a match means.
pub fn read(event: &Event, hook: &Hook, outcome: &Outcome) -> Verdict {
    let config = &hook.draft.config;
    let Some(answer) = outcome.answer.as_ref().filter(|answer| answer["matched"] == true) else {
        return Verdict::default();
    };
    let Some((word, pattern)) = does(config) else { return Verdict::default() };
    let found = answer["found"].as_str().unwrap_or_default();
    let reason = text(config, "message").unwrap_or_else(|| match word {
        "say" => found.to_owned(),
        _ => format!("`{found}` is not allowed here (rule `{pattern}`)"),
    });
    let row = hook.event_spec_for(event).unwrap_or(event.spec);
    match word {
        "block" if is_own(row) => Verdict::with_ruling(Ruling::Halt, reason),
        "block" => Verdict::with_ruling(Ruling::Deny, reason),
        "ask" => Verdict::with_ruling(Ruling::Ask, reason),
        "say" => Verdict::with_only_message(Audience::AgentNow, reason),
        _ => redacted(row, &answer["value"]),
    }
}

/// The same value with every match replaced.
fn redacted(row: &EventSpec, clean: &Value) -> Verdict {
    match slot(row) {
        Some(Slot::Output) => {
            let text = clean.as_str().unwrap_or_default();
            Verdict::default().with_rewrite(Slot::Output, json!({"content": [text_block(text)]}))
        }
        Some(slot) => Verdict::default().with_rewrite(slot, clean.clone()),
        None => Verdict::default(),
    }
}
