//! A stranger who holds a lock costs a moment and an error, not the session.

use std::fs::File;
use std::time::Duration;

use gambrel_model::ledger::{Ledger, Stage};
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
        let error = scene.ledger().journal(&[record("x-1", Stage::Late, json!(1))]).unwrap_err();
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
        let mut count = |state: &mut gambrel_model::ledger::SessionState| {
            *state.counts.entry("n".to_owned()).or_default() += 1;
        };
        scene.ledger().amend("s", &mut count).unwrap();
        scene.ledger().amend_trust(&mut |_| ()).unwrap();
        let locks: Vec<_> = std::fs::read_dir(scene.file("sessions"))
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .filter(|name| name.ends_with(".lock"))
            .map(|name| hold(&scene, &format!("sessions/{name}")))
            .chain([hold(&scene, "trust.lock")])
            .collect();
        assert_eq!(locks.len(), 2);
        assert!(scene.ledger().amend("s", &mut count).is_err());
        assert!(scene.ledger().amend_trust(&mut |_| ()).is_err());
        assert_eq!(scene.ledger().session("s").unwrap().counts["n"], 1);
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

fn hold(scene: &Scene, name: &str) -> File {
    let file = File::open(scene.file(name)).unwrap();
    flock(&file, FlockOperation::LockExclusive).unwrap();
    file
}
