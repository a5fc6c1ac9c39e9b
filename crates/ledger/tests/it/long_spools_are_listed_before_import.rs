//! The newest firings of a long spool are listed without an import, and an import needs no reader.

use gambrel_ledger::{LocalLedger, Redactor, RetentionLimits};
use gambrel_model::ledger::{FiringPhase, FiringQuery, Journal, JournalRecord};
use serde_json::json;

use crate::fixture::{
    LedgerFixture, TEST_TIMEOUT, all_firings, journal_firing, new_record, run_within,
};

/// A hundred thousand in the full test run.
fn firing_count() -> usize {
    if std::env::var_os("GAMBREL_TEST_FULL").is_some() { 100_000 } else { 3_000 }
}

fn newest_firings(limit: usize) -> FiringQuery {
    FiringQuery { limit, ..FiringQuery::default() }
}

/// Writes firings of two records each, a hundred at a time.
fn write_firings(ledger: &LocalLedger, count: usize) {
    let firing = |number: usize| {
        let of = |step: FiringPhase| JournalRecord {
            session: format!("s-{}", number % 2),
            ..new_record(&format!("firing-{number:06}"), step, json!({"text": "x".repeat(150)}))
        };
        [of(FiringPhase::Accepted), of(FiringPhase::Finished)]
    };
    let numbers: Vec<usize> = (0..count).collect();
    for some in numbers.chunks(100) {
        let records: Vec<JournalRecord> = some.iter().flat_map(|number| firing(*number)).collect();
        ledger.append_journal(&records).unwrap();
    }
}

#[test]
fn lists_the_newest_of_at_most_two_thousand_records() {
    run_within(TEST_TIMEOUT * 3, || {
        let fixture = LedgerFixture::new();
        let (ledger, count) = (fixture.ledger(), firing_count());
        write_firings(&ledger, count);
        let recent = ledger.recent_firings(&newest_firings(20)).unwrap().unwrap();
        assert_eq!(recent.records_read, 40);
        assert!(!fixture.file("ledger.db").exists(), "nothing is imported for it");
        let one = FiringQuery { session: Some("s-1".to_owned()), ..newest_firings(20) };
        let of_session = ledger.recent_firings(&one).unwrap().unwrap();
        assert!(of_session.records_read < 100, "{}", of_session.records_read);
        let widest = ledger.recent_firings(&newest_firings(1_000)).unwrap().unwrap();
        assert_eq!(widest.records_read, 2_000);
        assert_eq!(
            ledger.recent_firings(&newest_firings(1_001)).unwrap(),
            None,
            "more are found by the import"
        );
        let strange = FiringQuery { session: Some("nobody".to_owned()), ..newest_firings(1) };
        assert_eq!(ledger.recent_firings(&strange).unwrap(), None);
        ledger.import_journal().unwrap();
        for (query, recent) in [(newest_firings(20), recent), (one, of_session)] {
            let mut known = ledger.firings(&query).unwrap();
            known.iter_mut().for_each(|firing| firing.seq = 0);
            assert_eq!(recent.firings, known);
        }
        assert_eq!(
            ledger.recent_firings(&newest_firings(20)).unwrap(),
            None,
            "the spool is short now"
        );
    });
}

#[test]
fn lists_firings_with_interleaved_records() {
    let fixture = LedgerFixture::new();
    let ledger = fixture.ledger();
    write_firings(&ledger, 2_000);
    let late = new_record("firing-000003", FiringPhase::Late, json!("of long ago"));
    ledger.append_journal(&[new_record("open-1", FiringPhase::Accepted, json!(1)), late]).unwrap();
    (0..5).for_each(|number| journal_firing(&ledger, &format!("new-{number}")));
    ledger.append_journal(&[new_record("open-1", FiringPhase::Finished, json!(2))]).unwrap();
    let recent = ledger.recent_firings(&newest_firings(6)).unwrap().unwrap();
    let ids: Vec<&str> = recent.firings.iter().map(|firing| firing.id.as_str()).collect();
    assert_eq!(ids, ["open-1", "new-0", "new-1", "new-2", "new-3", "new-4"]);
    assert_eq!(recent.firings[0].records.len(), 2);
}

#[test]
fn imports_are_due_after_a_number_of_bytes() {
    let fixture = LedgerFixture::new();
    let limits = RetentionLimits { import_bytes: 10_000, ..RetentionLimits::default() };
    let ledger = LocalLedger::with_limits(fixture.dir.clone(), Redactor::default(), limits);
    let mut due = 0;
    for number in 0..100 {
        journal_firing(&ledger, &format!("f-{number:04}"));
        due += usize::from(ledger.take_import_due());
    }
    let size = std::fs::metadata(fixture.file("spool.jsonl")).unwrap().len() as usize;
    assert_eq!(due, size / 10_000);
    ledger.import_unattended().unwrap();
    assert!(!fixture.file("spool.jsonl").exists());
    assert_eq!(all_firings(&ledger).len(), 100);
}

#[test]
fn the_next_reader_prints_import_notices() {
    run_within(TEST_TIMEOUT, || {
        let fixture = LedgerFixture::new();
        let limits = RetentionLimits { spool_bytes: 4_096, ..RetentionLimits::default() };
        let ledger = LocalLedger::with_limits(fixture.dir.clone(), Redactor::default(), limits);
        (0..100).for_each(|number| journal_firing(&ledger, &format!("f-{number:04}")));
        ledger.import_unattended().unwrap();
        (100..200).for_each(|number| journal_firing(&ledger, &format!("f-{number:04}")));
        ledger.import_unattended().unwrap();
        let notices = ledger.import_journal().unwrap().notices;
        let dropped = notices.iter().filter(|notice| notice.contains("dropped")).count();
        assert_eq!(dropped, 2, "{notices:?}");
        assert_eq!(ledger.import_journal().unwrap().notices, Vec::<String>::new(), "reported once");
    });
}
