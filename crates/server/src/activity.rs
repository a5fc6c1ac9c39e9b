//! What the page shows besides questions: runs, which the program around the server knows, and
//! firings, which are in the journal.

use std::sync::Arc;

use gambrel_model::ledger::{FiringQuery, FiringRecord, FiringState, Ledger, LedgerError};
use gambrel_model::{RunSummary, RunTimeline};

/// How many firings are shown.
const MAX_FIRING_COUNT: usize = 25;

/// Lists the runs of the project.
pub type ListRuns = dyn Fn() -> Vec<RunSummary> + Send + Sync;
/// Reads one run by its session.
pub type ReadRun = dyn Fn(&str) -> Option<RunTimeline> + Send + Sync;

/// The runs of the project, and names of products.
#[derive(Clone)]
pub struct ActivitySource {
    /// Lists the runs, newest first.
    pub list_runs: Arc<ListRuns>,
    /// Reads one run by its session.
    pub read_run: Arc<ReadRun>,
    /// The product of a dialect.
    pub name_product: fn(&str) -> String,
    /// What the event of a firing is about: a command, a file. Empty where nothing is known.
    pub summarize: fn(&FiringRecord) -> String,
}

/// A picture of the moment.
pub(crate) struct Activity {
    /// Newest first.
    pub(crate) runs: Vec<RunSummary>,
    /// Oldest first.
    pub(crate) firings: Vec<FiringRecord>,
    pub(crate) name_product: fn(&str) -> String,
    pub(crate) summarize: fn(&FiringRecord) -> String,
}

impl Activity {
    /// Reads the newest firings, and the runs.
    pub(crate) fn read(ledger: &dyn Ledger, source: &ActivitySource) -> Result<Self, LedgerError> {
        let query = FiringQuery { session: None, limit: MAX_FIRING_COUNT, after: None };
        // A long journal is not imported yet: its end is enough.
        let firings = match ledger.recent_firings(&query)? {
            Some(recent) => recent.firings,
            None => ledger.firings(&query)?,
        };
        let ActivitySource { list_runs, name_product, summarize, .. } = source;
        let (name_product, summarize) = (*name_product, *summarize);
        Ok(Self { runs: list_runs(), firings, name_product, summarize })
    }

    /// What tells this picture from another.
    pub(crate) fn version(&self) -> Vec<(String, u64)> {
        let state = |firing: &FiringRecord| match firing.state {
            FiringState::Running => 0,
            FiringState::Finished => 1,
            FiringState::Interrupted => 2,
        };
        let firings = self.firings.iter().map(|firing| (firing.id.clone(), state(firing)));
        let runs =
            self.runs.iter().map(|run| (format!("{}/{}", run.session, run.status), run.revision));
        firings.chain(runs).collect()
    }
}
