//! Folders are 0700 and files 0600, and opening a ledger touches nothing.

use std::os::unix::fs::PermissionsExt;

use gambrel_model::ledger::Ledger;

use crate::scene::{Scene, journal_firing};

#[test]
fn from_the_first_write_on() {
    let scene = Scene::new();
    let ledger = scene.ledger();
    assert!(!scene.dir.exists());
    journal_firing(&ledger, "first-1");
    ledger
        .update_session("s", &mut |state| {
            state.counts.insert("n".to_owned(), 1);
        })
        .unwrap();
    ledger.take_in().unwrap();
    journal_firing(&ledger, "second-1");
    let mut seen = 0;
    let mut folders = vec![scene.dir.clone()];
    while let Some(folder) = folders.pop() {
        assert_eq!(mode(&folder), 0o700);
        for path in std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
            seen += 1;
            if path.is_dir() {
                folders.push(path);
            } else {
                assert_eq!(mode(&path), 0o600, "{}", path.display());
            }
        }
    }
    assert!(seen >= 5, "{seen}");
}

fn mode(path: &std::path::Path) -> u32 {
    std::fs::metadata(path).unwrap().permissions().mode() & 0o777
}
