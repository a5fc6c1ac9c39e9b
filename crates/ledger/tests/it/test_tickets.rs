//! Tickets and answers for tests.

use gambrel_model::ledger::Ledger;
use gambrel_model::ticket::{Answer, OpenedTicket, Ticket};

use crate::fixture::now;

pub(crate) const HOUR_MS: u64 = 3_600_000;

/// A ticket that expires in an hour.
pub(crate) fn new_ticket(key: &str) -> Ticket {
    Ticket {
        key: key.to_owned(),
        at: now(),
        expires: now() + HOUR_MS,
        session: "s-1".to_owned(),
        project: "/home/ada/shop".to_owned(),
        hook: "ask".to_owned(),
        title: format!("Allow {key}?"),
        shown: vec![("Command".to_owned(), "git push".to_owned())],
        ..Ticket::default()
    }
}

/// Opens a ticket that has expired.
pub(crate) fn open_expired_ticket(ledger: &impl Ledger, key: &str) -> OpenedTicket {
    ledger.open_ticket(&Ticket { expires: now().saturating_sub(1), ..new_ticket(key) }).unwrap()
}

pub(crate) fn new_answer(action: &str) -> Answer {
    Answer {
        action: action.to_owned(),
        message: "because".to_owned(),
        body: format!("{{\"action\":\"{action}\"}}"),
        by: "a test".to_owned(),
        at: now(),
    }
}

/// Waits until the clock is past a time.
pub(crate) fn wait_until_after(than: u64) {
    while now() <= than {
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
}
