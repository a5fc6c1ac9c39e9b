//! Why an agent of the Agent Client Protocol cannot go on.

use std::error::Error;
use std::sync::Arc;

use super::wire::{RpcError, UnreadableLine};

/// What an agent gives, or why it cannot go on.
pub type AcpResult<T = ()> = Result<T, AcpError>;

/// Why an agent's process does not start.
pub type AgentStartError = Arc<dyn Error + Send + Sync>;

/// Why an agent cannot go on.
#[derive(Debug, Clone, thiserror::Error)]
pub enum AcpError {
    /// It did not start.
    #[error("the agent did not start: {0}")]
    NotStarted(#[source] AgentStartError),
    /// It started without the streams for messages.
    #[error("the agent did not start: it has no pipes")]
    NoPipes,
    /// It has ended.
    #[error("the agent ended before its turn did: {how}{}", describe_words(words))]
    Ended {
        /// Its exit code or signal.
        how: String,
        /// The last line of its stderr.
        words: String,
    },
    /// It sent something that is no message.
    #[error(transparent)]
    Unreadable(#[from] UnreadableLine),
    /// It sent a message that is too long.
    #[error("the agent sent a message of more than {0} MiB")]
    LongMessage(u64),
    /// It prints text instead of messages.
    #[error("the agent prints text instead of messages: {0}")]
    Noise(String),
    /// It answered a request with an error.
    #[error("the agent refuses `{method}`: {error}")]
    Refused {
        /// The method of the request.
        method: &'static str,
        /// Its error.
        error: RpcError,
    },
    /// Its answer lacks a field.
    #[error("the agent's answer to `{method}` has no `{field}`")]
    Incomplete {
        /// The method of the request.
        method: &'static str,
        /// The field.
        field: &'static str,
    },
    /// It speaks another version of the protocol.
    #[error(
        "the agent speaks version {0} of the Agent Client Protocol, and gambrel speaks version 1"
    )]
    OtherVersion(String),
    /// It did not answer in time.
    #[error("the agent did not answer `{method}` within {seconds} s")]
    Late {
        /// The method of the request.
        method: &'static str,
        /// How long it had.
        seconds: u64,
    },
    /// It does not read.
    #[error("the agent does not read its messages")]
    Deaf,
    /// It asks too often in one turn.
    #[error("the agent has asked for permission {0} times in one turn")]
    Insistent(usize),
    /// It makes too many tool calls in one turn.
    #[error("the agent has made more than {0} tool calls in one turn")]
    Restless(usize),
    /// Its open tool calls are too large.
    #[error("the open tool calls of the agent have more than {0} MiB")]
    Heavy(usize),
    /// It ended its turn in another way than the protocol has for a complete one.
    #[error("the agent ended its turn with `{0}`")]
    Stopped(String),
    /// A signal asked the run to end.
    #[error("a signal asked the run to end")]
    Interrupted,
}

fn describe_words(words: &str) -> String {
    if words.is_empty() { String::new() } else { format!(": {words}") }
}
