//! The agents that a run can drive.

mod acp;
mod command;
mod script;

use std::path::PathBuf;
use std::time::Duration;

pub use acp::{
    AcpError, AcpInput, AcpResult, AcpSession, AcpToolCall, AgentLine, AgentStartError, CallStatus,
    INTERRUPT_CHECK_INTERVAL, PermissionRequest, PermissionWish, Received, StopWord, TaskServer,
    TurnFiles, is_empty_object, probe_agent,
};
pub use command::{choose_output, run_command};
pub use script::{ToolUse, ToolUseEnd, run_script};

/// One prompt for an agent.
pub struct AgentJob {
    /// What hooks say to the agent.
    pub messages: Option<String>,
    /// The prompt of the iteration; none for the last messages of a run.
    pub prompt: Option<String>,
    /// The environment, on top of the caller's.
    pub env: Vec<(String, String)>,
    /// Where the agent works.
    pub cwd: PathBuf,
    /// Where its output goes.
    pub output: PathBuf,
    /// Where its session is kept, for an agent that has one.
    pub transcript: PathBuf,
    /// Where its decision goes.
    pub status: PathBuf,
    /// Whether an earlier prompt of the same iteration has ended.
    pub is_follow_up: bool,
    /// How long it may take.
    pub timeout: Option<Duration>,
    /// The first part of the keys of its tool calls.
    pub key: String,
    /// How many prompts of this run have ended, for a scripted agent.
    pub position: usize,
}

impl AgentJob {
    /// The messages, then the prompt.
    pub fn blocks(&self) -> Vec<&str> {
        self.messages.iter().chain(&self.prompt).map(String::as_str).collect()
    }
}

/// How a prompt ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TurnEnd {
    /// The agent is done.
    Completed,
    /// The agent failed, and why.
    Failed(String),
    /// The agent took too long and was ended.
    TimedOut,
    /// A signal ended the run.
    Interrupted,
}
