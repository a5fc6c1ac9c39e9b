//! 64 threads and several processes write to the journal during imports: every record arrives
//! intact and once.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use gambrel_model::ledger::{FiringPhase, Journal, Ledger};
use serde_json::json;

use crate::fixture::{
    LedgerFixture, TEST_TIMEOUT, all_firings, new_record, open_ledger, run_within,
};
use crate::test_process::TestProcess;

const WRITER_COUNT: usize = 64;
const RECORD_COUNT: usize = 50;
const PROCESS_COUNT: usize = 4;

#[test]
fn threads_with_their_own_ledgers_lose_nothing() {
    run_within(TEST_TIMEOUT, || {
        let fixture = LedgerFixture::new();
        std::thread::scope(|scope| {
            for writer in 0..WRITER_COUNT {
                let dir = &fixture.dir;
                scope.spawn(move || write_records(&open_ledger(dir), writer));
            }
        });
        let taken = fixture.ledger().import_journal().unwrap();
        assert_eq!((taken.records, taken.corrupt), ((WRITER_COUNT * RECORD_COUNT) as u64, 0));
    });
}

#[test]
fn threads_processes_and_a_reader_lose_nothing() {
    run_within(TEST_TIMEOUT, || {
        let fixture = LedgerFixture::new();
        let processes: Vec<_> = (0..PROCESS_COUNT)
            .map(|number| TestProcess::start(&format!("write process{number}"), &fixture.dir))
            .collect();
        let shared = fixture.ledger();
        let over = Arc::new(AtomicBool::new(false));
        let reader = std::thread::spawn({
            let (reader, over) = (fixture.ledger(), over.clone());
            move || {
                let mut sum = (0, 0);
                while !over.load(Ordering::SeqCst) {
                    let taken = reader.import_journal().unwrap();
                    sum = (sum.0 + taken.records, sum.1 + taken.corrupt);
                }
                sum
            }
        });
        std::thread::scope(|scope| {
            for writer in 0..WRITER_COUNT {
                let shared = &shared;
                scope.spawn(move || write_records(shared, writer));
            }
        });
        processes.into_iter().for_each(TestProcess::finish);
        over.store(true, Ordering::SeqCst);
        let during = reader.join().unwrap();
        let after = fixture.ledger().import_journal().unwrap();
        let wanted = WRITER_COUNT * RECORD_COUNT + PROCESS_COUNT * 50;
        assert_eq!(during.0 + after.records, wanted as u64);
        assert_eq!(during.1 + after.corrupt, 0);
        assert_eq!(all_firings(&fixture.ledger()).len(), wanted);
    });
}

#[test]
fn writers_notice_a_new_spool() {
    let fixture = LedgerFixture::new();
    let (first, second) = (fixture.ledger(), fixture.ledger());
    write_records(&first, 0);
    second.import_journal().unwrap();
    write_records(&second, 1);
    write_records(&first, 2);
    assert_eq!(all_firings(&fixture.ledger()).len(), 3 * RECORD_COUNT);
    assert_eq!(second.import_journal().unwrap().records, 2 * RECORD_COUNT as u64);
}

fn write_records(ledger: &impl Ledger, writer: usize) {
    for number in 0..RECORD_COUNT {
        let id = format!("thread{writer}-{number}");
        let body = json!({ "text": "x".repeat(number * 37) });
        ledger.append_journal(&[new_record(&id, FiringPhase::Finished, body)]).unwrap();
    }
}
