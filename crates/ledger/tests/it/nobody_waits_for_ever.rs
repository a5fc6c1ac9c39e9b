//! A stranger who holds a lock costs a moment and an error, not the session.

use std::fs::File;
use std::time::{Duration, Instant};

use gambrel_model::ledger::{FiringPhase, Ledger, SessionState};
use rusqlite::Connection;
use rustix::fs::{FlockOperation, flock};
use serde_json::json;

use crate::scene::{Scene, all, journal_firing, record, within};

/// Two seconds of patience, and a loaded machine.
const SOON: Duration = Duration::from_secs(20);

#[test]
fn for_the_spool() {
    within(SOON, || {
        let scene = Scene::new();
        journal_firing(&scene.ledger(), "first-1");
        let _held = hold(&scene, "spool.jsonl");
        let error = scene
            .ledger()
            .append_journal(&[record("x-1", FiringPhase::Late, json!(1))])
            .unwrap_err();
        assert!(error.why.contains("another process"), "{error}");
        assert!(scene.ledger().take_in().is_err());
        assert_eq!(all(&scene.ledger()).len(), 1, "reading needs no lock");
        journal_firing(&scene.ledger(), "second-1");
        assert_eq!(all(&scene.ledger()).len(), 2, "a new spool was begun");
    });
}

#[test]
fn for_a_session_and_for_trust() {
    within(SOON, || {
        let scene = Scene::new();
        scene.ledger().update_session("s", &mut count).unwrap();
        scene.ledger().update_trust(&mut |_| ()).unwrap();
        let mut locks = hold_locks(&scene);
        locks.push(hold(&scene, "trust.lock"));
        assert_eq!(locks.len(), 2);
        assert!(scene.ledger().update_session("s", &mut count).is_err());
        assert!(scene.ledger().update_trust(&mut |_| ()).is_err());
        assert_eq!(scene.ledger().session_state("s").unwrap().counts["n"], 1);
    });
}

/// A stuck process in one session is no trouble of the others, however many there are.
#[test]
fn for_the_lock_of_another_session() {
    within(SOON, || {
        let scene = Scene::new();
        scene.ledger().update_session("stuck", &mut count).unwrap();
        let _held = hold_locks(&scene);
        for number in 0..64 {
            scene.ledger().update_session(&format!("s-{number}"), &mut count).unwrap();
        }
    });
}

#[test]
fn for_a_session_longer_than_it_may() {
    within(SOON, || {
        let scene = Scene::new();
        scene.ledger().update_session("s", &mut count).unwrap();
        let held = hold_locks(&scene);
        let ledger = scene.ledger().with_lock_timeout(Duration::from_millis(300));
        let begun = Instant::now();
        let error = ledger.update_session("s", &mut count).unwrap_err();
        assert!(error.why.contains("another process"), "{error}");
        assert!(begun.elapsed() >= Duration::from_millis(290), "{:?}", begun.elapsed());
        // Whoever held it that long is not waited for again and again.
        let begun = Instant::now();
        (0..3).for_each(|_| assert!(ledger.update_session("s", &mut count).is_err()));
        assert!(begun.elapsed() < Duration::from_millis(600), "{:?}", begun.elapsed());
        drop(held);
        ledger.update_session("s", &mut count).unwrap();
        assert_eq!(
            ledger.session_state("s").unwrap().counts["n"],
            2,
            "a wait in vain changes nothing"
        );
    });
}

/// Who waits in the kernel sleeps: a waiter that looks again and again would wake up hundreds of
/// times.
#[test]
fn by_looking_again_and_again() {
    within(SOON, || {
        let scene = Scene::new();
        scene.ledger().update_session("s", &mut count).unwrap();
        let held = hold_locks(&scene);
        let dir = scene.dir.clone();
        let waiter = std::thread::spawn(move || {
            crate::scene::ledger(&dir).update_session("s", &mut count).unwrap();
            let status = std::fs::read_to_string("/proc/thread-self/status").unwrap();
            let line = status.lines().find(|line| line.starts_with("voluntary_ctxt")).unwrap();
            line.split_whitespace().nth(1).unwrap().parse::<u32>().unwrap()
        });
        std::thread::sleep(Duration::from_millis(700));
        drop(held);
        let switches = waiter.join().unwrap();
        assert!(switches < 30, "it woke up {switches} times");
    });
}

/// The lock of a session that is done goes with it, also under many who come and go.
#[test]
fn for_a_lock_that_is_removed() {
    within(Duration::from_secs(60), || {
        let scene = Scene::new();
        std::thread::scope(|scope| {
            for number in 0..8 {
                let ledger = scene.ledger();
                scope.spawn(move || {
                    let name = format!("n{number}");
                    for _ in 0..50 {
                        let mut come = |state: &mut SessionState| {
                            assert!(!state.counts.contains_key(&name));
                            state.counts.insert(name.clone(), 1);
                        };
                        ledger.update_session("s", &mut come).unwrap();
                        let mut go = |state: &mut SessionState| {
                            assert_eq!(state.counts.remove(&name), Some(1));
                        };
                        ledger.update_session("s", &mut go).unwrap();
                    }
                });
            }
        });
        assert_eq!(std::fs::read_dir(scene.file("sessions")).unwrap().count(), 0);
    });
}

#[test]
fn for_the_database() {
    within(SOON, || {
        let scene = Scene::new();
        journal_firing(&scene.ledger(), "first-1");
        scene.ledger().take_in().unwrap();
        journal_firing(&scene.ledger(), "second-1");
        let stranger = Connection::open(scene.file("ledger.db")).unwrap();
        stranger.execute_batch("BEGIN EXCLUSIVE").unwrap();
        let error = scene.ledger().take_in().unwrap_err();
        assert!(error.to_string().contains("locked"), "{error}");
        assert_eq!(all(&scene.ledger()).len(), 2);
        drop(stranger);
        assert_eq!(scene.ledger().take_in().unwrap().records, 3);
    });
}

fn count(state: &mut SessionState) {
    *state.counts.entry("n".to_owned()).or_default() += 1;
}

fn hold_locks(scene: &Scene) -> Vec<File> {
    let names = std::fs::read_dir(scene.file("sessions")).unwrap();
    let names = names.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let locks = names.filter(|name| name.ends_with(".lock"));
    locks.map(|name| hold(scene, &format!("sessions/{name}"))).collect()
}

fn hold(scene: &Scene, name: &str) -> File {
    let file = File::open(scene.file(name)).unwrap();
    flock(&file, FlockOperation::LockExclusive).unwrap();
    file
}
