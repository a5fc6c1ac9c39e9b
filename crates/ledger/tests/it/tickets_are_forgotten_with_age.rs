//! What nobody can use any more goes after its time; what is open stays, however old.

use std::time::Duration;

use gambrel_ledger::{Limits, LocalLedger, Redactor};
use gambrel_model::ledger::Ledger;
use gambrel_model::ticket::Ticket;

use crate::questions::{HOUR, asked, expired, said, until_later};
use crate::scene::{Scene, journal_firing, now};

fn short(scene: &Scene, age: Duration) -> LocalLedger {
    let limits = Limits { age, ..Limits::default() };
    LocalLedger::with_limits(scene.dir.clone(), Redactor::default(), limits)
}

#[test]
fn when_the_journal_is_taken_in() {
    let scene = Scene::new();
    let ledger = short(&scene, Duration::from_millis(1));
    let late = expired(&ledger, "late").ticket.id;
    let answered = ledger.open_ticket(&asked("answered")).unwrap().ticket.id;
    ledger.answer_ticket(&answered, &said("approve")).unwrap();
    let open = ledger.open_ticket(&asked("open")).unwrap().ticket.id;
    until_later(now() + 5);
    journal_firing(&ledger, "any-1");
    ledger.take_in().unwrap();
    assert_eq!(ledger.ticket(&late).unwrap(), None);
    assert_eq!(ledger.ticket(&answered).unwrap(), None);
    assert!(ledger.ticket(&open).unwrap().is_some());
}

#[test]
fn and_not_before() {
    let scene = Scene::new();
    let ledger = short(&scene, Duration::from_secs(3600));
    let late = ledger.open_ticket(&Ticket { expires: now() - HOUR / 2, ..asked("late") }).unwrap();
    journal_firing(&ledger, "any-1");
    ledger.take_in().unwrap();
    assert!(ledger.ticket(&late.ticket.id).unwrap().is_some());
}

#[test]
fn the_newest_are_listed_first() {
    let scene = Scene::new();
    let ledger = scene.ledger();
    let mut ids = Vec::new();
    for number in 0..3 {
        ids.insert(0, ledger.open_ticket(&asked(&number.to_string())).unwrap().ticket.id);
        until_later(now());
    }
    std::fs::write(scene.file("tickets/0123456789ab.json"), "not a ticket").unwrap();
    let listed: Vec<_> = ledger.tickets().unwrap().into_iter().map(|ticket| ticket.id).collect();
    assert_eq!(listed, ids);
}
