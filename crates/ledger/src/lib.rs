//! ROOM 3, the only room that remembers: the journal of firings, what is owed to sessions,
//! counts, and trust. It never judges what it keeps, and no decision waits for it.

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
