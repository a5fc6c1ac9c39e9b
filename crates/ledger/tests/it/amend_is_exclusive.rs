//! Many threads and processes count on one counter; no step is lost.

use gambrel_model::ledger::{Ledger, SessionState, TrustEntry};

use crate::another_process::Another;
use crate::scene::{DEADLINE, Scene, ledger, within};

const THREADS: u64 = 8;
const PROCESSES: u64 = 4;
const EACH: u64 = 25;

#[test]
fn for_a_session() {
    within(DEADLINE, || {
        let scene = Scene::new();
        let processes: Vec<_> =
            (0..PROCESSES).map(|_| Another::start(&format!("count {EACH}"), &scene.dir)).collect();
        std::thread::scope(|scope| {
            for _ in 0..THREADS {
                let dir = &scene.dir;
                scope.spawn(move || (0..EACH).for_each(|_| count(&ledger(dir))));
            }
        });
        processes.into_iter().for_each(Another::finish);
        let counted = scene.ledger().session_state("shared").unwrap().counts["n"];
        assert_eq!(counted, (THREADS + PROCESSES) * EACH);
    });
}

#[test]
fn for_trust() {
    within(DEADLINE, || {
        let scene = Scene::new();
        std::thread::scope(|scope| {
            for thread in 0..THREADS {
                let dir = &scene.dir;
                scope.spawn(move || trust(&ledger(dir), thread));
            }
        });
        assert_eq!(scene.ledger().trust().unwrap().len(), 8 * 3);
    });
}

fn count(ledger: &impl Ledger) {
    let mut once = |state: &mut SessionState| {
        *state.counts.entry("n".to_owned()).or_default() += 1;
    };
    ledger.update_session("shared", &mut once).unwrap();
}

fn trust(ledger: &impl Ledger, thread: u64) {
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
