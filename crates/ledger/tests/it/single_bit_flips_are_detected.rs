//! A flipped bit loses at most the lines that it changes, and no record is misread.
//! `GAMBREL_FLIPS` sets the number of flips.

use gambrel_model::ledger::{FiringPhase, Journal, JournalRecord};
use serde_json::json;

use crate::fixture::{LedgerFixture, all_firings, new_record};

const RECORD_COUNT: usize = 5;

#[test]
fn detects_bit_flips_and_keeps_other_records() {
    let tries = std::env::var("GAMBREL_FLIPS").ok().and_then(|n| n.parse().ok()).unwrap_or(2_000);
    let fixture = LedgerFixture::new();
    let ledger = fixture.ledger();
    let written: Vec<JournalRecord> = (0..RECORD_COUNT)
        .map(|number| {
            new_record(
                &format!("firing-{number}"),
                FiringPhase::Finished,
                json!({ "a": [number, "b\t"] }),
            )
        })
        .collect();
    written.iter().for_each(|record| ledger.append_journal(std::slice::from_ref(record)).unwrap());
    let path = fixture.file("spool.jsonl");
    let bytes = std::fs::read(&path).unwrap();
    let bits = bytes.len() * 8;
    for number in 0..tries {
        // A step that shares no factor with the length visits every bit before any twice.
        let bit = (number * 7_919) % bits;
        let mut flipped = bytes.clone();
        flipped[bit / 8] ^= 1 << (bit % 8);
        std::fs::write(&path, &flipped).unwrap();
        let read: Vec<JournalRecord> =
            all_firings(&ledger).into_iter().flat_map(|it| it.records).collect();
        assert!(read.iter().all(|record| written.contains(record)), "misread after bit {bit}");
        assert!(read.len() + 2 >= RECORD_COUNT, "lost {} by bit {bit}", RECORD_COUNT - read.len());
        assert!(read.len() < RECORD_COUNT || bit / 8 == bytes.len() - 1, "bit {bit} went unseen");
    }
}
