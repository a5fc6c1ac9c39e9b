//! Stores the journal of firings, undelivered messages of sessions, counts, tickets and trust. It
//! does not interpret the stored values, and no decision depends on it.

mod firing;
mod local;
mod memory;
mod pid_alive;
mod redact;
mod token;

pub use firing::{FiringQuery, FiringRecord, FiringState};
pub use local::{Imported, LocalLedger, RecentFirings, RetentionLimits};
pub use memory::MemoryLedger;
pub use redact::Redactor;
