//! The order of work: load, select, fire, trust. It must not know a dialect, action or store by
//! name; it receives them as tables and as a ledger.

mod budget;
mod candidate;
mod coverage;
mod covered;
mod delivery;
mod detached;
mod event_excerpt;
mod find;
mod fire;
mod firing;
mod hide_removed;
mod journal;
mod leak;
mod load;
mod notices;
mod observer;
mod recheck;
mod recorded;
mod recorded_rewrites;
mod removed_text;
mod run_calls;
mod select;
mod side_files;
mod stage;
mod swap;
mod trust;
mod undelivered;

pub use candidate::{Candidate, Selection};
pub use coverage::{Coverage, CoveredFile, Surroundings};
pub use delivery::{
    PendingDelivery, mark_delivered, pending_delivery, queue_messages, release_delivery,
};
pub use detached::{DetachedHook, record_detached_outcome};
pub use find::{MAX_FILE_BYTES, join_name, read_text};
pub use journal::{Unreadable, now_ms, record_unreadable};
pub use leak::LeakRecord;
pub use load::{Loaded, load_hooks};
pub use notices::{describe_uncovered, hooked_events, uncovered_events};
pub use observer::{FiringObserver, FiringProgress};
pub use trust::{
    ABSENT, TRUST_RULES, Trust, TrustMode, earlier_record, find_coverage, name_in_record,
    trust_key, trust_record,
};
pub use undelivered::{GAMBREL, confirm_reply, release_claims};

use std::sync::Arc;
use std::time::{Duration, Instant};

use gambrel_model::{Action, Decision, Event, Hook, Ledger, ReceivedEvent, Reply, TrustStore};
use serde_json::Value;

/// Removes secrets from a value.
pub type RedactValue<'a> = &'a (dyn Fn(&mut Value) + Sync);

/// Everything that a firing needs.
pub struct Engine<'a> {
    /// The hooks of the folder.
    pub loaded: Arc<Loaded>,
    /// The ways to run a call.
    pub actions: &'a [&'a dyn Action],
    /// The ledger.
    pub ledger: &'a dyn Ledger,
    /// The user's trust.
    pub trust_store: &'a dyn TrustStore,
    /// Removes secrets from what is written outside the ledger.
    pub redact: RedactValue<'a>,
    /// Options of this firing.
    pub options: Options,
}

/// Options of a firing.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// Skip hooks of the calling dialect; the agent runs those itself.
    pub hosted: bool,
    /// Whether the host works inside a run, whose runner fires the moments of the loop.
    #[doc(hidden)]
    pub inside_run: bool,
    /// Dialects whose hooks the agent of a run executes itself.
    #[doc(hidden)]
    pub left_to_agent: Vec<&'static str>,
    /// Only hooks of these dialects, if any are named.
    pub only: Vec<String>,
    /// Deny when a gate hook is skipped, times out or fails to start.
    pub strict: bool,
    /// Which project hooks may run.
    pub trust: TrustMode,
    /// What makes every project hook trusted, if anything does: `GAMBREL_TRUST=all`, `--trust all`.
    #[doc(hidden)]
    pub trusts_all_by: Option<&'static str>,
    /// Execute only the hashed bytes of a trusted hook.
    pub verified_exec: bool,
    /// How long the host will wait.
    pub budget: Option<Duration>,
    /// When the host began to wait; defaults to the start of the firing.
    pub began: Option<Instant>,
    /// Told what happens while hooks run.
    pub observer: Option<FiringObserver>,
    /// Set if the firing only tries hooks.
    #[doc(hidden)]
    pub trial: Option<Trial>,
}

/// A firing that only tries hooks: it leaves some out, and writes no files.
#[derive(Debug, Clone)]
pub struct Trial {
    /// Why a hook that matches is left out; `None` runs it.
    pub leave_out: LeaveOut,
    /// Variables for the hooks that run.
    pub env: Vec<(String, String)>,
}

/// Says why a trial leaves a hook out.
pub type LeaveOut = fn(&Hook, &Event) -> Option<&'static str>;

/// A decision and its native reply.
#[non_exhaustive]
pub struct FireResult {
    /// The decision.
    pub decision: Decision,
    /// The native answer.
    pub reply: Reply,
}

impl Engine<'_> {
    /// Builds the event of this project, with the state of its session. Claims the messages that
    /// its caller can receive.
    pub fn open_event(&self, received: ReceivedEvent) -> Event {
        let mut event = Event::new(received, self.loaded.roots.project.clone());
        fire::load_session(self, &mut event);
        event
    }

    /// Builds the event for `explain`. Changes nothing in the session.
    pub fn preview_event(&self, received: ReceivedEvent) -> Event {
        let mut event = Event::new(received, self.loaded.roots.project.clone());
        fire::load_session_counts(self, &mut event);
        event
    }

    /// Fires every matching hook and writes the reply.
    pub fn fire(&self, event: &Event) -> FireResult {
        let decision = fire::fire_event(self, event);
        if let Some(observer) = &self.options.observer {
            observer.report(&FiringProgress::Decided(event, &decision));
        }
        let reply = event.dialect.caller.write_reply(event, &decision);
        FireResult { decision, reply }
    }

    /// Lists all hooks and why each would or would not run. Runs nothing.
    pub fn explain(&self, event: &Event) -> Vec<Candidate> {
        select::explain_hooks(self, event)
    }
}
