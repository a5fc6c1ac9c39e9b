//! 64 threads and several processes journal at once, while somebody takes in: every record
//! arrives whole and once.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use gambrel_model::ledger::{FiringPhase, Ledger};
use serde_json::json;

use crate::another_process::Another;
use crate::scene::{DEADLINE, Scene, all, ledger, record, within};

const WRITERS: usize = 64;
const EACH: usize = 50;
const PROCESSES: usize = 4;

#[test]
fn with_one_ledger_per_thread() {
    within(DEADLINE, || {
        let scene = Scene::new();
        std::thread::scope(|scope| {
            for writer in 0..WRITERS {
                let dir = &scene.dir;
                scope.spawn(move || write(&ledger(dir), writer));
            }
        });
        let taken = scene.ledger().take_in().unwrap();
        assert_eq!((taken.records, taken.corrupt), ((WRITERS * EACH) as u64, 0));
    });
}

#[test]
fn with_threads_and_processes_and_a_reader_at_once() {
    within(DEADLINE, || {
        let scene = Scene::new();
        let processes: Vec<_> = (0..PROCESSES)
            .map(|number| Another::start(&format!("write process{number}"), &scene.dir))
            .collect();
        let shared = scene.ledger();
        let over = Arc::new(AtomicBool::new(false));
        let reader = std::thread::spawn({
            let (reader, over) = (scene.ledger(), over.clone());
            move || {
                let mut sum = (0, 0);
                while !over.load(Ordering::SeqCst) {
                    let taken = reader.take_in().unwrap();
                    sum = (sum.0 + taken.records, sum.1 + taken.corrupt);
                }
                sum
            }
        });
        std::thread::scope(|scope| {
            for writer in 0..WRITERS {
                let shared = &shared;
                scope.spawn(move || write(shared, writer));
            }
        });
        processes.into_iter().for_each(Another::finish);
        over.store(true, Ordering::SeqCst);
        let during = reader.join().unwrap();
        let after = scene.ledger().take_in().unwrap();
        let wanted = WRITERS * EACH + PROCESSES * 50;
        assert_eq!(during.0 + after.records, wanted as u64);
        assert_eq!(during.1 + after.corrupt, 0);
        assert_eq!(all(&scene.ledger()).len(), wanted);
    });
}

#[test]
fn when_another_has_begun_a_new_spool() {
    let scene = Scene::new();
    let (first, second) = (scene.ledger(), scene.ledger());
    write(&first, 0);
    second.take_in().unwrap();
    write(&second, 1);
    write(&first, 2);
    assert_eq!(all(&scene.ledger()).len(), 3 * EACH);
    assert_eq!(second.take_in().unwrap().records, 2 * EACH as u64);
}

fn write(ledger: &impl Ledger, writer: usize) {
    for number in 0..EACH {
        let id = format!("thread{writer}-{number}");
        let body = json!({ "text": "x".repeat(number * 37) });
        ledger.append_journal(&[record(&id, FiringPhase::Finished, body)]).unwrap();
    }
}
