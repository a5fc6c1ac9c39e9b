//! The page of one question, from what matters most to what matters least: the question, the command
//! or the change, why it is asked, who asks from where, what each answer does, and the rest.

use gambrel_model::INPUT_FIELD_PREFIX;
use gambrel_model::ticket::{Answer, AnswerKind, Ticket};
use maud::{Markup, html};

use super::answer_form::{answer_buttons, answer_fields, effects_sentence};
use super::diff::diff_block;
use super::page_frame;
use super::text::{clean_line, clean_text, mark_controls};
use super::when::time_element;

/// Longer values get a box of their own.
const MAX_INLINE_CHARS: usize = 72;
/// The title of the tool's name.
const TOOL_TITLE: &str = "Tool";
/// Titles of values that the page shows above.
const SHOWN_ABOVE: [&str; 2] = ["Command", "File"];

/// An open question; `asked` is the action that the link names.
pub(crate) fn question_page(ticket: &Ticket, token: &str, asked: Option<&str>, now: u64) -> Markup {
    let heading = html! { h1 id={ "title-" (ticket.id) } { (ticket_title(ticket)) } };
    let form = question_form(&format!("/callback/{token}"), ticket, asked, (&heading, now));
    page_frame(&ticket_title(ticket), &html! { article.card { (form) } })
}

/// The form of an open question. All of it is inside, so that the buttons can stay in view.
pub(super) fn question_form(
    to: &str,
    ticket: &Ticket,
    asked: Option<&str>,
    (heading, now): (&Markup, u64),
) -> Markup {
    html! {
        form method="post" action=(to) {
            div.top {
                p.state.open { "Waiting for you" }
                p.deadline { "Expires " (time_element(ticket.expires, now, true)) }
            }
            (heading)
            (ticket_subject(ticket))
            (ticket_facts(ticket, now))
            (effects_sentence(&ticket.context.effects))
            (answer_fields(ticket))
            (ticket_details(ticket))
            (answer_buttons(ticket, asked))
        }
    }
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
            (closed_question(ticket, now))
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
            (closed_question(ticket, now))
        }
    };
    page_frame(&format!("Expired: {}", ticket_title(ticket)), &body)
}

/// What was asked, without a form.
pub(super) fn closed_question(ticket: &Ticket, now: u64) -> Markup {
    html! { (ticket_subject(ticket)) (ticket_facts(ticket, now)) (ticket_details(ticket)) }
}

/// The title of a question, on one line.
pub(super) fn ticket_title(ticket: &Ticket) -> String {
    let title = clean_line(&ticket.title);
    if title.is_empty() { "An approval is asked for".to_owned() } else { title }
}

/// The command or the change, and why it is asked.
fn ticket_subject(ticket: &Ticket) -> Markup {
    let context = &ticket.context;
    let path = clean_line(&context.path);
    html! {
        @if !context.command.is_empty() {
            pre.command tabindex="0" aria-label="Command" { (mark_controls(&context.command)) }
        }
        @if !path.is_empty() { p.path { (path) } }
        @if !context.diff.is_empty() { (diff_block(&path, &mark_controls(&context.diff))) } @else {
            (input_rows(ticket))
        }
        @if !context.why.is_empty() { p.why { (clean_text(&context.why)) } }
    }
}

/// The tool of a call and the fields of its input by name. A diff shows those of an edit.
fn input_rows(ticket: &Ticket) -> Markup {
    let fields: Vec<(&str, &String)> = ticket.shown.iter().filter_map(input_field).collect();
    let tool = ticket.shown.iter().find(|(name, _)| name == TOOL_TITLE);
    let context = &ticket.context;
    let tool = tool.filter(|_| context.command.is_empty() && context.path.is_empty());
    html! {
        @if let Some((_, tool)) = tool { p.path { (clean_line(tool)) } }
        @if !fields.is_empty() {
            dl.input {
                @for (name, value) in fields { (fact_row(&clean_line(name), &mark_controls(value))) }
            }
        }
    }
}

/// The name and value of a shown field of the input.
fn input_field((name, value): &(String, String)) -> Option<(&str, &String)> {
    Some((name.strip_prefix(INPUT_FIELD_PREFIX)?, value))
}

/// Who asks, from where, and since when.
fn ticket_facts(ticket: &Ticket, now: u64) -> Markup {
    let context = &ticket.context;
    let facts =
        [("Agent", &context.agent), ("Machine", &context.machine), ("Branch", &context.branch)];
    html! {
        dl.facts {
            @for (name, value) in facts {
                @if !value.is_empty() { div { dt { (name) } dd { (clean_line(value)) } } }
            }
            div { dt { "Asked" } dd { (time_element(ticket.at, now, false)) } }
        }
    }
}

/// All other values: they are rarely needed for an answer.
fn ticket_details(ticket: &Ticket) -> Markup {
    let context = &ticket.context;
    let is_above = |name: &str| {
        !(context.command.is_empty() && context.path.is_empty()) && SHOWN_ABOVE.contains(&name)
    };
    let has_input_above = context.diff.is_empty();
    let shown = ticket
        .shown
        .iter()
        .filter(|fact| !is_above(&fact.0) && (!has_input_above || input_field(fact).is_none()));
    let origin =
        [("Session", &ticket.session), ("Project", &ticket.project), ("Hook", &ticket.hook)];
    let has_subject = !context.command.is_empty()
        || !context.diff.is_empty()
        || ticket.shown.iter().any(|fact| input_field(fact).is_some());
    html! {
        details open[!has_subject] {
            summary { "Details" }
            dl {
                @for (name, value) in shown { (fact_row(&clean_line(name), &clean_text(value))) }
                @for (name, value) in origin {
                    @if !value.is_empty() { (fact_row(name, &clean_text(value))) }
                }
                (fact_row("Ticket", &ticket.id))
            }
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
