//! Where a stored value comes from: a process on a node.

use serde::{Deserialize, Serialize};

use crate::event::is_zero;

/// A process. Only its own node can say whether it still runs.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProcessOrigin {
    /// The node; empty for the node of a ledger that is not shared.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub node: String,
    /// The process id.
    pub pid: u32,
    /// Start time of the process in kernel ticks, because process ids are reused; 0 if unknown.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub start_time: u64,
}

impl ProcessOrigin {
    /// This process. Reads nothing, so the start time is unknown.
    pub fn of_this_process() -> Self {
        Self { pid: std::process::id(), ..Self::default() }
    }
}
