//! A lock of another process causes an error after a timeout, and no endless wait.

use std::fs::File;
use std::time::{Duration, Instant};

use gambrel_model::ledger::{FiringPhase, Journal, SessionState, Sessions, TrustStore};
use rusqlite::Connection;
use rustix::fs::{FlockOperation, flock};
use serde_json::json;

use crate::fixture::{LedgerFixture, all_firings, journal_firing, new_record, run_within};

/// Ten times the lock timeout, for a loaded machine.
const LOCK_TEST_TIMEOUT: Duration = Duration::from_secs(20);

#[test]
fn spool_writes_time_out() {
    run_within(LOCK_TEST_TIMEOUT, || {
        let fixture = LedgerFixture::new();
        journal_firing(&fixture.ledger(), "first-1");
        let _held = lock_file(&fixture, "spool.jsonl");
        let error = fixture
            .ledger()
            .append_journal(&[new_record("x-1", FiringPhase::Late, json!(1))])
            .unwrap_err();
        assert!(error.detail.contains("another process"), "{error}");
        assert!(fixture.ledger().import_journal().is_err());
        assert_eq!(all_firings(&fixture.ledger()).len(), 1, "reading needs no lock");
        journal_firing(&fixture.ledger(), "second-1");
        assert_eq!(all_firings(&fixture.ledger()).len(), 2, "a new spool was begun");
    });
}

#[test]
fn session_and_trust_updates_time_out() {
    run_within(LOCK_TEST_TIMEOUT, || {
        let fixture = LedgerFixture::new();
        fixture.ledger().update_session("s", &mut increment).unwrap();
        fixture.ledger().update_trust(&mut |_| ()).unwrap();
        let mut locks = lock_session_files(&fixture);
        locks.push(lock_file(&fixture, "trust.lock"));
        assert_eq!(locks.len(), 2);
        assert!(fixture.ledger().update_session("s", &mut increment).is_err());
        assert!(fixture.ledger().update_trust(&mut |_| ()).is_err());
        assert_eq!(fixture.ledger().session_state("s").unwrap().counts["n"], 1);
    });
}

/// A stuck process in one session does not affect other sessions.
#[test]
fn sessions_do_not_share_locks() {
    run_within(LOCK_TEST_TIMEOUT, || {
        let fixture = LedgerFixture::new();
        fixture.ledger().update_session("stuck", &mut increment).unwrap();
        let _held = lock_session_files(&fixture);
        for number in 0..64 {
            fixture.ledger().update_session(&format!("s-{number}"), &mut increment).unwrap();
        }
    });
}

#[test]
fn lock_timeout_is_configurable() {
    run_within(LOCK_TEST_TIMEOUT, || {
        let fixture = LedgerFixture::new();
        fixture.ledger().update_session("s", &mut increment).unwrap();
        let held = lock_session_files(&fixture);
        let ledger = fixture.ledger().with_lock_timeout(Duration::from_millis(300));
        let begun = Instant::now();
        let error = ledger.update_session("s", &mut increment).unwrap_err();
        assert!(error.detail.contains("another process"), "{error}");
        assert!(begun.elapsed() >= Duration::from_millis(290), "{:?}", begun.elapsed());
        // After a timeout, the next waits are short.
        let begun = Instant::now();
        (0..3).for_each(|_| assert!(ledger.update_session("s", &mut increment).is_err()));
        assert!(begun.elapsed() < Duration::from_millis(600), "{:?}", begun.elapsed());
        drop(held);
        ledger.update_session("s", &mut increment).unwrap();
        assert_eq!(
            ledger.session_state("s").unwrap().counts["n"],
            2,
            "a wait that timed out changes nothing"
        );
    });
}

/// A waiter sleeps in the kernel. Polling would wake it up hundreds of times.
#[test]
fn waits_for_a_lock_without_polling() {
    run_within(LOCK_TEST_TIMEOUT, || {
        let fixture = LedgerFixture::new();
        fixture.ledger().update_session("s", &mut increment).unwrap();
        let held = lock_session_files(&fixture);
        let dir = fixture.dir.clone();
        let waiter = std::thread::spawn(move || {
            crate::fixture::open_ledger(&dir).update_session("s", &mut increment).unwrap();
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

/// The lock file of an empty session is removed, also with many threads.
#[test]
fn removed_lock_files_are_opened_again() {
    run_within(Duration::from_secs(60), || {
        let fixture = LedgerFixture::new();
        std::thread::scope(|scope| {
            for number in 0..8 {
                let ledger = fixture.ledger();
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
        assert_eq!(std::fs::read_dir(fixture.file("sessions")).unwrap().count(), 0);
    });
}

#[test]
fn database_imports_time_out() {
    run_within(LOCK_TEST_TIMEOUT, || {
        let fixture = LedgerFixture::new();
        journal_firing(&fixture.ledger(), "first-1");
        fixture.ledger().import_journal().unwrap();
        journal_firing(&fixture.ledger(), "second-1");
        let other = Connection::open(fixture.file("ledger.db")).unwrap();
        other.execute_batch("BEGIN EXCLUSIVE").unwrap();
        let error = fixture.ledger().import_journal().unwrap_err();
        assert!(error.to_string().contains("locked"), "{error}");
        assert_eq!(all_firings(&fixture.ledger()).len(), 2);
        drop(other);
        assert_eq!(fixture.ledger().import_journal().unwrap().records, 3);
    });
}

fn increment(state: &mut SessionState) {
    *state.counts.entry("n".to_owned()).or_default() += 1;
}

fn lock_session_files(fixture: &LedgerFixture) -> Vec<File> {
    let names = std::fs::read_dir(fixture.file("sessions")).unwrap();
    let names = names.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let locks = names.filter(|name| name.ends_with(".lock"));
    locks.map(|name| lock_file(fixture, &format!("sessions/{name}"))).collect()
}

fn lock_file(fixture: &LedgerFixture, name: &str) -> File {
    let file = File::open(fixture.file(name)).unwrap();
    flock(&file, FlockOperation::LockExclusive).unwrap();
    file
}
