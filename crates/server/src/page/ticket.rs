//! The page of one question: its facts, its form and its answer.

use gambrel_model::ticket::{Answer, AnswerKind, Ticket};
use maud::{Markup, html};

use super::page_frame;
use super::text::{clean_line, clean_text};
use super::when::time_element;

/// Longer values get their own scrolling box.
const MAX_INLINE_CHARS: usize = 72;

/// An open question; `asked` is the action that the link names.
pub(crate) fn question_page(ticket: &Ticket, token: &str, asked: Option<&str>, now: u64) -> Markup {
    let body = html! {
        article.card {
            p.state.open { "Waiting for you" }
            h1 { (ticket_title(ticket)) }
            (ticket_facts(ticket))
            p.deadline { "Expires " (time_element(ticket.expires, now, true)) }
            (answer_form(&format!("/callback/{token}"), ticket, asked))
        }
    };
    page_frame(&ticket_title(ticket), &body)
}

/// An answered question.
pub(crate) fn answered_page(
    ticket: &Ticket,
    answer: &Answer,
    note: Option<&str>,
    now: u64,
) -> Markup {
    let (word, class) = answer_label(ticket, &answer.action);
    let body = html! {
        article.card {
            p.state.(class) role="status" { (word) }
            h1 { (ticket_title(ticket)) }
            @if let Some(note) = note { p.note role="alert" { (note) } }
            (given_answer(answer, now))
            (ticket_facts(ticket))
        }
    };
    page_frame(&format!("{word}: {}", ticket_title(ticket)), &body)
}

/// An expired question.
pub(crate) fn expired_page(ticket: &Ticket, now: u64) -> Markup {
    let body = html! {
        article.card {
            p.state.over role="status" { "Expired" }
            h1 { (ticket_title(ticket)) }
            p { "Nobody answered in time, or nobody waits for the answer any more." }
            p.deadline { "It counted until " (time_element(ticket.expires, now, false)) }
            (ticket_facts(ticket))
        }
    };
    page_frame(&format!("Expired: {}", ticket_title(ticket)), &body)
}

/// The title of a question, on one line.
pub(super) fn ticket_title(ticket: &Ticket) -> String {
    let title = clean_line(&ticket.title);
    if title.is_empty() { "An approval is asked for".to_owned() } else { title }
}

/// The facts of a question: its values, session, project and hook.
pub(super) fn ticket_facts(ticket: &Ticket) -> Markup {
    let asks = [("Session", &ticket.session), ("Project", &ticket.project), ("Hook", &ticket.hook)];
    html! {
        dl {
            @for (name, value) in &ticket.shown { (fact_row(&clean_line(name), &clean_text(value))) }
            @for (name, value) in asks {
                @if !value.is_empty() { (fact_row(name, &clean_text(value))) }
            }
        }
    }
}

/// The form for an answer.
pub(super) fn answer_form(to: &str, ticket: &Ticket, asked: Option<&str>) -> Markup {
    html! {
        form method="post" action=(to) {
            @match &ticket.wants {
                AnswerKind::Ruling => (ruling_fields(&ticket.id, asked)),
                AnswerKind::Choice(options) => (choice_fields(&ticket.id, options)),
                AnswerKind::Line(there) => {
                    label for={ "message-" (ticket.id) } { "Your answer" }
                    input id={ "message-" (ticket.id) } name="message" maxlength="10000"
                        autocomplete="off" placeholder=(clean_text(there));
                    (send_buttons("Send"))
                }
                AnswerKind::Text(there) => {
                    label for={ "message-" (ticket.id) } { "Your answer" }
                    textarea id={ "message-" (ticket.id) } name="message" rows="8"
                        maxlength="10000" { (clean_text(there)) }
                    (send_buttons("Send"))
                }
            }
        }
    }
}

/// Approve or reject. The return key presses the first button.
fn ruling_fields(id: &str, asked: Option<&str>) -> Markup {
    let asked = asked.map(clean_line).filter(|word| !word.is_empty() && word.chars().count() <= 64);
    let own = asked.as_deref().filter(|word| !matches!(*word, "approve" | "reject"));
    let chosen = |word: &str| asked.as_deref() == Some(word);
    html! {
        label for={ "message-" (id) } { "Message " span.quiet { "(optional)" } }
        textarea id={ "message-" (id) } name="message" rows="2" maxlength="10000" {}
        div.buttons {
            @if let Some(word) = own {
                button.own name="action" value=(word) autofocus { (word) }
            }
            button.approve name="action" value="approve" autofocus[chosen("approve")] {
                "Approve"
            }
            button.reject name="action" value="reject" autofocus[chosen("reject")] { "Reject" }
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
        (send_buttons("Choose"))
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

/// The author, time and message of an answer.
pub(super) fn given_answer(answer: &Answer, now: u64) -> Markup {
    html! {
        p.given { "By the " (clean_line(&answer.by)) ", " (time_element(answer.at, now, false)) }
        @if !answer.message.trim().is_empty() { blockquote { (clean_text(&answer.message)) } }
    }
}

/// The label and the CSS class of an action.
pub(super) fn answer_label(ticket: &Ticket, action: &str) -> (String, &'static str) {
    match action {
        "approve" if ticket.wants != AnswerKind::Ruling => ("Answered".to_owned(), "approved"),
        "reject" if ticket.wants != AnswerKind::Ruling => ("Dismissed".to_owned(), "rejected"),
        "approve" | "approved" => ("Approved".to_owned(), "approved"),
        "reject" | "rejected" | "deny" | "denied" => ("Rejected".to_owned(), "rejected"),
        other => (format!("Answered “{}”", clean_line(other)), "open"),
    }
}

fn fact_row(name: &str, value: &str) -> Markup {
    let short = value.chars().count() <= MAX_INLINE_CHARS && !value.contains('\n');
    html! {
        div.fact.long[!short] {
            dt { (name) }
            dd {
                @if short { (value) } @else { pre tabindex="0" aria-label=(name) { (value) } }
            }
        }
    }
}
