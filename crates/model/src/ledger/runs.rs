//! What a run stores, so that it can continue after a kill: outcomes of its firings, its log and its
//! lock.

use std::any::Any;
use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;

use serde_json::Value;

use super::error::LedgerResult;
use super::origin::ProcessOrigin;
use crate::outcome::Outcome;

/// Stores what runs need to continue after a kill.
pub trait Runs {
    /// The recorded outcomes of a firing with this key, by hook.
    fn recorded_outcomes(&self, firing_key: &str) -> LedgerResult<BTreeMap<String, Outcome>>;

    /// Records the outcome of a hook in a firing with this key. A repeated firing reads it instead
    /// of running the hook. The first outcome of a hook counts.
    fn record_outcome(&self, firing_key: &str, hook: &str, outcome: &Outcome) -> LedgerResult;

    /// Replaces all recorded outcomes of a firing that has ended.
    fn replace_outcomes(
        &self,
        firing_key: &str,
        outcomes: &BTreeMap<String, Outcome>,
    ) -> LedgerResult;

    /// Takes a lock if it is free. It is exclusive until dropped or until the process ends. The
    /// error has the kind `Locked` with the owner.
    fn acquire_lock(&self, name: &str, owner: &ProcessOrigin) -> LedgerResult<RunLock>;

    /// The process that holds a lock. Looking changes nothing.
    fn lock_owner(&self, name: &str) -> LedgerResult<Option<ProcessOrigin>>;

    /// Appends durably if no other writer has appended since line `after`; returns the number of the
    /// last line. The error has the kind `Conflict` if another writer has. A torn last line is cut
    /// off first.
    fn append(&self, log: &RunLog, after: u64, lines: &[Value]) -> LedgerResult<u64>;

    /// All lines of a log, and whether a write was cut short.
    fn read(&self, log: &RunLog) -> LedgerResult<LogLines>;
}

/// The log of one run.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct RunLog {
    /// The name of the run, for a ledger that several machines share.
    pub name: String,
    /// The folder of the run. A local ledger writes `events.jsonl` there.
    pub folder: PathBuf,
}

/// The lines of a log.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct LogLines {
    /// Intact lines. The first has the number 1.
    pub lines: Vec<Value>,
    /// A last line that a killed process did not finish. The next append removes it.
    pub torn: Option<TornLine>,
}

/// The beginning of a line that was not written to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TornLine {
    /// The number that the line would have.
    pub number: u64,
    /// Its length.
    pub bytes: u64,
}

/// A lock that is held until it is dropped.
pub struct RunLock {
    /// Grows with every owner of the lock.
    pub fence: u64,
    _held: Box<dyn Any + Send + Sync>,
}

impl RunLock {
    /// A lock that dropping `held` releases.
    pub fn new(fence: u64, held: impl Any + Send + Sync) -> Self {
        Self { fence, _held: Box::new(held) }
    }
}

impl fmt::Debug for RunLock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RunLock").field("fence", &self.fence).finish_non_exhaustive()
    }
}
