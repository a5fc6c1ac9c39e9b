//! What is owed to a session outlives the process, and goes only when it is paid.

use gambrel_ledger::LocalLedger;
use gambrel_model::ledger::{Ledger, SessionState, Undelivered};
use gambrel_model::verdict::Verdict;

use crate::scene::Scene;

#[test]
fn across_ledgers_and_sessions() {
    let scene = Scene::new();
    owe(&scene.ledger(), "s/1", "d-1");
    owe(&scene.ledger(), "s/1", "d-2");
    owe(&scene.ledger(), "s_1", "other");
    assert_eq!(owed(&scene.ledger(), "s/1"), ["d-1", "d-2"]);
    assert_eq!(owed(&scene.ledger(), "s_1"), ["other"], "names that look alike are two sessions");
    let mut pay = |state: &mut SessionState| state.undelivered.retain(|debt| debt.id != "d-1");
    scene.ledger().update_session("s/1", &mut pay).unwrap();
    assert_eq!(owed(&scene.ledger(), "s/1"), ["d-2"]);
}

#[test]
fn an_unknown_session_is_empty_and_leaves_no_trace() {
    let scene = Scene::new();
    assert_eq!(scene.ledger().session_state("nobody").unwrap(), SessionState::default());
    assert!(!scene.dir.exists());
}

#[test]
fn a_session_with_nothing_left_has_no_file() {
    let scene = Scene::new();
    owe(&scene.ledger(), "s", "d-1");
    assert_eq!(session_files(&scene).len(), 1);
    scene.ledger().update_session("s", &mut |state| state.undelivered.clear()).unwrap();
    assert_eq!(session_files(&scene), Vec::<String>::new());
}

#[test]
fn hostile_names_stay_in_the_folder() {
    let scene = Scene::new();
    for name in ["../../escape", "", ".", "a\0b", "ü/%2e%2e", &"long".repeat(500)] {
        owe(&scene.ledger(), name, "d");
        assert_eq!(owed(&scene.ledger(), name), ["d"]);
    }
    assert_eq!(session_files(&scene).len(), 6);
}

#[test]
fn a_damaged_state_is_said_once_and_kept_aside() {
    let scene = Scene::new();
    owe(&scene.ledger(), "s", "d-1");
    let file = scene.file("sessions").join(&session_files(&scene)[0]);
    std::fs::write(&file, b"{\"owed\": [").unwrap();
    assert!(scene.ledger().session_state("s").is_err());
    let error = scene.ledger().update_session("s", &mut |_| ()).unwrap_err();
    assert!(error.why.contains("moved to"), "{error}");
    owe(&scene.ledger(), "s", "d-2");
    assert_eq!(owed(&scene.ledger(), "s"), ["d-2"]);
}

fn owe(ledger: &LocalLedger, session: &str, id: &str) {
    let debt = Undelivered::new(id, "a hook", Verdict::default());
    ledger.update_session(session, &mut |state| state.undelivered.push(debt.clone())).unwrap();
}

fn owed(ledger: &LocalLedger, session: &str) -> Vec<String> {
    ledger.session_state(session).unwrap().undelivered.into_iter().map(|debt| debt.id).collect()
}

fn session_files(scene: &Scene) -> Vec<String> {
    std::fs::read_dir(scene.file("sessions"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.ends_with(".json"))
        .collect()
}
