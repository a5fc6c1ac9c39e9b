//! Closed tickets are removed after the maximum age; open tickets stay.

use std::time::Duration;

use gambrel_ledger::{LocalLedger, Redactor, RetentionLimits};
use gambrel_model::ledger::{Journal, Tickets};
use gambrel_model::ticket::Ticket;

use crate::fixture::{LedgerFixture, journal_firing, now};
use crate::test_tickets::{HOUR_MS, new_answer, new_ticket, open_expired_ticket, wait_until_after};

fn ledger_with_age(fixture: &LedgerFixture, age: Duration) -> LocalLedger {
    let limits = RetentionLimits { age, ..RetentionLimits::default() };
    LocalLedger::with_limits(fixture.dir.clone(), Redactor::default(), limits)
}

#[test]
fn imports_remove_old_tickets() {
    let fixture = LedgerFixture::new();
    let ledger = ledger_with_age(&fixture, Duration::from_millis(1));
    let late = open_expired_ticket(&ledger, "late").ticket.id;
    let answered = ledger.open_ticket(&new_ticket("answered")).unwrap().ticket.id;
    ledger.answer_ticket(&answered, &new_answer("approve")).unwrap();
    let open = ledger.open_ticket(&new_ticket("open")).unwrap().ticket.id;
    wait_until_after(now() + 5);
    journal_firing(&ledger, "any-1");
    ledger.import_journal().unwrap();
    assert_eq!(ledger.find_ticket(&late).unwrap(), None);
    assert_eq!(ledger.find_ticket(&answered).unwrap(), None);
    assert!(ledger.find_ticket(&open).unwrap().is_some());
}

#[test]
fn keeps_recently_expired_tickets() {
    let fixture = LedgerFixture::new();
    let ledger = ledger_with_age(&fixture, Duration::from_secs(3600));
    let late =
        ledger.open_ticket(&Ticket { expires: now() - HOUR_MS / 2, ..new_ticket("late") }).unwrap();
    journal_firing(&ledger, "any-1");
    ledger.import_journal().unwrap();
    assert!(ledger.find_ticket(&late.ticket.id).unwrap().is_some());
}

#[test]
fn lists_the_newest_tickets_first() {
    let fixture = LedgerFixture::new();
    let ledger = fixture.ledger();
    let mut ids = Vec::new();
    for number in 0..3 {
        ids.insert(0, ledger.open_ticket(&new_ticket(&number.to_string())).unwrap().ticket.id);
        wait_until_after(now());
    }
    std::fs::write(fixture.file("tickets/0123456789ab.json"), "not a ticket").unwrap();
    let listed: Vec<_> =
        ledger.list_tickets().unwrap().into_iter().map(|ticket| ticket.id).collect();
    assert_eq!(listed, ids);
}
