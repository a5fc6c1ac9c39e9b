//! One answer counts, whoever else comes and however close together.

use std::sync::{Arc, Barrier};
use std::thread;

use gambrel_ledger::MemoryLedger;
use gambrel_server::{Desk, listen};

use crate::caller::Ask;
use crate::scene::{Scene, open, path_of, port_of};

const RACERS: usize = 64;

#[test]
fn the_second_is_shown_the_first() {
    let scene = Scene::new();
    let opened = scene.open("second");
    let path = path_of(&opened);
    let first = r#"{"action":"approve","message":"yes"}"#;
    assert_eq!(scene.post(&path, first).send().status, 200);
    for body in [first, "action=reject", ""] {
        let got = scene.post(&path, body).send();
        assert_eq!(got.status, 409, "{got:?}");
        let said = got.json();
        assert_eq!((&said["status"], &said["action"]), (&"already".into(), &"approve".into()));
        assert_eq!(said["message"], "yes");
        assert_eq!(said["at"], scene.answer(&opened).unwrap().at);
    }
    assert_eq!(scene.answer(&opened).unwrap().action, "approve");
}

#[test]
fn of_sixty_four_at_once_among_a_thousand_questions() {
    let scene = Scene::new();
    let keys: Vec<usize> = (0..1000).collect();
    thread::scope(|scope| {
        for part in keys.chunks(250) {
            let desk = &scene.desk;
            scope.spawn(move || {
                part.iter().for_each(|key| {
                    open(desk, &format!("open {key}"));
                });
            });
        }
    });
    let opened = scene.open("open 500");
    assert_eq!(scene.desk.ledger.tickets().unwrap().len(), 1000);
    let won = race(scene.port, &path_of(&opened));
    assert_eq!(scene.answer(&opened).unwrap().message, won);
    let tickets = scene.desk.ledger.tickets().unwrap();
    assert_eq!(tickets.iter().filter(|ticket| ticket.answer.is_some()).count(), 1);
}

#[test]
fn in_memory_too() {
    let ledger = Arc::new(MemoryLedger::new());
    let desk = Desk { ledger, key: None, mark: "in memory".into() };
    let listening = listen(&desk, 0).unwrap();
    for round in 0..20 {
        let opened = open(&desk, &format!("round {round}"));
        race(port_of(listening.base()), &path_of(&opened));
    }
}

/// The message of the one that won.
fn race(port: u16, path: &str) -> String {
    let start = Barrier::new(RACERS);
    let results: Vec<(u16, String, String)> = thread::scope(|scope| {
        let run = |number: usize| {
            let (action, start) = (["approve", "reject"][number % 2], &start);
            let body = format!("action={action}&message={number}");
            scope.spawn(move || {
                start.wait();
                let got = Ask::post(port, path, &body).send();
                (got.status, number.to_string(), got.json().to_string())
            })
        };
        let racers: Vec<_> = (0..RACERS).map(run).collect();
        racers.into_iter().map(|racer| racer.join().unwrap()).collect()
    });
    let won: Vec<_> = results.iter().filter(|(status, ..)| *status == 200).collect();
    let lost = results.iter().filter(|(status, ..)| *status == 409);
    assert_eq!((won.len(), lost.count()), (1, RACERS - 1), "{results:?}");
    won[0].1.clone()
}
