//! The disk is bounded: a spool that nobody reads is set aside, then dropped, and said so.

use std::time::Duration;

use gambrel_ledger::{Limits, LocalLedger, Redactor};
use gambrel_model::ledger::{FiringPhase, JournalRecord, Ledger};
use serde_json::json;

use crate::scene::{DEADLINE, Scene, all, journal_firing, record, within};

#[test]
fn and_both_parts_are_taken_in() {
    let scene = Scene::new();
    let ledger = small(&scene);
    while !scene.file("spool.1.jsonl").exists() {
        write(&ledger, 1);
    }
    let written = all(&ledger)[0].records.len();
    let taken = ledger.take_in().unwrap();
    assert_eq!((taken.records, taken.dropped_bytes), (written as u64, 0));
    assert_eq!(taken.notices, Vec::<String>::new());
}

#[test]
fn and_what_is_dropped_is_counted() {
    within(DEADLINE, || {
        let scene = Scene::new();
        write(&small(&scene), 200);
        let kept: u64 = ["spool.jsonl", "spool.1.jsonl"]
            .iter()
            .map(|name| std::fs::metadata(scene.file(name)).unwrap().len())
            .sum();
        assert!(kept < 3 * 4_096, "{kept} bytes are left");
        let taken = small(&scene).take_in().unwrap();
        assert!(taken.dropped_bytes > 0 && taken.records < 200, "{taken:?}");
        assert!(taken.notices.iter().any(|notice| notice.contains("dropped")), "{taken:?}");
        assert_eq!(small(&scene).take_in().unwrap().dropped_bytes, 0, "said once");
    });
}

#[test]
fn and_racing_writers_lose_only_what_is_counted() {
    within(DEADLINE, || {
        let scene = Scene::new();
        let limits = Limits { spool_bytes: 40_000, ..Limits::default() };
        let open = || LocalLedger::with_limits(scene.dir.clone(), Redactor::default(), limits);
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| write(&open(), 40));
            }
        });
        let taken = open().take_in().unwrap();
        let records = taken.records;
        assert_eq!(taken.corrupt, 0);
        assert!(records == 320 || taken.dropped_bytes > 0, "{taken:?}");
    });
}

#[test]
fn and_old_firings_leave_the_database() {
    let scene = Scene::new();
    let limits = Limits { firings: 3, age: Duration::from_secs(3_600), ..Limits::default() };
    let ledger = LocalLedger::with_limits(scene.dir.clone(), Redactor::default(), limits);
    let old = JournalRecord { at: 1_000, ..record("old-1", FiringPhase::Finished, json!({})) };
    ledger.append_journal(std::slice::from_ref(&old)).unwrap();
    (0..5).for_each(|number| journal_firing(&ledger, &format!("new-{number}")));
    let taken = ledger.take_in().unwrap();
    assert!(taken.notices[0].contains("3 old firings"), "{taken:?}");
    let ids: Vec<_> = all(&ledger).into_iter().map(|firing| firing.id).collect();
    assert_eq!(ids, ["new-2", "new-3", "new-4"]);
}

#[test]
fn and_the_database_has_a_size() {
    let scene = Scene::new();
    let limits = Limits { database_bytes: 1 << 20, ..Limits::default() };
    let ledger = LocalLedger::with_limits(scene.dir.clone(), Redactor::default(), limits);
    for number in 0..40 {
        let body = json!({ "n": number, "text": "y".repeat(100_000) });
        ledger
            .append_journal(&[record(&format!("big-{number}"), FiringPhase::Finished, body)])
            .unwrap();
    }
    ledger.take_in().unwrap();
    let left = all(&ledger);
    assert!((1..11).contains(&left.len()), "{} are left", left.len());
    assert_eq!(left.last().unwrap().id, "big-39");
}

#[test]
fn and_a_record_that_is_too_long_leaves_its_body_out() {
    let scene = Scene::new();
    let huge = record("huge-1", FiringPhase::Finished, json!("z".repeat(17 << 20)));
    let error = scene.ledger().append_journal(std::slice::from_ref(&huge)).unwrap_err();
    assert!(error.doing.contains("left out"), "{error}");
    let firing = scene.ledger().firing("huge-1").unwrap().unwrap();
    assert!(firing.records[0].body["left_out"]["bytes"].as_u64().unwrap() > 17 << 20);
}

fn small(scene: &Scene) -> LocalLedger {
    let limits = Limits { spool_bytes: 4_096, ..Limits::default() };
    LocalLedger::with_limits(scene.dir.clone(), Redactor::default(), limits)
}

fn write(ledger: &LocalLedger, count: usize) {
    for number in 0..count {
        let place = format!("{:?} {number}", std::thread::current().id());
        let body = json!({ "place": place, "nano": nanos() });
        ledger.append_journal(&[record("one-1", FiringPhase::Late, body)]).unwrap();
    }
}

fn nanos() -> u128 {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
    now.as_nanos() % 1_000_000_000
}
