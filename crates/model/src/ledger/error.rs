//! The error of every ledger: a kind for the program, and texts for people.

use std::fmt::Display;

use super::origin::ProcessOrigin;

/// What a ledger returns: a value, or why there is none.
pub type LedgerResult<T = ()> = Result<T, LedgerError>;

/// A failure of the ledger.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{public}: {detail}")]
pub struct LedgerError {
    /// What the program can do about it.
    pub kind: LedgerErrorKind,
    /// The operation that failed.
    pub public: String,
    /// The cause, and what the user can do.
    pub detail: String,
}

/// The kinds of failures.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LedgerErrorKind {
    /// Another writer was first. Read again, then retry.
    Conflict,
    /// A process holds the lock.
    Locked(ProcessOrigin),
    /// The ledger cannot be used now: no access, or another process keeps it busy.
    Unavailable,
    /// The disk is full.
    StorageFull,
    /// A stored value is damaged, not ours, or of a newer version.
    Corrupt,
    /// The request itself is refused; repeating it does not help.
    Refused,
}

impl LedgerError {
    /// An error about an operation.
    pub fn new(kind: LedgerErrorKind, public: impl Into<String>, detail: impl Display) -> Self {
        Self { kind, public: public.into(), detail: detail.to_string() }
    }
}
