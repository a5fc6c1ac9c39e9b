//! Order of work only: load, select, fire, trust. It knows no dialect, no action and no store by
//! name: it receives them as tables and as a ledger.

mod budget;
mod coverage;
mod covered;
mod detached;
mod find;
mod fire;
mod firing;
mod journal;
mod leak;
mod load;
mod notices;
mod recheck;
mod run_calls;
mod select;
mod swap;
mod trust;
mod undelivered;

pub use coverage::{Coverage, CoveredFile, Surroundings};
pub use detached::{DetachedHook, record_detached_outcome};
pub use find::{MAX_FILE_BYTES, read_text};
pub use journal::{Unreadable, now_ms, record_unreadable};
pub use leak::LeakRecord;
pub use load::{Loaded, load_hooks};
pub use notices::{describe_uncovered, hooked_events, uncovered_events};
pub use select::{Candidate, Selection};
pub use trust::{
    ABSENT, TRUST_RULES, Trust, TrustMode, coverage, earlier_record, name_in_record, trust_key,
    trust_record,
};
pub use undelivered::{GAMBREL, keep_for_session, mark_delivered, release_claims};

use std::sync::Arc;
use std::time::{Duration, Instant};

use gambrel_model::{Action, Decision, Event, Ledger};

/// Everything a firing needs, put together where the program is composed.
pub struct Engine<'a> {
    /// The hooks of the folder.
    pub loaded: Arc<Loaded>,
    /// The ways to run a call.
    pub actions: &'a [&'a dyn Action],
    /// What remembers.
    pub ledger: &'a dyn Ledger,
    /// How this firing is to be done.
    pub options: Options,
}

/// How a firing is to be done.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// A live host calls and runs its own dialect's hooks itself.
    pub hosted: bool,
    /// Only hooks of these dialects, if any are named.
    pub only: Vec<String>,
    /// A gate that could not be asked counts as a deny.
    pub strict: bool,
    /// Which project hooks may run.
    pub trust: TrustMode,
    /// What lets every project hook run, if something does: `GAMBREL_TRUST=all`, `--trust all`.
    pub trusts_all_by: Option<&'static str>,
    /// Nothing of a trusted hook runs but the bytes that were hashed.
    pub verified_exec: bool,
    /// How long the host will wait.
    pub budget: Option<Duration>,
    /// Since when it waits; without it, since the firing began.
    pub began: Option<Instant>,
}

impl Engine<'_> {
    /// Fires every matching hook and returns what they decided together.
    pub fn fire(&self, event: &mut Event) -> Decision {
        fire::fire_event(self, event)
    }

    /// What would be considered for an event, and why each would or would not run. Runs nothing.
    pub fn explain(&self, event: &mut Event) -> Vec<Candidate> {
        fire::load_session_counts(self, event);
        select::explain_hooks(self, event)
    }
}
