//! A process that is killed during an import loses nothing and imports nothing twice.

use gambrel_model::ledger::Journal;

use crate::fixture::{LedgerFixture, TEST_TIMEOUT, all_firings, journal_firing, run_within};
use crate::test_process::TestProcess;

#[test]
fn committed_records_are_not_imported_again() {
    let fixture = LedgerFixture::new();
    journal_firing(&fixture.ledger(), "first-firing");
    let spool = std::fs::read(fixture.file("spool.jsonl")).unwrap();
    assert_eq!(fixture.ledger().import_journal().unwrap().records, 3);
    let before = all_firings(&fixture.ledger());
    for left_behind in ["spool.taking.jsonl", "spool.1.jsonl", "spool.jsonl"] {
        std::fs::write(fixture.file(left_behind), &spool).unwrap();
        assert_eq!(all_firings(&fixture.ledger()), before, "read beside {left_behind}");
        let taken = fixture.ledger().import_journal().unwrap();
        assert_eq!((taken.records, taken.corrupt), (0, 0), "{left_behind}");
        assert!(!fixture.file(left_behind).exists());
        assert_eq!(all_firings(&fixture.ledger()), before);
    }
}

#[test]
fn claimed_spools_are_imported_later() {
    let fixture = LedgerFixture::new();
    journal_firing(&fixture.ledger(), "first-firing");
    std::fs::rename(fixture.file("spool.jsonl"), fixture.file("spool.taking.jsonl")).unwrap();
    journal_firing(&fixture.ledger(), "second-firing");
    assert_eq!(all_firings(&fixture.ledger()).len(), 2);
    assert_eq!(fixture.ledger().import_journal().unwrap().records, 6);
    let ids: Vec<_> =
        all_firings(&fixture.ledger()).into_iter().map(|it| (it.seq, it.id)).collect();
    assert_eq!(ids, [(1, "first-firing".to_owned()), (2, "second-firing".to_owned())]);
}

#[test]
fn killed_readers_lose_nothing() {
    run_within(TEST_TIMEOUT, || {
        let fixture = LedgerFixture::new();
        let ledger = fixture.ledger();
        let mut wanted = 0;
        for round in 0..10 {
            let mut reader = TestProcess::start("take forever", &fixture.dir);
            reader.wait_until_ready();
            for number in 0..round * 7 + 1 {
                journal_firing(&ledger, &format!("firing-{round}-{number}"));
                wanted += 1;
            }
            reader.kill();
        }
        ledger.import_journal().unwrap();
        let firings = all_firings(&ledger);
        assert_eq!(firings.len(), wanted);
        assert!(firings.iter().all(|firing| firing.records.len() == 3));
    });
}
