//! However many bytes of the last records are missing, what is whole is read, what is torn is
//! counted, and nothing is misread.

use gambrel_ledger::LocalLedger;
use gambrel_model::ledger::{FiringPhase, JournalRecord, Ledger};
use serde_json::json;

use crate::scene::{DEADLINE, Scene, all, record, within};

#[test]
fn of_the_last_three_records() {
    within(DEADLINE, || {
        let scene = Scene::new();
        let (records, bytes) = four_records(&scene);
        let ends: Vec<usize> =
            bytes.iter().enumerate().filter(|(_, byte)| **byte == b'\n').map(|it| it.0).collect();
        for length in ends[0]..=bytes.len() {
            std::fs::write(scene.file("spool.jsonl"), &bytes[..length]).unwrap();
            let whole = ends.iter().filter(|end| **end <= length).count();
            assert_eq!(read(&scene.ledger()), records[..whole], "cut at {length}");
        }
    });
}

#[test]
fn and_counted() {
    let scene = Scene::new();
    let (_, bytes) = four_records(&scene);
    std::fs::write(scene.file("spool.jsonl"), &bytes[..bytes.len() - 5]).unwrap();
    let taken = scene.ledger().take_in().unwrap();
    assert_eq!((taken.records, taken.corrupt), (3, 1));
    assert!(taken.notices[0].contains("damaged"), "{:?}", taken.notices);
}

#[test]
fn and_a_record_glued_to_a_torn_one_is_saved() {
    within(DEADLINE, || {
        let scene = Scene::new();
        let (records, bytes) = four_records(&scene);
        let last = bytes[..bytes.len() - 1].iter().rposition(|byte| *byte == b'\n').unwrap() + 1;
        for cut in 1..bytes.len() - last {
            let mut glued = bytes[..last].to_vec();
            glued.extend_from_slice(&bytes[last..last + cut]);
            glued.extend_from_slice(&bytes[last..]);
            std::fs::write(scene.file("spool.jsonl"), &glued).unwrap();
            assert_eq!(read(&scene.ledger()), records, "cut after {cut}");
        }
    });
}

/// Bodies that look like the beginning of a record, inside and outside of strings.
fn four_records(scene: &Scene) -> (Vec<JournalRecord>, Vec<u8>) {
    let ledger = scene.ledger();
    let records: Vec<JournalRecord> = (0..4)
        .map(|number| {
            let body = json!({ "in": { "id": "x" }, "text": "{\"id\":\"y\",\t\n", "n": number });
            record(&format!("firing-{number}"), FiringPhase::Finished, body)
        })
        .collect();
    records.iter().for_each(|record| ledger.append_journal(std::slice::from_ref(record)).unwrap());
    (records, std::fs::read(scene.file("spool.jsonl")).unwrap())
}

fn read(ledger: &LocalLedger) -> Vec<JournalRecord> {
    all(ledger).into_iter().flat_map(|firing| firing.records).collect()
}
