//! What a run stores: outcomes of firings that have a key.

use std::collections::BTreeMap;

use super::error::LedgerError;
use crate::outcome::Outcome;

/// Stores what runs need to continue after a kill.
pub trait Runs {
    /// The recorded outcomes of a firing with this key, by hook.
    fn recorded_outcomes(&self, firing_key: &str)
    -> Result<BTreeMap<String, Outcome>, LedgerError>;

    /// Records the outcome of a hook in a firing with this key. A repeated firing reads it instead
    /// of running the hook. The first outcome of a hook counts.
    fn record_outcome(
        &self,
        firing_key: &str,
        hook: &str,
        outcome: &Outcome,
    ) -> Result<(), LedgerError>;
}
