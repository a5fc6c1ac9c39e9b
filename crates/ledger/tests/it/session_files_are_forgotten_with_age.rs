//! Files that are kept for a session beside the ledger go when nobody touched them for its age.

use std::time::Duration;

use gambrel_ledger::{Limits, LocalLedger, Redactor};
use gambrel_model::ledger::{Ledger, SESSION_FILES, SessionState, Undelivered};
use gambrel_model::verdict::{Ruling, Verdict};

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

/// Messages, halts and locks of a session go together; a lock that a killed process left goes too.
#[test]
fn sessions_are_forgotten_with_age() {
    let scene = Scene::new();
    let of_age = |age: Duration| {
        let limits = Limits { age, ..Limits::default() };
        LocalLedger::with_limits(scene.dir.clone(), Redactor::default(), limits)
    };
    let ledger = of_age(Duration::from_secs(3_600));
    let halt = Undelivered::new("d", "a hook", Verdict::with_ruling(Ruling::Halt, "enough"));
    ledger.update_session("stopped", &mut |state| state.keep_undelivered(halt.clone())).unwrap();
    let mut count =
        |state: &mut SessionState| *state.counts.entry("n".to_owned()).or_default() += 1;
    ledger.update_session("counted", &mut count).unwrap();
    std::fs::write(scene.file("sessions/left.lock"), "").unwrap();
    until_later(now() + 5);
    journal_firing(&ledger, "any-1");
    let left = || std::fs::read_dir(scene.file("sessions")).unwrap().count();
    ledger.take_in().unwrap();
    assert_eq!(left(), 5);
    let told = of_age(Duration::from_millis(1)).take_in().unwrap().notices;
    assert!(told.iter().any(|notice| notice.starts_with("2 sessions")), "{told:?}");
    assert_eq!(left(), 0);
}
