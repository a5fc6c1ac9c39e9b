//! A firing whose process died without a decision says so; a living one is still running.

use gambrel_ledger::FiringState;
use gambrel_model::ledger::{FiringPhase, JournalRecord, Ledger};
use serde_json::json;

use crate::another_process::Another;
use crate::scene::{DEADLINE, Scene, all, journal_firing, record, within};

#[test]
fn when_its_process_was_killed() {
    within(DEADLINE, || {
        let scene = Scene::new();
        let mut process = Another::start("accept crash-1", &scene.dir);
        process.wait_until_ready();
        let firing = scene.ledger().firing("crash-1").unwrap().unwrap();
        assert_eq!((firing.state, firing.records[0].pid), (FiringState::Running, process.id()));
        process.kill();
        assert_eq!(state(&scene, "crash-1"), FiringState::Interrupted);
        scene.ledger().take_in().unwrap();
        assert_eq!(state(&scene, "crash-1"), FiringState::Interrupted);
    });
}

#[test]
#[cfg(target_os = "linux")]
fn when_nobody_has_reaped_its_process() {
    within(DEADLINE, || {
        let scene = Scene::new();
        let mut process = Another::start("accept crash-2", &scene.dir);
        process.wait_until_ready();
        process.strike();
        while state(&scene, "crash-2") != FiringState::Interrupted {
            std::thread::yield_now();
        }
    });
}

#[test]
fn when_its_number_belongs_to_a_younger_process() {
    let scene = Scene::new();
    let long_ago =
        JournalRecord { at: 1_000, ..record("reused-1", FiringPhase::Started, json!(null)) };
    scene.ledger().append_journal(std::slice::from_ref(&long_ago)).unwrap();
    let wanted =
        if cfg!(target_os = "linux") { FiringState::Interrupted } else { FiringState::Running };
    assert_eq!(state(&scene, "reused-1"), wanted);
}

#[test]
fn but_not_when_it_had_decided() {
    let scene = Scene::new();
    journal_firing(&scene.ledger(), "decided-1");
    scene
        .ledger()
        .append_journal(&[record("decided-1", FiringPhase::Late, json!("late"))])
        .unwrap();
    let firings = all(&scene.ledger());
    assert_eq!(firings.len(), 1);
    assert_eq!((firings[0].state, firings[0].records.len()), (FiringState::Finished, 4));
}

fn state(scene: &Scene, id: &str) -> FiringState {
    scene.ledger().firing(id).unwrap().unwrap().state
}
