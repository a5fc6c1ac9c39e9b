//! The journal is read the same whether it is in the spool, in the database or in both.

use gambrel_ledger::{LocalLedger, Query};
use gambrel_model::ledger::{FiringPhase, JournalRecord, Ledger};
use serde_json::json;

use crate::scene::{Scene, all, journal_firing, record};

#[test]
fn in_order_and_with_limits() {
    let scene = Scene::new();
    let ledger = scene.ledger();
    for number in 0..10 {
        journal_firing(&ledger, &format!("firing-{number}"));
        if number == 4 {
            ledger.take_in().unwrap();
        }
    }
    let before = all(&ledger);
    assert_eq!(before.iter().map(|it| it.seq).collect::<Vec<_>>(), (1..=10).collect::<Vec<_>>());
    assert_eq!(ids(&ledger, 3, None, None), ["firing-7", "firing-8", "firing-9"]);
    assert_eq!(ids(&ledger, 3, Some(3), None), ["firing-3", "firing-4", "firing-5"]);
    assert_eq!(ids(&ledger, 7, None, None).len(), 7);
    assert!(ids(&ledger, 3, Some(10), None).is_empty());
    assert!(ids(&ledger, 0, None, None).is_empty());
    ledger.take_in().unwrap();
    assert_eq!(all(&ledger), before, "places do not change by taking in");
}

#[test]
fn by_session() {
    let scene = Scene::new();
    let ledger = scene.ledger();
    journal_firing(&ledger, "one-1");
    ledger.take_in().unwrap();
    let other = JournalRecord {
        session: "s-2".to_owned(),
        ..record("two-1", FiringPhase::Finished, json!(1))
    };
    ledger.append_journal(std::slice::from_ref(&other)).unwrap();
    assert_eq!(ids(&ledger, 9, None, Some("s-1")), ["one-1"]);
    assert_eq!(ids(&ledger, 9, None, Some("s-2")), ["two-1"]);
    assert!(ids(&ledger, 9, None, Some("' OR 1=1 --")).is_empty());
}

#[test]
fn by_id_or_the_beginning_of_one() {
    let scene = Scene::new();
    let ledger = scene.ledger();
    journal_firing(&ledger, "abcdef");
    ledger.take_in().unwrap();
    journal_firing(&ledger, "abcxyz");
    journal_firing(&ledger, "abcxyz-longer");
    let found = |id: &str| ledger.firing(id).map(|firing| firing.map(|firing| firing.id));
    assert_eq!(found("abcd").unwrap().as_deref(), Some("abcdef"));
    assert_eq!(found("abcxyz").unwrap().as_deref(), Some("abcxyz"), "a whole id is never unclear");
    assert_eq!(found("abcxyz-").unwrap().as_deref(), Some("abcxyz-longer"));
    assert_eq!(found("zzzz").unwrap(), None);
    assert!(found("abcx").unwrap_err().why.contains("several"));
    assert!(found("abc").unwrap_err().why.contains("at least 4"));
}

#[test]
fn a_late_record_joins_its_firing() {
    let scene = Scene::new();
    let ledger = scene.ledger();
    journal_firing(&ledger, "first-1");
    ledger.take_in().unwrap();
    journal_firing(&ledger, "second-1");
    ledger.append_journal(&[record("first-1", FiringPhase::Late, json!("end"))]).unwrap();
    for _ in 0..2 {
        let firing = ledger.firing("first-1").unwrap().unwrap();
        assert_eq!((firing.seq, firing.records.len()), (1, 4));
        assert_eq!(firing.records[3].step, FiringPhase::Late);
        ledger.take_in().unwrap();
    }
}

fn ids(
    ledger: &LocalLedger,
    limit: usize,
    after: Option<u64>,
    session: Option<&str>,
) -> Vec<String> {
    let query = Query { session: session.map(str::to_owned), limit, after };
    ledger.firings(&query).unwrap().into_iter().map(|firing| firing.id).collect()
}
