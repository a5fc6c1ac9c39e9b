//! Files that are kept for a session beside the ledger go when nobody touched them for its age.

use std::time::Duration;

use gambrel_ledger::{Limits, LocalLedger, Redactor};
use gambrel_model::ledger::SESSION_FILES;

use crate::questions::until_later;
use crate::scene::{Scene, journal_firing, now};

fn left_after(age: Duration) -> usize {
    let scene = Scene::new();
    let folder = scene.file(SESSION_FILES);
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("s-1.env"), "export A=1\n").unwrap();
    until_later(now() + 5);
    let limits = Limits { age, ..Limits::default() };
    let ledger = LocalLedger::with_limits(scene.dir.clone(), Redactor::default(), limits);
    journal_firing(&ledger, "any-1");
    ledger.take_in().unwrap();
    std::fs::read_dir(&folder).unwrap().count()
}

#[test]
fn session_files_are_forgotten_with_age() {
    assert_eq!(left_after(Duration::from_millis(1)), 0);
    assert_eq!(left_after(Duration::from_secs(3600)), 1);
}
