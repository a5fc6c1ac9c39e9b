//! After very many firings the newest are shown before anything is imported, and the import needs
//! no reader.

use gambrel_ledger::{Limits, LocalLedger, Query, Redactor};
use gambrel_model::ledger::{FiringPhase, JournalRecord, Ledger};
use serde_json::json;

use crate::scene::{DEADLINE, Scene, all, journal_firing, record, within};

/// A hundred thousand where there is time for them.
fn count() -> usize {
    if std::env::var_os("GAMBREL_TEST_FULL").is_some() { 100_000 } else { 3_000 }
}

fn newest(limit: usize) -> Query {
    Query { limit, ..Query::default() }
}

/// Firings of two records and some text, many at a time.
fn write(ledger: &LocalLedger, count: usize) {
    let firing = |number: usize| {
        let of = |step: FiringPhase| JournalRecord {
            session: format!("s-{}", number % 2),
            ..record(&format!("firing-{number:06}"), step, json!({"text": "x".repeat(150)}))
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
fn from_at_most_two_thousand_records() {
    within(DEADLINE * 3, || {
        let scene = Scene::new();
        let (ledger, count) = (scene.ledger(), count());
        write(&ledger, count);
        let recent = ledger.recent(&newest(20)).unwrap().unwrap();
        assert_eq!(recent.records_read, 40);
        assert!(!scene.file("ledger.db").exists(), "nothing is imported for it");
        let one = Query { session: Some("s-1".to_owned()), ..newest(20) };
        let of_session = ledger.recent(&one).unwrap().unwrap();
        assert!(of_session.records_read < 100, "{}", of_session.records_read);
        let widest = ledger.recent(&newest(1_000)).unwrap().unwrap();
        assert_eq!(widest.records_read, 2_000);
        assert_eq!(ledger.recent(&newest(1_001)).unwrap(), None, "more are found by the import");
        let strange = Query { session: Some("nobody".to_owned()), ..newest(1) };
        assert_eq!(ledger.recent(&strange).unwrap(), None);
        ledger.take_in().unwrap();
        for (query, recent) in [(newest(20), recent), (one, of_session)] {
            let mut known = ledger.firings(&query).unwrap();
            known.iter_mut().for_each(|firing| firing.seq = 0);
            assert_eq!(recent.firings, known);
        }
        assert_eq!(ledger.recent(&newest(20)).unwrap(), None, "the spool is short now");
    });
}

#[test]
fn with_records_of_many_firings_between_each_other() {
    let scene = Scene::new();
    let ledger = scene.ledger();
    write(&ledger, 2_000);
    let late = record("firing-000003", FiringPhase::Late, json!("of long ago"));
    ledger.append_journal(&[record("open-1", FiringPhase::Accepted, json!(1)), late]).unwrap();
    (0..5).for_each(|number| journal_firing(&ledger, &format!("new-{number}")));
    ledger.append_journal(&[record("open-1", FiringPhase::Finished, json!(2))]).unwrap();
    let recent = ledger.recent(&newest(6)).unwrap().unwrap();
    let ids: Vec<&str> = recent.firings.iter().map(|firing| firing.id.as_str()).collect();
    assert_eq!(ids, ["open-1", "new-0", "new-1", "new-2", "new-3", "new-4"]);
    assert_eq!(recent.firings[0].records.len(), 2);
}

#[test]
fn and_the_import_is_due_after_so_many_bytes() {
    let scene = Scene::new();
    let limits = Limits { import_bytes: 10_000, ..Limits::default() };
    let ledger = LocalLedger::with_limits(scene.dir.clone(), Redactor::default(), limits);
    let mut due = 0;
    for number in 0..100 {
        journal_firing(&ledger, &format!("f-{number:04}"));
        due += usize::from(ledger.take_import_due());
    }
    let size = std::fs::metadata(scene.file("spool.jsonl")).unwrap().len() as usize;
    assert_eq!(due, size / 10_000);
    ledger.import().unwrap();
    assert!(!scene.file("spool.jsonl").exists());
    assert_eq!(all(&ledger).len(), 100);
}

#[test]
fn the_next_reader_prints_import_notices() {
    within(DEADLINE, || {
        let scene = Scene::new();
        let limits = Limits { spool_bytes: 4_096, ..Limits::default() };
        let ledger = LocalLedger::with_limits(scene.dir.clone(), Redactor::default(), limits);
        (0..100).for_each(|number| journal_firing(&ledger, &format!("f-{number:04}")));
        ledger.import().unwrap();
        (100..200).for_each(|number| journal_firing(&ledger, &format!("f-{number:04}")));
        ledger.import().unwrap();
        let told = ledger.take_in().unwrap().notices;
        let dropped = told.iter().filter(|notice| notice.contains("dropped")).count();
        assert_eq!(dropped, 2, "{told:?}");
        assert_eq!(ledger.take_in().unwrap().notices, Vec::<String>::new(), "told once");
    });
}
