//! A database that SQLite cannot read is kept beside a new one, and said; a newer one is left.

use rusqlite::Connection;

use crate::scene::{Scene, all, journal_firing};

#[test]
fn when_it_is_no_database() {
    let scene = Scene::new();
    journal_firing(&scene.ledger(), "first-1");
    scene.ledger().take_in().unwrap();
    journal_firing(&scene.ledger(), "second-1");
    std::fs::write(scene.file("ledger.db"), vec![b'?'; 20_000]).unwrap();
    assert_eq!(all(&scene.ledger()).len(), 1, "the spool can still be read");
    let taken = scene.ledger().take_in().unwrap();
    assert_eq!(taken.records, 3);
    assert!(taken.notices[0].contains("ledger.db.corrupt-"), "{taken:?}");
    assert_eq!(all(&scene.ledger()).len(), 1);
    assert_eq!(asides(&scene), 1);
}

#[test]
fn when_its_middle_is_damaged() {
    let scene = Scene::new();
    (0..200).for_each(|number| journal_firing(&scene.ledger(), &format!("firing-{number}")));
    scene.ledger().take_in().unwrap();
    let mut bytes = std::fs::read(scene.file("ledger.db")).unwrap();
    bytes[4_096..].fill(0xA5);
    std::fs::write(scene.file("ledger.db"), bytes).unwrap();
    journal_firing(&scene.ledger(), "later-1");
    let taken = scene.ledger().take_in().unwrap();
    assert_eq!((taken.records, asides(&scene)), (3, 1));
}

#[test]
fn but_not_when_it_is_from_the_future() {
    let scene = Scene::new();
    journal_firing(&scene.ledger(), "first-1");
    scene.ledger().take_in().unwrap();
    let newer = Connection::open(scene.file("ledger.db")).unwrap();
    newer.pragma_update(None, "user_version", 1_000).unwrap();
    drop(newer);
    journal_firing(&scene.ledger(), "second-1");
    let error = scene.ledger().take_in().unwrap_err();
    assert!(error.why.contains("newer gambrel"), "{error}");
    assert_eq!(asides(&scene), 0);
}

fn asides(scene: &Scene) -> usize {
    std::fs::read_dir(&scene.dir)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| {
            name.contains("corrupt-") && !name.ends_with("-wal") && !name.ends_with("-shm")
        })
        .count()
}
