//! The list of open questions and the latest answers.

use gambrel_model::ticket::{Ticket, TicketState};
use maud::{Markup, html};

use super::page_frame;
use super::ticket::{answer_form, answer_label, given_answer, ticket_facts, ticket_title};
use super::when::time_element;

/// How many answered questions are shown.
const MAX_RECENT_COUNT: usize = 5;

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
    let mut past: Vec<_> = tickets.iter().filter(|ticket| ticket.answer.is_some()).collect();
    past.sort_by_key(|ticket| std::cmp::Reverse(ticket.answer.as_ref().map(|given| given.at)));
    past.truncate(MAX_RECENT_COUNT);
    html! {
        section #open {
            @if open.is_empty() { (empty_card()) }
            @for ticket in open { (ticket_card(ticket, now)) }
        }
        section #past {
            @if !past.is_empty() { h2 { "Answered lately" } }
            @for ticket in past { (answered_card(ticket, now)) }
        }
    }
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
    html! {
        article.card id={ "ticket-" (ticket.id) } aria-labelledby={ "title-" (ticket.id) } {
            h2 id={ "title-" (ticket.id) } { (ticket_title(ticket)) }
            (ticket_facts(ticket))
            p.deadline { "Expires " (time_element(ticket.expires, now, true)) }
            (answer_form(&format!("/approvals/{}", ticket.id), ticket, None))
        }
    }
}

fn answered_card(ticket: &Ticket, now: u64) -> Markup {
    let Some(answer) = &ticket.answer else { return html! {} };
    let (word, class) = answer_label(ticket, &answer.action);
    html! {
        article.card.small id={ "past-" (ticket.id) } {
            p.state.(class) { (word) }
            h3 { (ticket_title(ticket)) }
            (given_answer(answer, now))
        }
    }
}
