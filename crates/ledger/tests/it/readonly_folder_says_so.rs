//! A folder that cannot be used is an error in words, with the path and a way out; never a
//! panic, and never a wait. None of these needs permissions, so they hold for root too.

use std::os::unix::fs::symlink;
use std::path::Path;

use gambrel_model::ledger::{FiringPhase, Ledger, LedgerError};
use serde_json::json;

use crate::scene::{DEADLINE, Scene, all, journal_firing, ledger, record, within};

#[test]
fn when_a_file_stands_in_its_place() {
    within(DEADLINE, || {
        let scene = Scene::new();
        std::fs::write(&scene.dir, b"not a folder").unwrap();
        for error in every_write(&scene.dir) {
            assert!(error.to_string().contains("state of things"), "{error}");
            assert!(error.why.contains("GAMBREL_STATE_DIR"), "{error}");
        }
    });
}

#[test]
fn when_nothing_can_be_made_there() {
    within(DEADLINE, || {
        for error in every_write(Path::new("/proc/gambrel-test/state")) {
            assert!(error.to_string().contains("/proc/gambrel-test"), "{error}");
        }
        assert!(all(&ledger(Path::new("/proc/gambrel-test/state"))).is_empty());
    });
}

#[test]
#[cfg(target_os = "linux")]
fn when_the_disk_is_full() {
    within(DEADLINE, || {
        let scene = Scene::new();
        std::fs::create_dir(&scene.dir).unwrap();
        symlink("/dev/full", scene.file("spool.jsonl")).unwrap();
        let full = record("x-1", FiringPhase::Accepted, json!({}));
        let error = scene.ledger().append_journal(std::slice::from_ref(&full)).unwrap_err();
        assert!(error.why.contains("make room"), "{error}");
    });
}

#[test]
fn when_a_pipe_or_folder_stands_in_for_a_file() {
    within(DEADLINE, || {
        let scene = Scene::new();
        for name in ["spool.jsonl", "trust.json", "ledger.db", "take.lock"] {
            std::fs::create_dir_all(scene.file(name)).unwrap();
        }
        assert!(
            scene
                .ledger()
                .append_journal(&[record("x-1", FiringPhase::Accepted, json!({}))])
                .is_err()
        );
        assert!(scene.ledger().trust().is_err());
        assert!(scene.ledger().take_in().is_err());
    });
}

#[test]
fn and_reading_works_without_a_database() {
    within(DEADLINE, || {
        let scene = Scene::new();
        journal_firing(&scene.ledger(), "only-in-spool");
        std::fs::create_dir(scene.file("ledger.db")).unwrap();
        assert!(scene.ledger().take_in().is_err());
        assert_eq!(all(&scene.ledger()).len(), 1);
        assert_eq!(scene.ledger().firing("only").unwrap().unwrap().records.len(), 3);
    });
}

#[test]
fn and_a_state_that_cannot_be_replaced_stays_as_it_was() {
    let scene = Scene::new();
    let count = |number: u64| {
        scene.ledger().update_session("s", &mut |state| {
            state.counts.insert("n".to_owned(), number);
        })
    };
    count(1).unwrap();
    let sessions = std::fs::read_dir(scene.file("sessions")).unwrap();
    let file = sessions
        .map(|entry| entry.unwrap().path())
        .find(|path| path.extension().is_some_and(|ending| ending == "json"))
        .unwrap();
    std::fs::create_dir(file.with_extension("json.tmp")).unwrap();
    assert!(count(2).is_err());
    assert_eq!(scene.ledger().session_state("s").unwrap().counts["n"], 1);
}

fn every_write(dir: &Path) -> Vec<LedgerError> {
    let ledger = ledger(dir);
    let counted = ledger.update_session("s", &mut |state| {
        state.counts.insert("n".to_owned(), 1);
    });
    vec![
        ledger.append_journal(&[record("x-1", FiringPhase::Accepted, json!({}))]).unwrap_err(),
        counted.unwrap_err(),
        ledger.update_trust(&mut |_| ()).unwrap_err(),
    ]
}
