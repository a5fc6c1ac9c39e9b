//! One question: what is asked, what can be said, what was said.

use gambrel_model::ticket::{Answer, AnswerKind, Ticket};
use maud::{Markup, html};

use super::frame;
use super::text::{clean, line};
use super::when::when;

/// Longer ones get a box of their own that scrolls.
const SHORT: usize = 72;

/// A question that can be answered; `asked` is the action that the link names.
pub(crate) fn question(ticket: &Ticket, token: &str, asked: Option<&str>, now: u64) -> Markup {
    let body = html! {
        article.card {
            p.state.open { "Waiting for you" }
            h1 { (title(ticket)) }
            (facts(ticket))
            p.deadline { "Expires " (when(ticket.expires, now, true)) }
            (form(&format!("/callback/{token}"), ticket, asked))
        }
    };
    frame(&title(ticket), &body)
}

/// A question that has its answer.
pub(crate) fn answered(ticket: &Ticket, answer: &Answer, note: Option<&str>, now: u64) -> Markup {
    let (word, class) = done(ticket, &answer.action);
    let body = html! {
        article.card {
            p.state.(class) role="status" { (word) }
            h1 { (title(ticket)) }
            @if let Some(note) = note { p.note role="alert" { (note) } }
            (given(answer, now))
            (facts(ticket))
        }
    };
    frame(&format!("{word}: {}", title(ticket)), &body)
}

/// A question that nobody answered in time.
pub(crate) fn expired(ticket: &Ticket, now: u64) -> Markup {
    let body = html! {
        article.card {
            p.state.over role="status" { "Expired" }
            h1 { (title(ticket)) }
            p { "Nobody answered in time, or nobody waits for the answer any more." }
            p.deadline { "It counted until " (when(ticket.expires, now, false)) }
            (facts(ticket))
        }
    };
    frame(&format!("Expired: {}", title(ticket)), &body)
}

/// The one line that says what is to be decided.
pub(super) fn title(ticket: &Ticket) -> String {
    let title = line(&ticket.title);
    if title.is_empty() { "An approval is asked for".to_owned() } else { title }
}

/// Who asks and what they show.
pub(super) fn facts(ticket: &Ticket) -> Markup {
    let asks = [("Session", &ticket.session), ("Project", &ticket.project), ("Hook", &ticket.hook)];
    html! {
        dl {
            @for (name, value) in &ticket.shown { (fact(&line(name), &clean(value))) }
            @for (name, value) in asks {
                @if !value.is_empty() { (fact(name, &clean(value))) }
            }
        }
    }
}

/// The ways to answer.
pub(super) fn form(to: &str, ticket: &Ticket, asked: Option<&str>) -> Markup {
    html! {
        form method="post" action=(to) {
            @match &ticket.wants {
                AnswerKind::Ruling => (ruling(&ticket.id, asked)),
                AnswerKind::Choice(options) => (choice(&ticket.id, options)),
                AnswerKind::Line(there) => {
                    label for={ "message-" (ticket.id) } { "Your answer" }
                    input id={ "message-" (ticket.id) } name="message" maxlength="10000"
                        autocomplete="off" placeholder=(clean(there));
                    (send("Send"))
                }
                AnswerKind::Text(there) => {
                    label for={ "message-" (ticket.id) } { "Your answer" }
                    textarea id={ "message-" (ticket.id) } name="message" rows="8"
                        maxlength="10000" { (clean(there)) }
                    (send("Send"))
                }
            }
        }
    }
}

/// Yes or no. The first button is what the return key does.
fn ruling(id: &str, asked: Option<&str>) -> Markup {
    let asked = asked.map(line).filter(|word| !word.is_empty() && word.chars().count() <= 64);
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

/// One of several. Its value is the option as it was given, not as it is shown.
fn choice(id: &str, options: &[String]) -> Markup {
    html! {
        fieldset {
            legend { "Choose one" }
            @for (nth, option) in options.iter().enumerate() {
                label.option for={ "option-" (id) "-" (nth) } {
                    input type="radio" id={ "option-" (id) "-" (nth) } name="message"
                        value=(option) required;
                    span { (clean(option)) }
                }
            }
        }
        (send("Choose"))
    }
}

/// Dismissing needs no answer.
fn send(word: &str) -> Markup {
    html! {
        div.buttons {
            button.approve name="action" value="approve" { (word) }
            button.reject name="action" value="reject" formnovalidate { "Dismiss" }
        }
    }
}

/// Who said what, and when.
pub(super) fn given(answer: &Answer, now: u64) -> Markup {
    html! {
        p.given { "By the " (line(&answer.by)) ", " (when(answer.at, now, false)) }
        @if !answer.message.trim().is_empty() { blockquote { (clean(&answer.message)) } }
    }
}

/// What an action amounts to, in a word and as a colour.
pub(super) fn done(ticket: &Ticket, action: &str) -> (String, &'static str) {
    match action {
        "approve" if ticket.wants != AnswerKind::Ruling => ("Answered".to_owned(), "approved"),
        "reject" if ticket.wants != AnswerKind::Ruling => ("Dismissed".to_owned(), "rejected"),
        "approve" | "approved" => ("Approved".to_owned(), "approved"),
        "reject" | "rejected" | "deny" | "denied" => ("Rejected".to_owned(), "rejected"),
        other => (format!("Answered “{}”", line(other)), "open"),
    }
}

fn fact(name: &str, value: &str) -> Markup {
    let short = value.chars().count() <= SHORT && !value.contains('\n');
    html! {
        div.fact.long[!short] {
            dt { (name) }
            dd {
                @if short { (value) } @else { pre tabindex="0" aria-label=(name) { (value) } }
            }
        }
    }
}
