//! The traits of the ledger, by concern. They must not know where values are stored.

mod boards;
mod error;
mod journal;
mod origin;
mod recorded_firing;
mod runs;
mod sessions;
mod tickets;
mod trust;

use std::time::Instant;

pub use boards::{
    BoardNote, Boards, InboxMessage, NoteFill, NoteKind, Task, TaskChange, TaskRefusal, TaskStatus,
    TaskUpdate,
};
pub use error::{LedgerError, LedgerErrorKind, LedgerResult};
pub use journal::{
    FiringPhase, FiringQuery, FiringRecord, FiringState, Imported, Journal, JournalRecord,
    RecentFirings,
};
pub use origin::ProcessOrigin;
pub use recorded_firing::{CWD_KEY, REMOVED_MARK, RecordedEvent, RecordedFiring};
pub use runs::{LogLines, RunLock, RunLog, Runs, TornLine};
pub use sessions::{
    Claim, MAX_HALT_COUNT, MAX_UNDELIVERED_BYTES, MAX_UNDELIVERED_COUNT, SESSION_FILES,
    SessionChange, SessionState, Sessions, Undelivered,
};
pub use tickets::Tickets;
pub use trust::{TrustEntries, TrustEntry, TrustStore};

/// Stores state between processes. Every method may fail; no decision depends on success.
pub trait Ledger: Journal + Sessions + Tickets + Runs + Boards + Send + Sync {
    /// An opaque name of this ledger: processes with the same one share its content.
    fn ledger_id(&self) -> String;

    /// Returns when `what` may have changed, or at `deadline`. It may return early: call it in a
    /// loop that reads the value again.
    fn wait_for_change(&self, what: WatchTarget<'_>, deadline: Instant);
}

/// A part of the ledger that a process waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WatchTarget<'a> {
    /// The journal.
    Journal,
    /// The state of a session.
    Session(&'a str),
    /// The ticket with this id.
    Ticket(&'a str),
    /// The log of a run.
    Log(&'a RunLog),
    /// The lock with this name.
    Lock(&'a str),
    /// The tasks and messages of a board.
    Board(&'a str),
}
