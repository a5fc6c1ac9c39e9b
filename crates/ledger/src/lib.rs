//! Stores the journal of firings, undelivered messages of sessions, counts and trust. It does not
//! know what the stored values mean, and no decision waits for it.

mod alive;
mod firing;
mod local;
mod memory;
mod redact;
mod token;

pub use firing::{Firing, FiringState, Query};
pub use local::{Limits, LocalLedger, RecentFirings, TakenIn};
pub use memory::MemoryLedger;
pub use redact::Redactor;
