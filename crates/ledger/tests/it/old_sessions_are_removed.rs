//! Sessions and their files are removed if they did not change for the maximum age.

use std::time::Duration;

use gambrel_ledger::{LocalLedger, Redactor, RetentionLimits};
use gambrel_model::ledger::{Journal, SESSION_FILES, SessionState, Sessions, Undelivered};
use gambrel_model::verdict::{Ruling, Verdict};

use crate::fixture::{LedgerFixture, journal_firing, now};
use crate::test_tickets::wait_until_after;

fn files_left_after(age: Duration) -> usize {
    let fixture = LedgerFixture::new();
    let folder = fixture.file(SESSION_FILES);
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("s-1.env"), "export A=1\n").unwrap();
    wait_until_after(now() + 5);
    let limits = RetentionLimits { age, ..RetentionLimits::default() };
    let ledger = LocalLedger::with_limits(fixture.dir.clone(), Redactor::default(), limits);
    journal_firing(&ledger, "any-1");
    ledger.import_journal().unwrap();
    std::fs::read_dir(&folder).unwrap().count()
}

#[test]
fn removes_old_session_files() {
    assert_eq!(files_left_after(Duration::from_millis(1)), 0);
    assert_eq!(files_left_after(Duration::from_secs(3600)), 1);
}

/// Messages, halts and locks of a session are removed together, and also a lock without a session.
#[test]
fn removes_old_sessions() {
    let fixture = LedgerFixture::new();
    let with_age = |age: Duration| {
        let limits = RetentionLimits { age, ..RetentionLimits::default() };
        LocalLedger::with_limits(fixture.dir.clone(), Redactor::default(), limits)
    };
    let ledger = with_age(Duration::from_secs(3_600));
    let halt = Undelivered::new("d", "a hook", Verdict::with_ruling(Ruling::Halt, "enough"));
    ledger.update_session("stopped", &mut |state| state.keep_undelivered(halt.clone())).unwrap();
    let mut count =
        |state: &mut SessionState| *state.counts.entry("n".to_owned()).or_default() += 1;
    ledger.update_session("counted", &mut count).unwrap();
    std::fs::write(fixture.file("sessions/left.lock"), "").unwrap();
    wait_until_after(now() + 5);
    journal_firing(&ledger, "any-1");
    let left = || std::fs::read_dir(fixture.file("sessions")).unwrap().count();
    ledger.import_journal().unwrap();
    assert_eq!(left(), 5);
    let notices = with_age(Duration::from_millis(1)).import_journal().unwrap().notices;
    assert!(notices.iter().any(|notice| notice.ends_with("without a change: 2")), "{notices:?}");
    assert_eq!(left(), 0);
}
