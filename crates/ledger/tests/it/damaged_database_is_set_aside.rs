//! A damaged database is moved aside and reported; a database of a newer version stays.

use rusqlite::Connection;

use gambrel_model::ledger::Journal;

use crate::fixture::{LedgerFixture, all_firings, journal_firing};

#[test]
fn sets_aside_a_file_that_is_not_a_database() {
    let fixture = LedgerFixture::new();
    journal_firing(&fixture.ledger(), "first-1");
    fixture.ledger().import_journal().unwrap();
    journal_firing(&fixture.ledger(), "second-1");
    std::fs::write(fixture.file("ledger.db"), vec![b'?'; 20_000]).unwrap();
    assert_eq!(all_firings(&fixture.ledger()).len(), 1, "the spool can still be read");
    let taken = fixture.ledger().import_journal().unwrap();
    assert_eq!(taken.records, 3);
    assert!(taken.notices[0].contains("ledger.db.corrupt-"), "{taken:?}");
    assert_eq!(all_firings(&fixture.ledger()).len(), 1);
    assert_eq!(count_set_aside(&fixture), 1);
}

#[test]
fn sets_aside_a_partly_damaged_database() {
    let fixture = LedgerFixture::new();
    (0..200).for_each(|number| journal_firing(&fixture.ledger(), &format!("firing-{number}")));
    fixture.ledger().import_journal().unwrap();
    let mut bytes = std::fs::read(fixture.file("ledger.db")).unwrap();
    bytes[4_096..].fill(0xA5);
    std::fs::write(fixture.file("ledger.db"), bytes).unwrap();
    journal_firing(&fixture.ledger(), "later-1");
    let taken = fixture.ledger().import_journal().unwrap();
    assert_eq!((taken.records, count_set_aside(&fixture)), (3, 1));
}

#[test]
fn keeps_a_database_of_a_newer_version() {
    let fixture = LedgerFixture::new();
    journal_firing(&fixture.ledger(), "first-1");
    fixture.ledger().import_journal().unwrap();
    let newer = Connection::open(fixture.file("ledger.db")).unwrap();
    newer.pragma_update(None, "user_version", 1_000).unwrap();
    drop(newer);
    journal_firing(&fixture.ledger(), "second-1");
    let error = fixture.ledger().import_journal().unwrap_err();
    assert!(error.detail.contains("newer gambrel"), "{error}");
    assert_eq!(count_set_aside(&fixture), 0);
}

fn count_set_aside(fixture: &LedgerFixture) -> usize {
    std::fs::read_dir(&fixture.dir)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| {
            name.contains("corrupt-") && !name.ends_with("-wal") && !name.ends_with("-shm")
        })
        .count()
}
