//! A reader that is killed while it takes in loses nothing and counts nothing twice.

use crate::another_process::Another;
use crate::scene::{DEADLINE, Scene, all, journal_firing, within};

#[test]
fn what_was_committed_is_not_counted_again() {
    let scene = Scene::new();
    journal_firing(&scene.ledger(), "first-firing");
    let spool = std::fs::read(scene.file("spool.jsonl")).unwrap();
    assert_eq!(scene.ledger().take_in().unwrap().records, 3);
    let before = all(&scene.ledger());
    for left_behind in ["spool.taking.jsonl", "spool.1.jsonl", "spool.jsonl"] {
        std::fs::write(scene.file(left_behind), &spool).unwrap();
        assert_eq!(all(&scene.ledger()), before, "read beside {left_behind}");
        let taken = scene.ledger().take_in().unwrap();
        assert_eq!((taken.records, taken.corrupt), (0, 0), "{left_behind}");
        assert!(!scene.file(left_behind).exists());
        assert_eq!(all(&scene.ledger()), before);
    }
}

#[test]
fn what_was_claimed_and_not_committed_is_taken_in_later() {
    let scene = Scene::new();
    journal_firing(&scene.ledger(), "first-firing");
    std::fs::rename(scene.file("spool.jsonl"), scene.file("spool.taking.jsonl")).unwrap();
    journal_firing(&scene.ledger(), "second-firing");
    assert_eq!(all(&scene.ledger()).len(), 2);
    assert_eq!(scene.ledger().take_in().unwrap().records, 6);
    let ids: Vec<_> = all(&scene.ledger()).into_iter().map(|it| (it.seq, it.id)).collect();
    assert_eq!(ids, [(1, "first-firing".to_owned()), (2, "second-firing".to_owned())]);
}

#[test]
fn killed_at_any_moment() {
    within(DEADLINE, || {
        let scene = Scene::new();
        let ledger = scene.ledger();
        let mut wanted = 0;
        for round in 0..10 {
            let mut reader = Another::start("take forever", &scene.dir);
            reader.wait_until_ready();
            for number in 0..round * 7 + 1 {
                journal_firing(&ledger, &format!("firing-{round}-{number}"));
                wanted += 1;
            }
            reader.kill();
        }
        ledger.take_in().unwrap();
        let firings = all(&ledger);
        assert_eq!(firings.len(), wanted);
        assert!(firings.iter().all(|firing| firing.records.len() == 3));
    });
}
