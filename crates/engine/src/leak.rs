//! The record about killed leftover processes of a hook, written long after its firing. It holds
//! only names, so that it fits into one message to the watchdog.

use gambrel_model::{Event, FiringPhase, Hook, JournalRecord, Ledger, LedgerError, ProcessOrigin};
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::journal::now_ms;

/// The hook that started them.
#[derive(Debug, Serialize, Deserialize)]
pub struct LeakRecord {
    id: String,
    session: String,
    hook: String,
    source: String,
    /// When its event came, in milliseconds since the epoch.
    at: u64,
}

impl LeakRecord {
    /// The record of one hook at one event.
    pub fn from_hook(event: &Event, hook: &Hook) -> Self {
        Self {
            id: event.id.clone(),
            session: event.session.clone(),
            hook: hook.id.clone(),
            source: hook.draft.source.location(),
            at: event.at,
        }
    }

    /// Records that so many of them were killed.
    pub fn write_record(self, ledger: &dyn Ledger, killed: usize) -> Result<(), LedgerError> {
        let at = now_ms();
        let plural = if killed == 1 { "" } else { "es" };
        let remark = format!("leak: {killed} process{plural} killed: left running for too long");
        let body = json!({
            "hook": self.hook, "source": self.source, "outcome": "leak",
            "ms": at.saturating_sub(self.at), "remarks": [remark],
        });
        ledger.append_journal(&[JournalRecord {
            id: self.id,
            at,
            step: FiringPhase::Late,
            session: self.session,
            origin: ProcessOrigin::of_this_process(),
            body,
        }])
    }
}
