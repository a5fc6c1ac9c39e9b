//! The first answer counts, whoever brings it and from wherever.

use std::process::{Child, Command, Stdio};
use std::sync::Barrier;
use std::thread;

use gambrel_ledger::MemoryLedger;
use gambrel_model::ledger::Ledger;
use gambrel_model::ticket::{Answer, AnswerResult, TicketState};

use crate::questions::{asked, expired, said};
use crate::scene::{DEADLINE, Scene, now, within};

const NAME: &str = "GAMBREL_LEDGER_TEST_ANSWERER";
const DIR: &str = "GAMBREL_LEDGER_TEST_TICKETS";

#[test]
fn the_second_is_shown_the_first() {
    let scene = Scene::new();
    let ledgers: [Box<dyn Ledger>; 2] = [Box::new(scene.ledger()), Box::new(MemoryLedger::new())];
    for ledger in ledgers {
        let id = ledger.open_ticket(&asked("once")).unwrap().ticket.id;
        let AnswerResult::Recorded(first) = ledger.answer_ticket(&id, &said("approve")).unwrap()
        else {
            panic!("it was not recorded");
        };
        let again = ledger.answer_ticket(&id, &said("reject")).unwrap();
        assert_eq!(again, AnswerResult::AlreadyAnswered(first.clone()));
        let kept = ledger.ticket(&id).unwrap().unwrap();
        assert_eq!(kept.answer, Some(first));
        assert_eq!(kept.state_at(kept.expires + 1), TicketState::Answered);
    }
}

#[test]
fn the_time_of_an_answer_is_the_ledgers() {
    let scene = Scene::new();
    let ledger = scene.ledger();
    let id = ledger.open_ticket(&asked("time")).unwrap().ticket.id;
    let before = now();
    let forged = Answer { at: 1, ..said("approve") };
    let AnswerResult::Recorded(answer) = ledger.answer_ticket(&id, &forged).unwrap() else {
        panic!("it was not recorded");
    };
    assert!((before..=now()).contains(&answer.at), "{}", answer.at);
}

#[test]
fn what_is_over_or_unknown_takes_none() {
    let scene = Scene::new();
    let ledger = scene.ledger();
    let late = expired(&ledger, "late");
    assert_eq!(
        ledger.answer_ticket(&late.ticket.id, &said("approve")).unwrap(),
        AnswerResult::Expired
    );
    let spent = ledger.open_ticket(&asked("spent")).unwrap().ticket.id;
    ledger.update_ticket(&spent, &mut |ticket| ticket.spent = true).unwrap();
    assert_eq!(ledger.answer_ticket(&spent, &said("approve")).unwrap(), AnswerResult::Expired);
    for id in ["", "000000000000", "../trust", "secret", "0\0", &"0".repeat(65)] {
        assert_eq!(
            ledger.answer_ticket(id, &said("approve")).unwrap(),
            AnswerResult::Unknown,
            "{id}"
        );
        assert_eq!(ledger.ticket(id).unwrap(), None, "{id}");
    }
    assert_eq!(ledger.ticket(&late.ticket.id).unwrap().unwrap().answer, None);
}

#[test]
fn of_many_threads_with_ledgers_of_their_own() {
    within(DEADLINE, || {
        let scene = Scene::new();
        let id = scene.ledger().open_ticket(&asked("race")).unwrap().ticket.id;
        let start = Barrier::new(16);
        let taken: Vec<AnswerResult> = thread::scope(|scope| {
            let racer = |number: usize| {
                let (scene, id, start) = (&scene, &id, &start);
                scope.spawn(move || {
                    let ledger = scene.ledger();
                    start.wait();
                    ledger.answer_ticket(id, &said(&number.to_string())).unwrap()
                })
            };
            let racers: Vec<_> = (0..16).map(racer).collect();
            racers.into_iter().map(|racer| racer.join().unwrap()).collect()
        });
        let kept = scene.ledger().ticket(&id).unwrap().unwrap().answer.unwrap();
        let first = taken.iter().filter(|taken| **taken == AnswerResult::Recorded(kept.clone()));
        let later =
            taken.iter().filter(|taken| **taken == AnswerResult::AlreadyAnswered(kept.clone()));
        assert_eq!((first.count(), later.count()), (1, 15), "{taken:?}");
    });
}

#[test]
fn of_several_processes() {
    let scene = Scene::new();
    let ledger = scene.ledger();
    let opened: Vec<_> =
        (0..20).map(|n| ledger.open_ticket(&asked(&format!("q{n}"))).unwrap()).collect();
    let start = |name: &str| {
        Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "tickets_have_one_answer::answers_everything", "--nocapture"])
            .env(NAME, name)
            .env(DIR, &scene.dir)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap()
    };
    let racers = ["a", "b", "c"].map(start);
    let recorded: usize = within(DEADLINE, || racers.map(recorded)).iter().sum();
    assert_eq!(recorded, opened.len());
    for opened in &opened {
        let answer = ledger.ticket(&opened.ticket.id).unwrap().unwrap().answer.unwrap();
        assert!(["a", "b", "c"].contains(&answer.action.as_str()), "{answer:?}");
    }
}

/// How many answers of a process counted, by its own word.
fn recorded(racer: Child) -> usize {
    let out = String::from_utf8(racer.wait_with_output().unwrap().stdout).unwrap();
    let count = out.lines().find_map(|line| line.strip_prefix("recorded: "));
    count.unwrap_or_else(|| panic!("{out}")).parse().unwrap()
}

/// Does nothing unless started by another test.
#[test]
fn answers_everything() {
    let (Ok(name), Some(dir)) = (std::env::var(NAME), std::env::var_os(DIR)) else { return };
    let ledger = crate::scene::ledger(std::path::Path::new(&dir));
    let taken = ledger.tickets().unwrap().into_iter().map(|ticket| {
        let taken = ledger.answer_ticket(&ticket.id, &said(&name)).unwrap();
        usize::from(matches!(taken, AnswerResult::Recorded(_)))
    });
    println!("\nrecorded: {}", taken.sum::<usize>());
}
