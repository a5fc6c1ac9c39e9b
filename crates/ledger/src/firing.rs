//! A firing, built from its journal records. Independent of where the records are stored.

use gambrel_model::ledger::{FiringPhase, JournalRecord};

use crate::pid_alive::is_running;

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

impl FiringRecord {
    /// Builds a firing from its records; `None` without a record.
    pub(crate) fn from_records(seq: u64, records: Vec<JournalRecord>) -> Option<Self> {
        let first = records.first()?;
        let (id, at, session) = (first.id.clone(), first.at, first.session.clone());
        Some(Self { seq, id, at, session, state: state_of(&records), records })
    }
}

/// The state of a firing. Without its first record (dropped, or too old) it counts as finished.
fn state_of(records: &[JournalRecord]) -> FiringState {
    let begun = |record: &&JournalRecord| {
        matches!(record.step, FiringPhase::Accepted | FiringPhase::Started)
    };
    if records.iter().any(|record| record.step == FiringPhase::Finished) {
        return FiringState::Finished;
    }
    match records.iter().rfind(begun) {
        None => FiringState::Finished,
        Some(last) if is_running(last.pid, last.at) => FiringState::Running,
        Some(_) => FiringState::Interrupted,
    }
}
