//! Reading gives the same firings from the spool, from the database, and from both.

use gambrel_ledger::LocalLedger;
use gambrel_model::ledger::{FiringPhase, FiringQuery, Journal, JournalRecord};
use serde_json::json;

use crate::fixture::{LedgerFixture, all_firings, journal_firing, new_record};

#[test]
fn lists_firings_in_order_and_with_limits() {
    let fixture = LedgerFixture::new();
    let ledger = fixture.ledger();
    for number in 0..10 {
        journal_firing(&ledger, &format!("firing-{number}"));
        if number == 4 {
            ledger.import_journal().unwrap();
        }
    }
    let before = all_firings(&ledger);
    assert_eq!(before.iter().map(|it| it.seq).collect::<Vec<_>>(), (1..=10).collect::<Vec<_>>());
    assert_eq!(firing_ids(&ledger, 3, None, None), ["firing-7", "firing-8", "firing-9"]);
    assert_eq!(firing_ids(&ledger, 3, Some(3), None), ["firing-3", "firing-4", "firing-5"]);
    assert_eq!(firing_ids(&ledger, 7, None, None).len(), 7);
    assert!(firing_ids(&ledger, 3, Some(10), None).is_empty());
    assert!(firing_ids(&ledger, 0, None, None).is_empty());
    ledger.import_journal().unwrap();
    assert_eq!(all_firings(&ledger), before, "an import keeps the sequence numbers");
}

#[test]
fn lists_firings_of_a_session() {
    let fixture = LedgerFixture::new();
    let ledger = fixture.ledger();
    journal_firing(&ledger, "one-1");
    ledger.import_journal().unwrap();
    let other = JournalRecord {
        session: "s-2".to_owned(),
        ..new_record("two-1", FiringPhase::Finished, json!(1))
    };
    ledger.append_journal(std::slice::from_ref(&other)).unwrap();
    assert_eq!(firing_ids(&ledger, 9, None, Some("s-1")), ["one-1"]);
    assert_eq!(firing_ids(&ledger, 9, None, Some("s-2")), ["two-1"]);
    assert!(firing_ids(&ledger, 9, None, Some("' OR 1=1 --")).is_empty());
}

#[test]
fn finds_firings_by_the_beginning_of_an_id() {
    let fixture = LedgerFixture::new();
    let ledger = fixture.ledger();
    journal_firing(&ledger, "abcdef");
    ledger.import_journal().unwrap();
    journal_firing(&ledger, "abcxyz");
    journal_firing(&ledger, "abcxyz-longer");
    let found = |id: &str| ledger.firing(id).map(|firing| firing.map(|firing| firing.id));
    assert_eq!(found("abcd").unwrap().as_deref(), Some("abcdef"));
    assert_eq!(found("abcxyz").unwrap().as_deref(), Some("abcxyz"), "a whole id is never unclear");
    assert_eq!(found("abcxyz-").unwrap().as_deref(), Some("abcxyz-longer"));
    assert_eq!(found("zzzz").unwrap(), None);
    assert!(found("abcx").unwrap_err().detail.contains("several"));
    assert!(found("abc").unwrap_err().detail.contains("at least 4"));
}

#[test]
fn finds_firings_by_the_random_part_of_an_id() {
    let fixture = LedgerFixture::new();
    let ledger = fixture.ledger();
    journal_firing(&ledger, "19a0-aabbcc");
    ledger.import_journal().unwrap();
    journal_firing(&ledger, "19a1-aabbdd");
    let found = |id: &str| ledger.firing(id).map(|firing| firing.map(|firing| firing.id));
    for _ in 0..2 {
        assert_eq!(found("aabbcc").unwrap().as_deref(), Some("19a0-aabbcc"));
        assert_eq!(found("aabbd").unwrap().as_deref(), Some("19a1-aabbdd"));
        assert_eq!(found("abbcc").unwrap(), None, "not from the middle");
        assert!(found("aabb").unwrap_err().detail.contains("several"));
        ledger.import_journal().unwrap();
    }
}

#[test]
fn late_records_belong_to_their_firing() {
    let fixture = LedgerFixture::new();
    let ledger = fixture.ledger();
    journal_firing(&ledger, "first-1");
    ledger.import_journal().unwrap();
    journal_firing(&ledger, "second-1");
    ledger.append_journal(&[new_record("first-1", FiringPhase::Late, json!("end"))]).unwrap();
    for _ in 0..2 {
        let firing = ledger.firing("first-1").unwrap().unwrap();
        assert_eq!((firing.seq, firing.records.len()), (1, 4));
        assert_eq!(firing.records[3].step, FiringPhase::Late);
        ledger.import_journal().unwrap();
    }
}

fn firing_ids(
    ledger: &LocalLedger,
    limit: usize,
    after: Option<u64>,
    session: Option<&str>,
) -> Vec<String> {
    let query = FiringQuery { session: session.map(str::to_owned), limit, after };
    ledger.firings(&query).unwrap().into_iter().map(|firing| firing.id).collect()
}
