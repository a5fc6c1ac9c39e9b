//! A line of `events.jsonl`, which is the truth about a run.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::cursor::Cursor;

/// One line of the log.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LogLine {
    /// When it was written, as UTC text.
    pub ts: String,
    /// The same in milliseconds since the epoch.
    #[serde(default)]
    pub ms: u64,
    /// What happened.
    #[serde(rename = "type")]
    pub kind: LogKind,
    /// The session's name.
    pub session: String,
    /// Where the run is after this line.
    pub cursor: Cursor,
    /// What else is known.
    #[serde(default)]
    pub data: Value,
}

/// What a line says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LogKind {
    /// The run begins.
    SessionStart,
    /// The hooks of the start have run.
    SessionStarted,
    /// A node begins.
    NodeStart,
    /// An iteration begins.
    IterationStart,
    /// A hook has ended.
    HookComplete,
    /// The prompt is ready.
    Prompted,
    /// The agent is about to start.
    AgentStart,
    /// The agent has ended.
    AgentEnd,
    /// A hook keeps the iteration going.
    Stop,
    /// An iteration has ended.
    IterationComplete,
    /// The hooks of its end have run.
    IterationHooksDone,
    /// A node has ended.
    NodeComplete,
    /// The hooks of its end have run.
    StageHooksDone,
    /// Messages are about to be delivered.
    Delivery,
    /// Messages were delivered.
    Delivered,
    /// The run is complete.
    SessionComplete,
    /// Something failed.
    Error,
    /// The iteration starts again after its agent failed.
    Recovered,
    /// The run has failed.
    Failed,
    /// The run waits before its next iteration.
    Paused,
    /// A paused run goes on.
    Unpaused,
    /// The run was cancelled.
    Cancelled,
    /// The run goes on.
    Resumed,
}
