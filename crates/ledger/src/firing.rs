//! Builds a firing from its journal records. Independent of where the records are stored.

use gambrel_model::ledger::{
    FiringPhase, FiringRecord, FiringState, JournalRecord, LedgerError, LedgerErrorKind,
    LedgerResult,
};

use crate::pid_alive::wrote_record;

/// Minimum length of an id's beginning.
const MIN_PREFIX_CHARS: usize = 4;

/// Builds a firing from its records; `None` without a record.
pub(crate) fn build_firing(seq: u64, records: Vec<JournalRecord>) -> Option<FiringRecord> {
    let first = records.first()?;
    let (id, at, session) = (first.id.clone(), first.at, first.session.clone());
    Some(FiringRecord { seq, id, at, session, state: state_of(&records), records })
}

/// Whether a text names a firing: its id begins with it, or the random part of its id does.
pub(crate) fn id_begins_with(id: &str, prefix: &str) -> bool {
    id.starts_with(prefix) || id.split_once('-').is_some_and(|(_, part)| part.starts_with(prefix))
}

/// The id that equals `prefix`, or the only one that `prefix` names.
pub(crate) fn choose_id<'i>(
    prefix: &str,
    ids: impl Iterator<Item = &'i str>,
) -> LedgerResult<Option<&'i str>> {
    let fitting: Vec<&str> = ids.filter(|id| id_begins_with(id, prefix)).collect();
    if let Some(id) = fitting.iter().find(|id| **id == prefix) {
        return Ok(Some(*id));
    }
    let why = match fitting.as_slice() {
        _ if prefix.len() < MIN_PREFIX_CHARS => {
            format!("give at least {MIN_PREFIX_CHARS} characters of its id")
        }
        [] => return Ok(None),
        [id] => return Ok(Some(*id)),
        [one, other, ..] => {
            format!(
                "several firings have such an id, among them `{one}` and `{other}`: give more of it"
            )
        }
    };
    let doing = format!("looking for firing {prefix}");
    Err(LedgerError::new(LedgerErrorKind::Refused, doing, why))
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
        Some(last) if wrote_record(&last.origin, last.at) => FiringState::Running,
        Some(_) => FiringState::Interrupted,
    }
}
