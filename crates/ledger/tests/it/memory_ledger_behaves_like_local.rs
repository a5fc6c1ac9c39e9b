//! The memory ledger behaves like the local ledger.

use gambrel_ledger::MemoryLedger;
use gambrel_model::ledger::{Ledger, SessionState, TrustEntry};

use crate::fixture::{LedgerFixture, journal_firing};

#[test]
fn both_ledgers_store_sessions_and_trust() {
    let fixture = LedgerFixture::new();
    for ledger in [&fixture.ledger() as &dyn Ledger, &MemoryLedger::new()] {
        assert_eq!(ledger.session_state("s").unwrap(), SessionState::default());
        for _ in 0..3 {
            let mut count = |state: &mut SessionState| {
                *state.counts.entry("n".to_owned()).or_default() += 1;
            };
            ledger.update_session("s", &mut count).unwrap();
        }
        assert_eq!(ledger.session_state("s").unwrap().counts["n"], 3);
        let shown = "make".to_owned();
        let entry = TrustEntry {
            hash: "h".to_owned(),
            denied: true,
            shown,
            at: 1,
            ..TrustEntry::default()
        };
        ledger
            .update_trust(&mut |entries| {
                entries.insert("key".to_owned(), entry.clone());
            })
            .unwrap();
        assert_eq!(ledger.trust_entries().unwrap()["key"], entry);
    }
}

#[test]
fn memory_ledger_returns_its_records() {
    let ledger = MemoryLedger::new();
    journal_firing(&ledger, "first-1");
    assert_eq!(ledger.records().len(), 3);
}
