//! Everything that waits, and the last few answers.

use gambrel_model::ticket::{Ticket, TicketState};
use maud::{Markup, html};

use super::frame;
use super::ticket::{done, facts, form, given, title};
use super::when::when;

/// How many answered ones are shown.
const RECENT: usize = 5;

/// The whole page.
pub(crate) fn list(tickets: &[Ticket], now: u64) -> Markup {
    let body = html! {
        h1 { "Open approvals" }
        p.live.quiet hidden role="status" {}
        div #entries aria-live="polite" { (entries(tickets, now)) }
    };
    frame("Open approvals", &body)
}

/// The part that changes.
pub(crate) fn entries(tickets: &[Ticket], now: u64) -> Markup {
    let open: Vec<_> = tickets.iter().filter(|t| t.state_at(now) == TicketState::Open).collect();
    let mut past: Vec<_> = tickets.iter().filter(|ticket| ticket.answer.is_some()).collect();
    past.sort_by_key(|ticket| std::cmp::Reverse(ticket.answer.as_ref().map(|given| given.at)));
    past.truncate(RECENT);
    html! {
        section #open {
            @if open.is_empty() { (nothing()) }
            @for ticket in open { (card(ticket, now)) }
        }
        section #past {
            @if !past.is_empty() { h2 { "Answered lately" } }
            @for ticket in past { (answered(ticket, now)) }
        }
    }
}

fn nothing() -> Markup {
    html! {
        div.card.empty id="nothing" {
            p { strong { "Nothing waits for you." } }
            p.quiet { "Questions appear here by themselves as soon as a hook asks one." }
        }
    }
}

fn card(ticket: &Ticket, now: u64) -> Markup {
    html! {
        article.card id={ "ticket-" (ticket.id) } aria-labelledby={ "title-" (ticket.id) } {
            h2 id={ "title-" (ticket.id) } { (title(ticket)) }
            (facts(ticket))
            p.deadline { "Expires " (when(ticket.expires, now, true)) }
            (form(&format!("/approvals/{}", ticket.id), ticket, None))
        }
    }
}

fn answered(ticket: &Ticket, now: u64) -> Markup {
    let Some(answer) = &ticket.answer else { return html! {} };
    let (word, class) = done(ticket, &answer.action);
    html! {
        article.card.small id={ "past-" (ticket.id) } {
            p.state.(class) { (word) }
            h3 { (title(ticket)) }
            (given(answer, now))
        }
    }
}
