//! Questions and answers for the tests about tickets.

use gambrel_model::ledger::Ledger;
use gambrel_model::ticket::{Answer, OpenedTicket, Ticket};

use crate::scene::now;

pub(crate) const HOUR: u64 = 3_600_000;

/// A question that counts for an hour.
pub(crate) fn asked(key: &str) -> Ticket {
    Ticket {
        key: key.to_owned(),
        at: now(),
        expires: now() + HOUR,
        session: "s-1".to_owned(),
        project: "/home/ada/shop".to_owned(),
        hook: "ask".to_owned(),
        title: format!("May it, {key}?"),
        shown: vec![("Command".to_owned(), "git push".to_owned())],
        ..Ticket::default()
    }
}

/// One that nobody can answer any more.
pub(crate) fn expired(ledger: &impl Ledger, key: &str) -> OpenedTicket {
    ledger.open_ticket(&Ticket { expires: now().saturating_sub(1), ..asked(key) }).unwrap()
}

pub(crate) fn said(action: &str) -> Answer {
    Answer {
        action: action.to_owned(),
        message: "because".to_owned(),
        body: format!("{{\"action\":\"{action}\"}}"),
        by: "a test".to_owned(),
        at: now(),
    }
}

/// Waits until the clock has passed a moment.
pub(crate) fn until_later(than: u64) {
    while now() <= than {
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
}
