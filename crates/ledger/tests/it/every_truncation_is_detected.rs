//! Truncates the spool at every byte: intact records are read, torn ones are counted, and none is
//! misread.

use gambrel_ledger::LocalLedger;
use gambrel_model::ledger::{FiringPhase, Journal, JournalRecord};
use serde_json::json;

use crate::fixture::{LedgerFixture, TEST_TIMEOUT, all_firings, new_record, run_within};

#[test]
fn reads_the_intact_records_of_a_truncated_spool() {
    run_within(TEST_TIMEOUT, || {
        let fixture = LedgerFixture::new();
        let (records, bytes) = four_records(&fixture);
        let ends: Vec<usize> =
            bytes.iter().enumerate().filter(|(_, byte)| **byte == b'\n').map(|it| it.0).collect();
        for length in ends[0]..=bytes.len() {
            std::fs::write(fixture.file("spool.jsonl"), &bytes[..length]).unwrap();
            let whole = ends.iter().filter(|end| **end <= length).count();
            assert_eq!(read_records(&fixture.ledger()), records[..whole], "cut at {length}");
        }
    });
}

#[test]
fn counts_truncated_lines() {
    let fixture = LedgerFixture::new();
    let (_, bytes) = four_records(&fixture);
    std::fs::write(fixture.file("spool.jsonl"), &bytes[..bytes.len() - 5]).unwrap();
    let taken = fixture.ledger().import_journal().unwrap();
    assert_eq!((taken.records, taken.corrupt), (3, 1));
    assert!(taken.notices[0].contains("damaged"), "{:?}", taken.notices);
}

#[test]
fn recovers_a_record_after_a_torn_one() {
    run_within(TEST_TIMEOUT, || {
        let fixture = LedgerFixture::new();
        let (records, bytes) = four_records(&fixture);
        let last = bytes[..bytes.len() - 1].iter().rposition(|byte| *byte == b'\n').unwrap() + 1;
        for cut in 1..bytes.len() - last {
            let mut glued = bytes[..last].to_vec();
            glued.extend_from_slice(&bytes[last..last + cut]);
            glued.extend_from_slice(&bytes[last..]);
            std::fs::write(fixture.file("spool.jsonl"), &glued).unwrap();
            assert_eq!(read_records(&fixture.ledger()), records, "cut after {cut}");
        }
    });
}

/// Writes records with bodies that look like the beginning of a record.
fn four_records(fixture: &LedgerFixture) -> (Vec<JournalRecord>, Vec<u8>) {
    let ledger = fixture.ledger();
    let records: Vec<JournalRecord> = (0..4)
        .map(|number| {
            let body = json!({ "in": { "id": "x" }, "text": "{\"id\":\"y\",\t\n", "n": number });
            new_record(&format!("firing-{number}"), FiringPhase::Finished, body)
        })
        .collect();
    records.iter().for_each(|record| ledger.append_journal(std::slice::from_ref(record)).unwrap());
    (records, std::fs::read(fixture.file("spool.jsonl")).unwrap())
}

fn read_records(ledger: &LocalLedger) -> Vec<JournalRecord> {
    all_firings(ledger).into_iter().flat_map(|firing| firing.records).collect()
}
