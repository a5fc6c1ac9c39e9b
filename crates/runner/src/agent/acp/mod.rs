//! Agents of the Agent Client Protocol: the connection, the session, tool calls in neutral words,
//! and the files that keep what the agent said.

mod connection;
mod error;
mod session;
mod tools;
mod transcript;
mod wire;

use std::time::Duration;

pub use connection::{AcpInput, Received};
pub use error::{AcpError, AcpResult, AgentStartError};
pub use session::{
    AcpSession, PermissionRequest, PermissionWish, StopWord, TaskServer, probe_agent,
};
pub use tools::{AcpToolCall, CallStatus, is_empty_object};
pub use transcript::TurnFiles;
pub use wire::AgentLine;

/// Between two looks at whether a signal asked the run to end.
pub const INTERRUPT_CHECK_INTERVAL: Duration = Duration::from_millis(20);
