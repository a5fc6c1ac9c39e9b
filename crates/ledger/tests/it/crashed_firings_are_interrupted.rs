//! A firing is interrupted if its process ended without a decision.

use gambrel_model::ledger::{FiringPhase, FiringState, Journal, JournalRecord};
use serde_json::json;

use crate::fixture::{
    LedgerFixture, TEST_TIMEOUT, all_firings, journal_firing, new_record, run_within,
};
use crate::test_process::TestProcess;

#[test]
fn killed_firings_are_interrupted() {
    run_within(TEST_TIMEOUT, || {
        let fixture = LedgerFixture::new();
        let mut process = TestProcess::start("accept crash-1", &fixture.dir);
        process.wait_until_ready();
        let firing = fixture.ledger().firing("crash-1").unwrap().unwrap();
        assert_eq!(
            (firing.state, firing.records[0].origin.pid),
            (FiringState::Running, process.id())
        );
        process.kill();
        assert_eq!(state_of(&fixture, "crash-1"), FiringState::Interrupted);
        fixture.ledger().import_journal().unwrap();
        assert_eq!(state_of(&fixture, "crash-1"), FiringState::Interrupted);
    });
}

#[test]
#[cfg(target_os = "linux")]
fn firings_of_unreaped_processes_are_interrupted() {
    run_within(TEST_TIMEOUT, || {
        let fixture = LedgerFixture::new();
        let mut process = TestProcess::start("accept crash-2", &fixture.dir);
        process.wait_until_ready();
        process.kill_without_wait();
        while state_of(&fixture, "crash-2") != FiringState::Interrupted {
            std::thread::yield_now();
        }
    });
}

#[test]
fn firings_with_a_reused_pid_are_interrupted() {
    let fixture = LedgerFixture::new();
    let long_ago =
        JournalRecord { at: 1_000, ..new_record("reused-1", FiringPhase::Started, json!(null)) };
    fixture.ledger().append_journal(std::slice::from_ref(&long_ago)).unwrap();
    let wanted =
        if cfg!(target_os = "linux") { FiringState::Interrupted } else { FiringState::Running };
    assert_eq!(state_of(&fixture, "reused-1"), wanted);
}

#[test]
fn decided_firings_are_finished() {
    let fixture = LedgerFixture::new();
    journal_firing(&fixture.ledger(), "decided-1");
    fixture
        .ledger()
        .append_journal(&[new_record("decided-1", FiringPhase::Late, json!("late"))])
        .unwrap();
    let firings = all_firings(&fixture.ledger());
    assert_eq!(firings.len(), 1);
    assert_eq!((firings[0].state, firings[0].records.len()), (FiringState::Finished, 4));
}

fn state_of(fixture: &LedgerFixture, id: &str) -> FiringState {
    fixture.ledger().firing(id).unwrap().unwrap().state
}
