//! Only the first answer counts, however close together they come.

use std::sync::{Arc, Barrier};
use std::thread;

use gambrel_ledger::MemoryLedger;
use gambrel_server::{ServerConfig, listen};

use crate::fixture::{ServerFixture, open_ticket, path_of, port_of};
use crate::http_client::TestRequest;

const RACERS: usize = 64;

#[test]
fn shows_the_first_answer_to_the_second() {
    let fixture = ServerFixture::new();
    let opened = fixture.open_ticket("second");
    let path = path_of(&opened);
    let first = r#"{"action":"approve","message":"yes"}"#;
    assert_eq!(fixture.post(&path, first).send().status, 200);
    for answer in [first, "action=reject", ""] {
        let got = fixture.post(&path, answer).send();
        assert_eq!(got.status, 409, "{got:?}");
        let body = got.json();
        assert_eq!((&body["status"], &body["action"]), (&"already".into(), &"approve".into()));
        assert_eq!(body["message"], "yes");
        assert_eq!(body["at"], fixture.answer_of(&opened).unwrap().at);
    }
    assert_eq!(fixture.answer_of(&opened).unwrap().action, "approve");
}

#[test]
fn one_of_64_concurrent_answers_wins() {
    let fixture = ServerFixture::new();
    let keys: Vec<usize> = (0..1000).collect();
    thread::scope(|scope| {
        for part in keys.chunks(250) {
            let config = &fixture.config;
            scope.spawn(move || {
                part.iter().for_each(|key| {
                    open_ticket(config, &format!("open {key}"));
                });
            });
        }
    });
    let opened = fixture.open_ticket("open 500");
    assert_eq!(fixture.config.ledger.list_tickets().unwrap().len(), 1000);
    let won = race_answers(fixture.port, &path_of(&opened));
    assert_eq!(fixture.answer_of(&opened).unwrap().message, won);
    let tickets = fixture.config.ledger.list_tickets().unwrap();
    assert_eq!(tickets.iter().filter(|ticket| ticket.answer.is_some()).count(), 1);
}

#[test]
fn one_concurrent_answer_wins_in_memory() {
    let ledger = Arc::new(MemoryLedger::new());
    let ledger_id = "in memory".into();
    let config = ServerConfig { ledger, key: None, ledger_id, public_url: None };
    let listening = listen(&config, 0).unwrap();
    for round in 0..20 {
        let opened = open_ticket(&config, &format!("round {round}"));
        race_answers(port_of(listening.base()), &path_of(&opened));
    }
}

/// Sends all answers at once and returns the message of the winner.
fn race_answers(port: u16, path: &str) -> String {
    let start = Barrier::new(RACERS);
    let results: Vec<(u16, String, String)> = thread::scope(|scope| {
        let run = |number: usize| {
            let (action, start) = (["approve", "reject"][number % 2], &start);
            let body = format!("action={action}&message={number}");
            scope.spawn(move || {
                start.wait();
                let got = TestRequest::post(port, path, &body).send();
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
