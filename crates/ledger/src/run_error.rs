//! Errors of runs, for every ledger.

use std::fmt::Display;

use gambrel_model::ledger::{LedgerError, LedgerErrorKind, ProcessOrigin};

/// Another process has the lock.
pub(crate) fn locked_error(name: &str, owner: &ProcessOrigin) -> LedgerError {
    let kind = LedgerErrorKind::Locked(owner.clone());
    let why = format!("process {} has it; wait until it ends, or end it", owner.pid);
    LedgerError::new(kind, format!("locking `{name}`"), why)
}

/// Another process has appended to a log.
pub(crate) fn conflict_error(log: impl Display, after: u64, last: u64) -> LedgerError {
    let why = format!("it has {last} lines and not {after}: another process writes it");
    LedgerError::new(LedgerErrorKind::Conflict, format!("appending to {log}"), why)
}
