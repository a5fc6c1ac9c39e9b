//! A firing as its records tell it. Knows how records belong together, not where they are kept.

use gambrel_model::ledger::{FiringPhase, JournalRecord};

use crate::alive::is_running;

/// Which firings to list.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Query {
    /// Of this session only.
    pub session: Option<String>,
    /// At most so many: the newest, or with `after` the next ones.
    pub limit: usize,
    /// Only what came after this place in the journal.
    pub after: Option<u64>,
}

/// One firing with everything that the journal knows of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Firing {
    /// Its place in the journal; grows from firing to firing.
    pub seq: u64,
    /// Its own id.
    pub id: String,
    /// Milliseconds since the epoch, of its first record.
    pub at: u64,
    /// The session of its first record.
    pub session: String,
    /// Whether it still goes on.
    pub state: FiringState,
    /// Its records, in the order in which they were written.
    pub records: Vec<JournalRecord>,
}

/// How far a firing came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FiringState {
    /// Its process is alive and has not decided yet.
    Running,
    /// A decision was made.
    Finished,
    /// Its process is gone and left no decision.
    Interrupted,
}

impl Firing {
    /// The firing that these records tell of; nothing without a record.
    pub(crate) fn of(seq: u64, records: Vec<JournalRecord>) -> Option<Self> {
        let first = records.first()?;
        let (id, at, session) = (first.id.clone(), first.at, first.session.clone());
        Some(Self { seq, id, at, session, state: state_of(&records), records })
    }
}

/// Without its beginning (dropped, or too old) nothing can be said of a firing but that it was.
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
