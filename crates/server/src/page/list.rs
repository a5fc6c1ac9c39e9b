//! The list of open questions and the latest answers, and the history of all of them.

use gambrel_model::ticket::{Ticket, TicketState};
use maud::{Markup, html};

use super::page_frame;
use super::ticket::{answer_label, closed_question, given_answer, question_form, ticket_title};
use super::when::time_element;

/// How many answered questions the first page shows.
const MAX_RECENT_COUNT: usize = 5;
/// How many closed questions the history shows.
const MAX_HISTORY_COUNT: usize = 200;

/// The whole page.
pub(crate) fn list_page(tickets: &[Ticket], now: u64) -> Markup {
    let body = html! {
        h1 { "Open approvals" }
        p.live.quiet hidden role="status" {}
        div #entries aria-live="polite" { (list_entries(tickets, now)) }
    };
    page_frame("Open approvals", &body)
}

/// The part of the page that changes.
pub(crate) fn list_entries(tickets: &[Ticket], now: u64) -> Markup {
    let open: Vec<_> = tickets.iter().filter(|t| t.state_at(now) == TicketState::Open).collect();
    let mut past = closed_tickets(tickets, now);
    let count = past.len();
    past.retain(|ticket| ticket.answer.is_some());
    past.truncate(MAX_RECENT_COUNT);
    html! {
        section #open {
            @if open.is_empty() { (empty_card()) }
            @for ticket in open { (ticket_card(ticket, now)) }
        }
        section #past {
            @if !past.is_empty() { h2 id="past-title" { "Answered lately" } }
            @for ticket in &past { (closed_card(ticket, now)) }
            @if count > past.len() {
                p id="past-more" { a href="/history" { "All earlier questions" } }
            }
        }
    }
}

/// The page of all closed questions, newest first.
pub(crate) fn history_page(tickets: &[Ticket], now: u64) -> Markup {
    let mut past = closed_tickets(tickets, now);
    let hidden = past.len().saturating_sub(MAX_HISTORY_COUNT);
    past.truncate(MAX_HISTORY_COUNT);
    let body = html! {
        p { a href="/" { "← Open approvals" } }
        h1 { "Earlier questions" }
        @if past.is_empty() { p.quiet { "No question has been answered yet." } }
        @for ticket in &past { (closed_card(ticket, now)) }
        @if hidden > 0 {
            p.quiet { (hidden) " older ones: see " code { "gambrel approvals --all" } }
        }
    };
    page_frame("Earlier questions", &body)
}

/// Questions that are answered or expired, the last one to close first.
fn closed_tickets(tickets: &[Ticket], now: u64) -> Vec<&Ticket> {
    let is_closed = |ticket: &&Ticket| ticket.state_at(now) != TicketState::Open;
    let mut closed: Vec<&Ticket> = tickets.iter().filter(is_closed).collect();
    let closed_at = |ticket: &Ticket| {
        ticket.answer.as_ref().map_or(ticket.expires.min(now), |answer| answer.at)
    };
    closed.sort_by_key(|ticket| std::cmp::Reverse(closed_at(ticket)));
    closed
}

fn empty_card() -> Markup {
    html! {
        div.card.empty id="nothing" {
            p { strong { "Nothing waits for you." } }
            p.quiet { "Questions appear here by themselves as soon as a hook asks one." }
        }
    }
}

fn ticket_card(ticket: &Ticket, now: u64) -> Markup {
    let heading = html! { h2 id={ "title-" (ticket.id) } { (ticket_title(ticket)) } };
    html! {
        article.card id={ "ticket-" (ticket.id) } aria-labelledby={ "title-" (ticket.id) } {
            (question_form(&format!("/approvals/{}", ticket.id), ticket, None, (&heading, now)))
        }
    }
}

fn closed_card(ticket: &Ticket, now: u64) -> Markup {
    let label = ticket.answer.as_ref().map(|answer| answer_label(ticket, &answer.action));
    let (word, class) = label.unwrap_or_else(|| ("Expired".to_owned(), "over"));
    html! {
        article.card.small id={ "past-" (ticket.id) } {
            p.state.(class) { (word) }
            h3 { (ticket_title(ticket)) }
            @if let Some(answer) = &ticket.answer { (given_answer(answer, now)) } @else {
                p.given { "It counted until " (time_element(ticket.expires, now, false)) }
            }
            details {
                summary { "What was asked" }
                (closed_question(ticket, now))
            }
        }
    }
}
