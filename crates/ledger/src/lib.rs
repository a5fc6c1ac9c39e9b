//! Stores the journal of firings, undelivered messages of sessions, counts, tickets, runs and trust.
//! It does not interpret the stored values, and no decision depends on it.

mod firing;
mod local;
mod memory;
mod open_ticket;
mod pid_alive;
mod redact;
mod run_error;
mod task;
mod team_dir;
mod token;

pub use local::{LocalLedger, RetentionLimits};
pub use memory::MemoryLedger;
pub use redact::Redactor;
pub use team_dir::{DEFAULT_LEAD, TeamDir, TeamMember, TeamMessage};

use std::path::PathBuf;
use std::sync::Arc;

use gambrel_model::Ledger;

/// The ledger in a state folder, for readers that need no more than its traits.
pub fn open_state_dir(dir: PathBuf) -> Arc<dyn Ledger> {
    Arc::new(LocalLedger::open(dir, Redactor::default()))
}
