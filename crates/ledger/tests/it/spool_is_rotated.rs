//! Disk use is limited: a full spool is rotated, and then dropped and reported.

use std::time::Duration;

use gambrel_ledger::{LocalLedger, Redactor, RetentionLimits};
use gambrel_model::ledger::{FiringPhase, Journal, JournalRecord};
use serde_json::json;

use crate::fixture::{
    LedgerFixture, TEST_TIMEOUT, all_firings, journal_firing, new_record, run_within,
};

#[test]
fn imports_both_parts_of_a_rotated_spool() {
    let fixture = LedgerFixture::new();
    let ledger = small_ledger(&fixture);
    while !fixture.file("spool.1.jsonl").exists() {
        write_records(&ledger, 1);
    }
    let written = all_firings(&ledger)[0].records.len();
    let taken = ledger.import_journal().unwrap();
    assert_eq!((taken.records, taken.dropped_bytes), (written as u64, 0));
    assert_eq!(taken.notices, Vec::<String>::new());
}

#[test]
fn counts_dropped_bytes() {
    run_within(TEST_TIMEOUT, || {
        let fixture = LedgerFixture::new();
        write_records(&small_ledger(&fixture), 200);
        let kept: u64 = ["spool.jsonl", "spool.1.jsonl"]
            .iter()
            .map(|name| std::fs::metadata(fixture.file(name)).unwrap().len())
            .sum();
        assert!(kept < 3 * 4_096, "{kept} bytes are left");
        let taken = small_ledger(&fixture).import_journal().unwrap();
        assert!(taken.dropped_bytes > 0 && taken.records < 200, "{taken:?}");
        assert!(taken.notices.iter().any(|notice| notice.contains("dropped")), "{taken:?}");
        assert_eq!(
            small_ledger(&fixture).import_journal().unwrap().dropped_bytes,
            0,
            "reported once"
        );
    });
}

#[test]
fn concurrent_writers_lose_only_counted_bytes() {
    run_within(TEST_TIMEOUT, || {
        let fixture = LedgerFixture::new();
        let limits = RetentionLimits { spool_bytes: 40_000, ..RetentionLimits::default() };
        let open = || LocalLedger::with_limits(fixture.dir.clone(), Redactor::default(), limits);
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| write_records(&open(), 40));
            }
        });
        let taken = open().import_journal().unwrap();
        let records = taken.records;
        assert_eq!(taken.corrupt, 0);
        assert!(records == 320 || taken.dropped_bytes > 0, "{taken:?}");
    });
}

#[test]
fn removes_old_firings_from_the_database() {
    let fixture = LedgerFixture::new();
    let limits = RetentionLimits {
        firings: 3,
        age: Duration::from_secs(3_600),
        ..RetentionLimits::default()
    };
    let ledger = LocalLedger::with_limits(fixture.dir.clone(), Redactor::default(), limits);
    let old = JournalRecord { at: 1_000, ..new_record("old-1", FiringPhase::Finished, json!({})) };
    ledger.append_journal(std::slice::from_ref(&old)).unwrap();
    (0..5).for_each(|number| journal_firing(&ledger, &format!("new-{number}")));
    let taken = ledger.import_journal().unwrap();
    assert!(taken.notices[0].ends_with("journal: 3"), "{taken:?}");
    let ids: Vec<_> = all_firings(&ledger).into_iter().map(|firing| firing.id).collect();
    assert_eq!(ids, ["new-2", "new-3", "new-4"]);
}

#[test]
fn limits_the_size_of_the_database() {
    let fixture = LedgerFixture::new();
    let limits = RetentionLimits { database_bytes: 1 << 20, ..RetentionLimits::default() };
    let ledger = LocalLedger::with_limits(fixture.dir.clone(), Redactor::default(), limits);
    for number in 0..40 {
        let body = json!({ "n": number, "text": "y".repeat(100_000) });
        ledger
            .append_journal(&[new_record(&format!("big-{number}"), FiringPhase::Finished, body)])
            .unwrap();
    }
    ledger.import_journal().unwrap();
    let left = all_firings(&ledger);
    assert!((1..11).contains(&left.len()), "{} are left", left.len());
    assert_eq!(left.last().unwrap().id, "big-39");
}

#[test]
fn leaves_out_the_body_of_a_long_record() {
    let fixture = LedgerFixture::new();
    let huge = new_record("huge-1", FiringPhase::Finished, json!("z".repeat(17 << 20)));
    let error = fixture.ledger().append_journal(std::slice::from_ref(&huge)).unwrap_err();
    assert!(error.public.contains("left out"), "{error}");
    let firing = fixture.ledger().firing("huge-1").unwrap().unwrap();
    assert!(firing.records[0].body["left_out"]["bytes"].as_u64().unwrap() > 17 << 20);
}

fn small_ledger(fixture: &LedgerFixture) -> LocalLedger {
    let limits = RetentionLimits { spool_bytes: 4_096, ..RetentionLimits::default() };
    LocalLedger::with_limits(fixture.dir.clone(), Redactor::default(), limits)
}

fn write_records(ledger: &LocalLedger, count: usize) {
    for number in 0..count {
        let place = format!("{:?} {number}", std::thread::current().id());
        let body = json!({ "place": place, "nano": subsecond_nanos() });
        ledger.append_journal(&[new_record("one-1", FiringPhase::Late, body)]).unwrap();
    }
}

fn subsecond_nanos() -> u128 {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
    now.as_nanos() % 1_000_000_000
}
