//! The journal: records of firings, and the firings that are built from them.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::error::LedgerResult;
use super::origin::ProcessOrigin;

/// Stores and lists records of firings.
pub trait Journal {
    /// Appends records with one write. Does not sync the disk.
    fn append_journal(&self, records: &[JournalRecord]) -> LedgerResult;

    /// Lists firings, oldest first: the newest `limit`, or with `after` the next `limit`. Call
    /// [`import_journal`](Self::import_journal) before, because it reports damage.
    fn firings(&self, query: &FiringQuery) -> LedgerResult<Vec<FiringRecord>>;

    /// The firing with this id, or the only one whose id, or the random part of it, begins with it.
    fn firing(&self, id_or_prefix: &str) -> LedgerResult<Option<FiringRecord>>;

    /// The newest firings of a long journal that is not imported yet. `None` if an import comes
    /// first.
    fn recent_firings(&self, query: &FiringQuery) -> LedgerResult<Option<RecentFirings>>;

    /// Moves appended records to where they are listed from, and removes what is too old. The
    /// result includes the notices of earlier [`import_unattended`](Self::import_unattended) calls.
    fn import_journal(&self) -> LedgerResult<Imported>;

    /// Imports without a reader, and stores the notices for the next one. Does nothing while
    /// another process imports.
    fn import_unattended(&self) -> LedgerResult;

    /// Whether [`import_unattended`](Self::import_unattended) is due. Resets the flag; does no I/O.
    fn take_import_due(&self) -> bool;
}

/// One line of the journal.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct JournalRecord {
    /// Id of the firing.
    pub id: String,
    /// Milliseconds since the epoch.
    pub at: u64,
    /// Which step of the firing this is.
    pub step: FiringPhase,
    /// The session that the event belongs to.
    pub session: String,
    /// The process that wrote it. A firing without an end whose process is gone was interrupted.
    #[serde(flatten)]
    pub origin: ProcessOrigin,
    /// The step's own fields.
    pub body: Value,
}

/// The phase of a firing that a record describes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FiringPhase {
    /// The event was parsed; no hook has run.
    Accepted,
    /// Hooks are about to start.
    Started,
    /// A decision was made.
    Finished,
    /// A detached hook has ended.
    Late,
}

/// Selects firings to list.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FiringQuery {
    /// Only firings of this session.
    pub session: Option<String>,
    /// Maximum number: the newest, or with `after` the next ones.
    pub limit: usize,
    /// Only firings after this sequence number.
    pub after: Option<u64>,
}

/// One firing with all its journal records.
#[derive(Debug, Clone, PartialEq)]
pub struct FiringRecord {
    /// The sequence number in the journal.
    pub seq: u64,
    /// The id of the firing.
    pub id: String,
    /// The time of its first record, in milliseconds since the epoch.
    pub at: u64,
    /// The session of its first record.
    pub session: String,
    /// Whether it still runs.
    pub state: FiringState,
    /// Its records, oldest first.
    pub records: Vec<JournalRecord>,
}

/// Length of a short id.
const SHORT_ID_CHARS: usize = 6;

impl FiringRecord {
    /// The beginning of the random part of the id, for people. The part before it is the time.
    pub fn short_id(&self) -> String {
        let random = self.id.split_once('-').map_or(self.id.as_str(), |(_, part)| part);
        random.chars().take(SHORT_ID_CHARS).collect()
    }
}

/// The state of a firing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FiringState {
    /// Its process runs and has not decided yet.
    Running,
    /// It has a decision.
    Finished,
    /// Its process ended without a decision.
    Interrupted,
}

/// The newest firings of a journal that is not imported yet.
#[derive(Debug, Clone, PartialEq)]
pub struct RecentFirings {
    /// Oldest first. Their sequence numbers are not known yet.
    pub firings: Vec<FiringRecord>,
    /// Number of records that were read.
    pub records_read: usize,
}

/// The result of an import.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Imported {
    /// Number of newly imported records.
    pub records: u64,
    /// Number of skipped lines that were torn or changed.
    pub corrupt: u64,
    /// Bytes of the journal that were dropped before an import.
    pub dropped_bytes: u64,
    /// Notices for the user.
    pub notices: Vec<String>,
}
