//! Recorded outcomes of a firing with a key: a repeated firing uses them instead of running hooks.
//! It must not know where they are stored.

use std::panic::{AssertUnwindSafe, catch_unwind};

use gambrel_model::{CutShort, Hook, Moment, Outcome, Ruling};

use crate::candidate::Candidate;
use crate::firing::Firing;

/// The remark of a hook whose recorded outcome is used instead of running it.
pub(crate) const REUSED: &str = "reused: this hook ran in an earlier firing with the same key";

impl Firing<'_, '_> {
    /// Reads the outcomes that an earlier firing with the same key recorded.
    pub fn load_recorded_outcomes(&mut self) {
        let Some(key) = &self.event.firing_key else { return };
        match self.engine.ledger.recorded_outcomes(key) {
            Ok(recorded) => self.recorded = recorded,
            Err(error) => self.decision.warnings.push(error.to_string()),
        }
    }

    /// Records an outcome, so that a repeated firing does not run the hook again. A hook that a
    /// signal ended or whose answer stops the run does not count as finished.
    pub fn record_outcome(&mut self, candidate: &Candidate, outcome: &Outcome) {
        let Some(key) = &self.event.firing_key else { return };
        if outcome.cut_short_by == Some(CutShort::Interrupted) {
            return;
        }
        let hook = &candidate.hook;
        let read = || hook.format.read_outcome(self.event, hook, outcome).verdict.ruling;
        // A refusal of an iteration aborts the run.
        let refuses = |ruling: Ruling| {
            let aborts = self.event.moment == Moment::IterationStart && ruling.is_refusal();
            aborts || ruling == Ruling::Halt
        };
        if catch_unwind(AssertUnwindSafe(read)).is_ok_and(refuses) {
            return;
        }
        let recorded = self.engine.ledger.record_outcome(key, &self.record_name(hook), outcome);
        self.decision.warnings.extend(recorded.err().map(|error| error.to_string()));
    }

    /// The name of a hook's record: a hook may run twice in one firing.
    fn record_name(&self, hook: &Hook) -> String {
        if self.recheck { format!("{} recheck", hook.id) } else { hook.id.clone() }
    }

    /// The recorded outcome of a hook that would run now.
    pub fn find_recorded(&self, candidate: &Candidate) -> Option<Outcome> {
        if self.recorded.is_empty()
            || self.check_replaced(candidate).is_err()
            || self.refused_by(candidate).is_some()
        {
            return None;
        }
        self.recorded.get(&self.record_name(&candidate.hook)).cloned()
    }
}
