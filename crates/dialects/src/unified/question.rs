//! What a person is shown about a question of a webhook: its title, its context, and what each
//! answer does.

use gambrel_model::request::CALLBACK_MARKER;
use gambrel_model::template::{Style, expand_plain};
use gambrel_model::{AnswerEffects, Carry, Event, Hook, Moment, QuestionContext, Ruling, Verdict};

use super::events::is_pipeline_point;
use super::variables::variable_value;
use super::webhook::{shorten_value, shows_whole_input};
use crate::event_parts::text_field;

/// The title of a question: the name that the author gave the hook, else the text of the message,
/// else the event.
pub fn question_title(event: &Event, hook: &Hook, carry: &Carry) -> String {
    let name = hook.draft.name.clone().filter(|name| !name.trim().is_empty());
    name.or_else(|| message_text(event, hook, carry)).unwrap_or_else(|| event.name.clone())
}

/// The context of a question.
pub fn question_context(event: &Event, hook: &Hook, carry: &Carry) -> QuestionContext {
    let tool = event.facts.tool.as_ref();
    let argument = |key: &str| text_field(&tool?.args, key).map(|text| shorten_value(&text));
    let message = hook.draft.name.as_ref().and_then(|_| message_text(event, hook, carry));
    let reasons = [message, argument("description").map(|text| format!("The agent says: {text}"))];
    QuestionContext {
        command: argument("command").unwrap_or_default(),
        path: argument("path").unwrap_or_default(),
        why: shorten_value(&reasons.into_iter().flatten().collect::<Vec<_>>().join("\n")),
        agent: event.dialect.product().to_owned(),
        effects: answer_effects(event, hook),
        ..QuestionContext::default()
    }
}

/// The text of the message without its links.
fn message_text(event: &Event, hook: &Hook, carry: &Carry) -> Option<String> {
    let written = text_field(hook.draft.config.get("body")?, "text")?;
    let lookup = |name: &str| match name {
        "CALLBACK_URL" => Some(CALLBACK_MARKER.to_owned()),
        _ => variable_value(event, carry, name),
    };
    let filled = expand_plain(&written, Style::Dollar, &lookup);
    let words = filled.split(' ').filter(|word| !word.contains(CALLBACK_MARKER));
    let text = words.collect::<Vec<_>>().join(" ");
    let text = text.trim().trim_end_matches(':').trim_end();
    (!text.is_empty()).then(|| text.to_owned())
}

/// What each answer does at this event.
fn answer_effects(event: &Event, hook: &Hook) -> AnswerEffects {
    let policy = &hook.draft.policy;
    let is_pipeline = is_pipeline_point(event.spec);
    let is_tool = matches!(event.moment, Moment::ToolBefore | Moment::ToolPermission);
    let approve = match () {
        () if is_tool && !shows_whole_input(event) => {
            "only passes your message on, because the call is too long to be shown whole"
        }
        () if is_tool => "lets this one call run",
        () => "lets the work go on",
    };
    let refusal = |verdict: &Verdict, subject: &str| match verdict.ruling {
        Ruling::Halt => format!("{subject}stops the run"),
        Ruling::Deny if is_tool => format!("{subject}blocks the call"),
        Ruling::Deny => format!("{subject}refuses it"),
        _ if is_tool => format!("{subject}leaves the decision to the agent"),
        _ => format!("{subject}lets the work go on all the same"),
    };
    AnswerEffects {
        approve: approve.to_owned(),
        reject: refusal(&policy.on_reject, ""),
        silence: refusal(&policy.on_timeout, "gambrel "),
        reader: if is_pipeline { "the hooks that follow" } else { "the agent" }.to_owned(),
    }
}
