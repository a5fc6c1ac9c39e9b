//! A process that is started again finds its ticket and its link, as long as they are of use.

use gambrel_ledger::MemoryLedger;
use gambrel_model::ledger::Ledger;
use gambrel_model::ticket::Ticket;

use crate::questions::{asked, expired, said};
use crate::scene::{Scene, now};

#[test]
fn by_its_key_and_whatever_else_is_different() {
    let scene = Scene::new();
    let first = scene.ledger().open_ticket(&asked("key")).unwrap();
    let different = Ticket { title: "Other words".into(), expires: now() + 9, ..asked("key") };
    let again = scene.ledger().open_ticket(&different).unwrap();
    assert_eq!((&again.ticket, &again.token), (&first.ticket, &first.token));
    let other = scene.ledger().open_ticket(&asked("another key")).unwrap();
    assert_ne!(other.ticket.id, first.ticket.id);
    assert_ne!(other.token, first.token);
    let elsewhere = Scene::new().ledger().open_ticket(&asked("key")).unwrap();
    assert_ne!(elsewhere.token, first.token, "two ledgers have the same links");
}

#[test]
fn also_when_it_has_been_answered_meanwhile() {
    let scene = Scene::new();
    let first = scene.ledger().open_ticket(&asked("key")).unwrap();
    scene.ledger().answer_ticket(&first.ticket.id, &said("approve")).unwrap();
    let again = scene.ledger().open_ticket(&asked("key")).unwrap();
    assert_eq!(again.ticket.id, first.ticket.id);
    assert_eq!(again.ticket.answer.unwrap().action, "approve");
}

#[test]
fn until_it_is_spent() {
    let scene = Scene::new();
    for ledger in [Box::new(scene.ledger()) as Box<dyn Ledger>, Box::new(MemoryLedger::new())] {
        let first = ledger.open_ticket(&asked("key")).unwrap();
        ledger.answer_ticket(&first.ticket.id, &said("approve")).unwrap();
        ledger.update_ticket(&first.ticket.id, &mut |ticket| ticket.spent = true).unwrap();
        let second = ledger.open_ticket(&asked("key")).unwrap();
        assert_ne!(second.token, first.token);
        assert_eq!((second.ticket.answer, second.ticket.spent), (None, false));
        assert_eq!(ledger.ticket_by_token(&first.token).unwrap().unwrap().id, first.ticket.id);
    }
}

#[test]
fn until_it_has_expired() {
    let scene = Scene::new();
    let ledger = scene.ledger();
    let first = expired(&ledger, "key");
    let second = ledger.open_ticket(&asked("key")).unwrap();
    assert_ne!(second.token, first.token);
    let third = ledger.open_ticket(&asked("key")).unwrap();
    assert_eq!(third.token, second.token);
}

#[test]
fn notes_change_what_is_noted_and_never_the_answer() {
    let scene = Scene::new();
    let ledger = scene.ledger();
    let id = ledger.open_ticket(&asked("key")).unwrap().ticket.id;
    ledger.update_ticket(&id, &mut |ticket| ticket.sent = true).unwrap();
    assert!(ledger.ticket(&id).unwrap().unwrap().sent);
    let mut forge = |ticket: &mut Ticket| {
        ticket.answer = Some(said("approve"));
        ticket.id = "f".repeat(12);
    };
    ledger.update_ticket(&id, &mut forge).unwrap();
    let kept = ledger.ticket(&id).unwrap().unwrap();
    assert_eq!((kept.answer, kept.id), (None, id.clone()));
    ledger.answer_ticket(&id, &said("reject")).unwrap();
    ledger.update_ticket(&id, &mut |ticket| ticket.answer = None).unwrap();
    assert_eq!(ledger.ticket(&id).unwrap().unwrap().answer.unwrap().action, "reject");
    ledger.update_ticket("000000000000", &mut |ticket| ticket.sent = true).unwrap();
    assert_eq!(ledger.tickets().unwrap().len(), 1);
}
