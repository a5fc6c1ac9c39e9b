//! One changed bit anywhere costs at most the lines that it touches, and is never misread.
//! `GAMBREL_FLIPS` sets how many are tried.

use gambrel_model::ledger::{FiringPhase, JournalRecord, Ledger};
use serde_json::json;

use crate::scene::{Scene, all, record};

const RECORDS: usize = 5;

#[test]
fn and_everything_else_is_kept() {
    let tries = std::env::var("GAMBREL_FLIPS").ok().and_then(|n| n.parse().ok()).unwrap_or(2_000);
    let scene = Scene::new();
    let ledger = scene.ledger();
    let written: Vec<JournalRecord> = (0..RECORDS)
        .map(|number| {
            record(
                &format!("firing-{number}"),
                FiringPhase::Finished,
                json!({ "a": [number, "b\t"] }),
            )
        })
        .collect();
    written.iter().for_each(|record| ledger.append_journal(std::slice::from_ref(record)).unwrap());
    let path = scene.file("spool.jsonl");
    let bytes = std::fs::read(&path).unwrap();
    let bits = bytes.len() * 8;
    for number in 0..tries {
        // A step that shares no factor with the length visits every bit before any twice.
        let bit = (number * 7_919) % bits;
        let mut flipped = bytes.clone();
        flipped[bit / 8] ^= 1 << (bit % 8);
        std::fs::write(&path, &flipped).unwrap();
        let read: Vec<JournalRecord> = all(&ledger).into_iter().flat_map(|it| it.records).collect();
        assert!(read.iter().all(|record| written.contains(record)), "misread after bit {bit}");
        assert!(read.len() + 2 >= RECORDS, "lost {} by bit {bit}", RECORDS - read.len());
        assert!(read.len() < RECORDS || bit / 8 == bytes.len() - 1, "bit {bit} went unseen");
    }
}
