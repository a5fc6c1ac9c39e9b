//! Which tickets can still be used, for every ledger.

use std::time::{SystemTime, UNIX_EPOCH};

use gambrel_model::ticket::{Ticket, TicketState};

use crate::pid_alive::is_held;

/// Whether a ticket is spent, expired, or in use by a running process.
pub(crate) fn is_over(ticket: &Ticket) -> bool {
    let in_use = || ticket.taken.as_ref().is_some_and(is_held);
    ticket.spent || ticket.state_at(now_ms()) == TicketState::Expired || in_use()
}

/// Milliseconds since the epoch.
pub(crate) fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}
