//! The fields and buttons of an answer. No button has the focus, and Enter in a field of one line
//! presses none: an approval takes a deliberate press.

use gambrel_model::AnswerEffects;
use gambrel_model::ticket::{AnswerKind, Ticket};
use maud::{Markup, html};

use super::text::{clean_line, clean_text};

/// A word of a link that is shown on a button.
const MAX_WORD_CHARS: usize = 64;

/// The fields of an answer.
pub(super) fn answer_fields(ticket: &Ticket) -> Markup {
    let (id, effects) = (&ticket.id, &ticket.context.effects);
    match &ticket.wants {
        AnswerKind::Ruling => html! {
            label for={ "message-" (id) } {
                @if effects.reader.is_empty() { "Message " } @else {
                    "Message to " (clean_line(&effects.reader)) " "
                }
                span.quiet { "(optional)" }
            }
            textarea id={ "message-" (id) } name="message" rows="2" maxlength="10000" {}
        },
        AnswerKind::Choice(options) => choice_fields(id, options),
        AnswerKind::Line(there) => html! {
            // The first button is what Enter in the field presses.
            button type="submit" hidden disabled aria-hidden="true" {}
            label for={ "message-" (id) } { "Your answer" }
            input id={ "message-" (id) } name="message" maxlength="10000" autocomplete="off"
                placeholder=(clean_text(there));
        },
        AnswerKind::Text(there) => html! {
            label for={ "message-" (id) } { "Your answer" }
            textarea id={ "message-" (id) } name="message" rows="8" maxlength="10000" {
                (clean_text(there))
            }
        },
    }
}

/// The buttons of an answer; `asked` is the action that the link names.
pub(super) fn answer_buttons(ticket: &Ticket, asked: Option<&str>) -> Markup {
    match &ticket.wants {
        AnswerKind::Ruling => ruling_buttons(asked),
        AnswerKind::Choice(_) => send_buttons("Choose"),
        AnswerKind::Line(_) | AnswerKind::Text(_) => send_buttons("Send"),
    }
}

/// One sentence: what each answer does, and who reads the message.
pub(super) fn effects_sentence(effects: &AnswerEffects) -> Markup {
    let AnswerEffects { approve, reject, silence, reader } = effects;
    let [approve, reject, silence, reader] =
        [approve, reject, silence, reader].map(|text| clean_line(text));
    if approve.is_empty() || reject.is_empty() || silence.is_empty() {
        return html! {};
    }
    html! {
        p.effects {
            strong { "Approve" } " " (approve) ", "
            strong { "Reject" } " " (reject) ", and "
            strong { "without an answer" } " " (silence)
            @if !reader.is_empty() { "; " (reader) " can read your message" }
            "."
        }
    }
}

/// Approve, reject, and a word that the link itself names.
fn ruling_buttons(asked: Option<&str>) -> Markup {
    let asked = asked.map(clean_line);
    let is_short = |word: &&str| !word.is_empty() && word.chars().count() <= MAX_WORD_CHARS;
    let own = asked.as_deref().filter(is_short);
    let own = own.filter(|word| !matches!(*word, "approve" | "reject"));
    html! {
        div.buttons {
            @if let Some(word) = own { button.own name="action" value=(word) { (word) } }
            button.approve name="action" value="approve" { "Approve" }
            button.reject name="action" value="reject" { "Reject" }
        }
    }
}

/// One of several options. The posted value is the original option, not the cleaned text.
fn choice_fields(id: &str, options: &[String]) -> Markup {
    html! {
        fieldset {
            legend { "Choose one" }
            @for (nth, option) in options.iter().enumerate() {
                label.option for={ "option-" (id) "-" (nth) } {
                    input type="radio" id={ "option-" (id) "-" (nth) } name="message"
                        value=(option) required;
                    span { (clean_text(option)) }
                }
            }
        }
    }
}

/// The buttons of a form. Dismissing needs no answer.
fn send_buttons(word: &str) -> Markup {
    html! {
        div.buttons {
            button.approve name="action" value="approve" { (word) }
            button.reject name="action" value="reject" formnovalidate { "Dismiss" }
        }
    }
}
