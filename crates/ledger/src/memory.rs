//! The ledger of one process, for libraries and scripted tests. Forgets everything at its end.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use gambrel_model::ledger::{Ledger, LedgerError, Record, SessionState, TrustEntry};

/// Keeps everything in memory.
#[derive(Debug, Default)]
pub struct MemoryLedger {
    kept: Mutex<Kept>,
}

#[derive(Debug, Default)]
struct Kept {
    records: Vec<Record>,
    sessions: BTreeMap<String, SessionState>,
    trust: BTreeMap<String, TrustEntry>,
}

impl MemoryLedger {
    /// An empty ledger.
    pub fn new() -> Self {
        Self::default()
    }

    /// Every record so far, in the order in which they came.
    pub fn records(&self) -> Vec<Record> {
        self.kept().records.clone()
    }

    /// A change that panicked left its own copy behind, not this one.
    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Ledger for MemoryLedger {
    fn journal(&self, records: &[Record]) -> Result<(), LedgerError> {
        self.kept().records.extend_from_slice(records);
        Ok(())
    }

    fn session(&self, session: &str) -> Result<SessionState, LedgerError> {
        Ok(self.kept().sessions.get(session).cloned().unwrap_or_default())
    }

    fn amend(
        &self,
        session: &str,
        change: &mut dyn FnMut(&mut SessionState),
    ) -> Result<(), LedgerError> {
        let mut kept = self.kept();
        let mut state = kept.sessions.get(session).cloned().unwrap_or_default();
        change(&mut state);
        kept.sessions.insert(session.to_owned(), state);
        Ok(())
    }

    fn trust(&self) -> Result<BTreeMap<String, TrustEntry>, LedgerError> {
        Ok(self.kept().trust.clone())
    }

    fn amend_trust(
        &self,
        change: &mut dyn FnMut(&mut BTreeMap<String, TrustEntry>),
    ) -> Result<(), LedgerError> {
        let mut kept = self.kept();
        let mut trust = kept.trust.clone();
        change(&mut trust);
        kept.trust = trust;
        Ok(())
    }
}
