//! The first answer counts, from any thread or process.

use std::process::{Child, Command, Stdio};
use std::sync::Barrier;
use std::thread;

use gambrel_ledger::MemoryLedger;
use gambrel_model::ledger::{Ledger, Tickets};
use gambrel_model::ticket::{Answer, AnswerResult, TicketState};

use crate::fixture::{LedgerFixture, TEST_TIMEOUT, now, run_within};
use crate::test_tickets::{new_answer, new_ticket, open_expired_ticket};

const NAME: &str = "GAMBREL_LEDGER_TEST_ANSWERER";
const DIR: &str = "GAMBREL_LEDGER_TEST_TICKETS";

#[test]
fn a_second_answer_returns_the_first() {
    let fixture = LedgerFixture::new();
    let ledgers: [Box<dyn Ledger>; 2] = [Box::new(fixture.ledger()), Box::new(MemoryLedger::new())];
    for ledger in ledgers {
        let id = ledger.open_ticket(&new_ticket("once")).unwrap().ticket.id;
        let AnswerResult::Recorded(first) =
            ledger.answer_ticket(&id, &new_answer("approve")).unwrap()
        else {
            panic!("it was not recorded");
        };
        let again = ledger.answer_ticket(&id, &new_answer("reject")).unwrap();
        assert_eq!(again, AnswerResult::AlreadyAnswered(first.clone()));
        let kept = ledger.find_ticket(&id).unwrap().unwrap();
        assert_eq!(kept.answer, Some(first));
        assert_eq!(kept.state_at(kept.expires + 1), TicketState::Answered);
    }
}

#[test]
fn the_ledger_sets_the_time_of_an_answer() {
    let fixture = LedgerFixture::new();
    let ledger = fixture.ledger();
    let id = ledger.open_ticket(&new_ticket("time")).unwrap().ticket.id;
    let before = now();
    let forged = Answer { at: 1, ..new_answer("approve") };
    let AnswerResult::Recorded(answer) = ledger.answer_ticket(&id, &forged).unwrap() else {
        panic!("it was not recorded");
    };
    assert!((before..=now()).contains(&answer.at), "{}", answer.at);
}

#[test]
fn expired_spent_and_unknown_tickets_accept_no_answer() {
    let fixture = LedgerFixture::new();
    let ledger = fixture.ledger();
    let late = open_expired_ticket(&ledger, "late");
    assert_eq!(
        ledger.answer_ticket(&late.ticket.id, &new_answer("approve")).unwrap(),
        AnswerResult::Expired
    );
    let spent = ledger.open_ticket(&new_ticket("spent")).unwrap().ticket.id;
    ledger.update_ticket(&spent, &mut |ticket| ticket.spent = true).unwrap();
    assert_eq!(
        ledger.answer_ticket(&spent, &new_answer("approve")).unwrap(),
        AnswerResult::Expired
    );
    for id in ["", "000000000000", "../trust", "secret", "0\0", &"0".repeat(65)] {
        assert_eq!(
            ledger.answer_ticket(id, &new_answer("approve")).unwrap(),
            AnswerResult::Unknown,
            "{id}"
        );
        assert_eq!(ledger.find_ticket(id).unwrap(), None, "{id}");
    }
    assert_eq!(ledger.find_ticket(&late.ticket.id).unwrap().unwrap().answer, None);
}

#[test]
fn one_answer_of_many_threads_counts() {
    run_within(TEST_TIMEOUT, || {
        let fixture = LedgerFixture::new();
        let id = fixture.ledger().open_ticket(&new_ticket("race")).unwrap().ticket.id;
        let start = Barrier::new(16);
        let taken: Vec<AnswerResult> = thread::scope(|scope| {
            let racer = |number: usize| {
                let (fixture, id, start) = (&fixture, &id, &start);
                scope.spawn(move || {
                    let ledger = fixture.ledger();
                    start.wait();
                    ledger.answer_ticket(id, &new_answer(&number.to_string())).unwrap()
                })
            };
            let racers: Vec<_> = (0..16).map(racer).collect();
            racers.into_iter().map(|racer| racer.join().unwrap()).collect()
        });
        let kept = fixture.ledger().find_ticket(&id).unwrap().unwrap().answer.unwrap();
        let first = taken.iter().filter(|taken| **taken == AnswerResult::Recorded(kept.clone()));
        let later =
            taken.iter().filter(|taken| **taken == AnswerResult::AlreadyAnswered(kept.clone()));
        assert_eq!((first.count(), later.count()), (1, 15), "{taken:?}");
    });
}

#[test]
fn one_answer_of_several_processes_counts() {
    let fixture = LedgerFixture::new();
    let ledger = fixture.ledger();
    let opened: Vec<_> =
        (0..20).map(|n| ledger.open_ticket(&new_ticket(&format!("q{n}"))).unwrap()).collect();
    let start = |name: &str| {
        Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "tickets_have_one_answer::answers_all_tickets", "--nocapture"])
            .env(NAME, name)
            .env(DIR, &fixture.dir)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap()
    };
    let racers = ["a", "b", "c"].map(start);
    let recorded: usize = run_within(TEST_TIMEOUT, || racers.map(recorded_count)).iter().sum();
    assert_eq!(recorded, opened.len());
    for opened in &opened {
        let answer = ledger.find_ticket(&opened.ticket.id).unwrap().unwrap().answer.unwrap();
        assert!(["a", "b", "c"].contains(&answer.action.as_str()), "{answer:?}");
    }
}

/// The number of answers that a process reports as recorded.
fn recorded_count(racer: Child) -> usize {
    let out = String::from_utf8(racer.wait_with_output().unwrap().stdout).unwrap();
    let count = out.lines().find_map(|line| line.strip_prefix("recorded: "));
    count.unwrap_or_else(|| panic!("{out}")).parse().unwrap()
}

/// Does nothing unless started by another test.
#[test]
fn answers_all_tickets() {
    let (Ok(name), Some(dir)) = (std::env::var(NAME), std::env::var_os(DIR)) else { return };
    let ledger = crate::fixture::open_ledger(std::path::Path::new(&dir));
    let taken = ledger.list_tickets().unwrap().into_iter().map(|ticket| {
        let taken = ledger.answer_ticket(&ticket.id, &new_answer(&name)).unwrap();
        usize::from(matches!(taken, AnswerResult::Recorded(_)))
    });
    println!("\nrecorded: {}", taken.sum::<usize>());
}
