//! An unusable folder causes an error with the path and help, never a panic or an endless wait. The
//! tests do not depend on permissions, so they also work for root.

use std::os::unix::fs::symlink;
use std::path::Path;

use gambrel_model::ledger::{FiringPhase, Journal, LedgerError, Sessions, TrustStore};
use serde_json::json;

use crate::fixture::{
    LedgerFixture, TEST_TIMEOUT, all_firings, journal_firing, new_record, open_ledger, run_within,
};

#[test]
fn reports_a_file_in_place_of_the_folder() {
    run_within(TEST_TIMEOUT, || {
        let fixture = LedgerFixture::new();
        std::fs::write(&fixture.dir, b"not a folder").unwrap();
        for error in errors_of_all_writes(&fixture.dir) {
            assert!(error.to_string().contains("state of things"), "{error}");
            assert!(error.detail.contains("GAMBREL_STATE_DIR"), "{error}");
        }
    });
}

#[test]
fn reports_a_folder_that_cannot_be_created() {
    run_within(TEST_TIMEOUT, || {
        for error in errors_of_all_writes(Path::new("/proc/gambrel-test/state")) {
            assert!(error.to_string().contains("/proc/gambrel-test"), "{error}");
        }
        assert!(all_firings(&open_ledger(Path::new("/proc/gambrel-test/state"))).is_empty());
    });
}

#[test]
#[cfg(target_os = "linux")]
fn reports_a_full_disk() {
    run_within(TEST_TIMEOUT, || {
        let fixture = LedgerFixture::new();
        std::fs::create_dir(&fixture.dir).unwrap();
        symlink("/dev/full", fixture.file("spool.jsonl")).unwrap();
        let full = new_record("x-1", FiringPhase::Accepted, json!({}));
        let error = fixture.ledger().append_journal(std::slice::from_ref(&full)).unwrap_err();
        assert!(error.detail.contains("make room"), "{error}");
    });
}

#[test]
fn reports_a_folder_in_place_of_a_file() {
    run_within(TEST_TIMEOUT, || {
        let fixture = LedgerFixture::new();
        for name in ["spool.jsonl", "trust.json", "ledger.db", "take.lock"] {
            std::fs::create_dir_all(fixture.file(name)).unwrap();
        }
        assert!(
            fixture
                .ledger()
                .append_journal(&[new_record("x-1", FiringPhase::Accepted, json!({}))])
                .is_err()
        );
        assert!(fixture.ledger().trust_entries().is_err());
        assert!(fixture.ledger().import_journal().is_err());
    });
}

#[test]
fn reads_firings_without_a_database() {
    run_within(TEST_TIMEOUT, || {
        let fixture = LedgerFixture::new();
        journal_firing(&fixture.ledger(), "only-in-spool");
        std::fs::create_dir(fixture.file("ledger.db")).unwrap();
        assert!(fixture.ledger().import_journal().is_err());
        assert_eq!(all_firings(&fixture.ledger()).len(), 1);
        assert_eq!(fixture.ledger().firing("only").unwrap().unwrap().records.len(), 3);
    });
}

#[test]
fn keeps_a_state_that_cannot_be_replaced() {
    let fixture = LedgerFixture::new();
    let count = |number: u64| {
        fixture.ledger().update_session("s", &mut |state| {
            state.counts.insert("n".to_owned(), number);
        })
    };
    count(1).unwrap();
    let sessions = std::fs::read_dir(fixture.file("sessions")).unwrap();
    let file = sessions
        .map(|entry| entry.unwrap().path())
        .find(|path| path.extension().is_some_and(|ending| ending == "json"))
        .unwrap();
    std::fs::create_dir(file.with_extension("json.tmp")).unwrap();
    assert!(count(2).is_err());
    assert_eq!(fixture.ledger().session_state("s").unwrap().counts["n"], 1);
}

fn errors_of_all_writes(dir: &Path) -> Vec<LedgerError> {
    let ledger = open_ledger(dir);
    let counted = ledger.update_session("s", &mut |state| {
        state.counts.insert("n".to_owned(), 1);
    });
    vec![
        ledger.append_journal(&[new_record("x-1", FiringPhase::Accepted, json!({}))]).unwrap_err(),
        counted.unwrap_err(),
        ledger.update_trust(&mut |_| ()).unwrap_err(),
    ]
}
