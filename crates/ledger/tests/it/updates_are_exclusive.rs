//! Threads and processes change the same state at once; no change is lost.

use gambrel_model::ledger::{Ledger, SessionState, Sessions, TrustEntry, TrustStore};

use crate::fixture::{LedgerFixture, TEST_TIMEOUT, open_ledger, run_within};
use crate::test_process::TestProcess;

const THREAD_COUNT: u64 = 8;
const PROCESS_COUNT: u64 = 4;
const UPDATE_COUNT: u64 = 25;

#[test]
fn session_updates_are_exclusive() {
    run_within(TEST_TIMEOUT, || {
        let fixture = LedgerFixture::new();
        let processes: Vec<_> = (0..PROCESS_COUNT)
            .map(|_| TestProcess::start(&format!("count {UPDATE_COUNT}"), &fixture.dir))
            .collect();
        std::thread::scope(|scope| {
            for _ in 0..THREAD_COUNT {
                let dir = &fixture.dir;
                scope.spawn(move || {
                    (0..UPDATE_COUNT).for_each(|_| increment_count(&open_ledger(dir)))
                });
            }
        });
        processes.into_iter().for_each(TestProcess::finish);
        let counted = fixture.ledger().session_state("shared").unwrap().counts["n"];
        assert_eq!(counted, (THREAD_COUNT + PROCESS_COUNT) * UPDATE_COUNT);
    });
}

#[test]
fn trust_updates_are_exclusive() {
    run_within(TEST_TIMEOUT, || {
        let fixture = LedgerFixture::new();
        std::thread::scope(|scope| {
            for thread in 0..THREAD_COUNT {
                let dir = &fixture.dir;
                scope.spawn(move || add_trust_entries(&open_ledger(dir), thread));
            }
        });
        assert_eq!(fixture.ledger().trust_entries().unwrap().len(), 8 * 3);
    });
}

fn increment_count(ledger: &impl Ledger) {
    let mut once = |state: &mut SessionState| {
        *state.counts.entry("n".to_owned()).or_default() += 1;
    };
    ledger.update_session("shared", &mut once).unwrap();
}

fn add_trust_entries(ledger: &impl TrustStore, thread: u64) {
    for number in 0..3 {
        let shown = "make check".to_owned();
        let entry = TrustEntry {
            hash: "h".to_owned(),
            denied: false,
            shown,
            at: 1,
            ..TrustEntry::default()
        };
        let mut insert = |entries: &mut std::collections::BTreeMap<String, TrustEntry>| {
            entries.insert(format!("{thread}/{number}"), entry.clone());
        };
        ledger.update_trust(&mut insert).unwrap();
    }
}
