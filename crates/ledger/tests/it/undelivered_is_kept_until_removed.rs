//! Undelivered entries of a session stay until they are delivered.

use gambrel_ledger::LocalLedger;
use gambrel_model::ledger::{SessionState, Sessions, Undelivered};
use gambrel_model::verdict::Verdict;

use crate::fixture::LedgerFixture;

#[test]
fn keeps_undelivered_entries_by_session() {
    let fixture = LedgerFixture::new();
    add_undelivered(&fixture.ledger(), "s/1", "d-1");
    add_undelivered(&fixture.ledger(), "s/1", "d-2");
    add_undelivered(&fixture.ledger(), "s_1", "other");
    assert_eq!(undelivered_ids(&fixture.ledger(), "s/1"), ["d-1", "d-2"]);
    assert_eq!(
        undelivered_ids(&fixture.ledger(), "s_1"),
        ["other"],
        "names that look alike are two sessions"
    );
    let mut deliver =
        |state: &mut SessionState| state.undelivered.retain(|entry| entry.id != "d-1");
    fixture.ledger().update_session("s/1", &mut deliver).unwrap();
    assert_eq!(undelivered_ids(&fixture.ledger(), "s/1"), ["d-2"]);
}

#[test]
fn reading_an_unknown_session_creates_nothing() {
    let fixture = LedgerFixture::new();
    assert_eq!(fixture.ledger().session_state("nobody").unwrap(), SessionState::default());
    assert!(!fixture.dir.exists());
}

#[test]
fn removes_the_file_of_an_empty_session() {
    let fixture = LedgerFixture::new();
    add_undelivered(&fixture.ledger(), "s", "d-1");
    assert_eq!(session_files(&fixture).len(), 1);
    fixture.ledger().update_session("s", &mut |state| state.undelivered.clear()).unwrap();
    assert_eq!(session_files(&fixture), Vec::<String>::new());
}

#[test]
fn hostile_session_names_stay_in_the_folder() {
    let fixture = LedgerFixture::new();
    for name in ["../../escape", "", ".", "a\0b", "ü/%2e%2e", &"long".repeat(500)] {
        add_undelivered(&fixture.ledger(), name, "d");
        assert_eq!(undelivered_ids(&fixture.ledger(), name), ["d"]);
    }
    assert_eq!(session_files(&fixture).len(), 6);
}

#[test]
fn reports_a_damaged_state_once_and_moves_it_aside() {
    let fixture = LedgerFixture::new();
    add_undelivered(&fixture.ledger(), "s", "d-1");
    let file = fixture.file("sessions").join(&session_files(&fixture)[0]);
    std::fs::write(&file, b"{\"owed\": [").unwrap();
    assert!(fixture.ledger().session_state("s").is_err());
    let error = fixture.ledger().update_session("s", &mut |_| ()).unwrap_err();
    assert!(error.detail.contains("moved to"), "{error}");
    add_undelivered(&fixture.ledger(), "s", "d-2");
    assert_eq!(undelivered_ids(&fixture.ledger(), "s"), ["d-2"]);
}

fn add_undelivered(ledger: &LocalLedger, session: &str, id: &str) {
    let entry = Undelivered::new(id, "a hook", Verdict::default());
    ledger.update_session(session, &mut |state| state.undelivered.push(entry.clone())).unwrap();
}

fn undelivered_ids(ledger: &LocalLedger, session: &str) -> Vec<String> {
    ledger.session_state(session).unwrap().undelivered.into_iter().map(|entry| entry.id).collect()
}

fn session_files(fixture: &LedgerFixture) -> Vec<String> {
    std::fs::read_dir(fixture.file("sessions"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.ends_with(".json"))
        .collect()
}
