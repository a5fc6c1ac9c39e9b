//! A restarted process finds its open ticket and its link.

use gambrel_ledger::MemoryLedger;
use gambrel_model::ledger::{Ledger, Tickets};
use gambrel_model::ticket::Ticket;

use crate::fixture::{LedgerFixture, now};
use crate::test_tickets::{new_answer, new_ticket, open_expired_ticket};

#[test]
fn finds_the_ticket_by_its_key() {
    let fixture = LedgerFixture::new();
    let first = fixture.ledger().open_ticket(&new_ticket("key")).unwrap();
    let different = Ticket { title: "Other words".into(), expires: now() + 9, ..new_ticket("key") };
    let again = fixture.ledger().open_ticket(&different).unwrap();
    assert_eq!((&again.ticket, &again.token), (&first.ticket, &first.token));
    let other = fixture.ledger().open_ticket(&new_ticket("another key")).unwrap();
    assert_ne!(other.ticket.id, first.ticket.id);
    assert_ne!(other.token, first.token);
    let elsewhere = LedgerFixture::new().ledger().open_ticket(&new_ticket("key")).unwrap();
    assert_ne!(elsewhere.token, first.token, "two ledgers have the same links");
}

#[test]
fn finds_an_answered_ticket() {
    let fixture = LedgerFixture::new();
    let first = fixture.ledger().open_ticket(&new_ticket("key")).unwrap();
    fixture.ledger().answer_ticket(&first.ticket.id, &new_answer("approve")).unwrap();
    let again = fixture.ledger().open_ticket(&new_ticket("key")).unwrap();
    assert_eq!(again.ticket.id, first.ticket.id);
    assert_eq!(again.ticket.answer.unwrap().action, "approve");
}

#[test]
fn opens_a_new_ticket_after_a_spent_one() {
    let fixture = LedgerFixture::new();
    for ledger in [Box::new(fixture.ledger()) as Box<dyn Ledger>, Box::new(MemoryLedger::new())] {
        let first = ledger.open_ticket(&new_ticket("key")).unwrap();
        ledger.answer_ticket(&first.ticket.id, &new_answer("approve")).unwrap();
        ledger.update_ticket(&first.ticket.id, &mut |ticket| ticket.spent = true).unwrap();
        let second = ledger.open_ticket(&new_ticket("key")).unwrap();
        assert_ne!(second.token, first.token);
        assert_eq!((second.ticket.answer, second.ticket.spent), (None, false));
        assert_eq!(ledger.ticket_by_token(&first.token).unwrap().unwrap().id, first.ticket.id);
    }
}

#[test]
fn opens_a_new_ticket_after_an_expired_one() {
    let fixture = LedgerFixture::new();
    let ledger = fixture.ledger();
    let first = open_expired_ticket(&ledger, "key");
    let second = ledger.open_ticket(&new_ticket("key")).unwrap();
    assert_ne!(second.token, first.token);
    let third = ledger.open_ticket(&new_ticket("key")).unwrap();
    assert_eq!(third.token, second.token);
}

#[test]
fn updates_cannot_change_id_or_answer() {
    let fixture = LedgerFixture::new();
    let ledger = fixture.ledger();
    let id = ledger.open_ticket(&new_ticket("key")).unwrap().ticket.id;
    ledger.update_ticket(&id, &mut |ticket| ticket.sent = true).unwrap();
    assert!(ledger.find_ticket(&id).unwrap().unwrap().sent);
    let mut forge = |ticket: &mut Ticket| {
        ticket.answer = Some(new_answer("approve"));
        ticket.id = "f".repeat(12);
    };
    ledger.update_ticket(&id, &mut forge).unwrap();
    let kept = ledger.find_ticket(&id).unwrap().unwrap();
    assert_eq!((kept.answer, kept.id), (None, id.clone()));
    ledger.answer_ticket(&id, &new_answer("reject")).unwrap();
    ledger.update_ticket(&id, &mut |ticket| ticket.answer = None).unwrap();
    assert_eq!(ledger.find_ticket(&id).unwrap().unwrap().answer.unwrap().action, "reject");
    ledger.update_ticket("000000000000", &mut |ticket| ticket.sent = true).unwrap();
    assert_eq!(ledger.list_tickets().unwrap().len(), 1);
}
