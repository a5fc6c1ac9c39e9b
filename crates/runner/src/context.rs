//! What a run needs from the program around it.

use std::path::PathBuf;

use gambrel_model::{Call, Complaint, Decision, FileChange, Ledger, LedgerError, Outcome, Ticket};
use gambrel_process::group::ProcessGroup;
use gambrel_process::owner::ParentEnds;
use gambrel_process::redact::Redact;
use serde_json::Value;

use crate::agent::{AgentStartError, TaskServer};
use crate::log_line::LogLine;
use crate::plan::PlanFile;

/// The program around a run.
pub struct RunContext<'a> {
    /// Where the log and the undelivered messages are.
    pub ledger: &'a dyn Ledger,
    /// The project's folder.
    pub project: PathBuf,
    /// The folder of gambrel's own state, if it has one.
    pub state_dir: Option<PathBuf>,
    /// Fires an event of the dialect `run`.
    pub fire: &'a FireHooks<'a>,
    /// Runs a command outside any firing.
    pub run_call: &'a (dyn Fn(&Call) -> Outcome + 'a),
    /// Starts an agent that stays for several prompts, with pipes.
    pub start_agent: &'a StartAgent<'a>,
    /// The task board as a server for such an agent.
    pub task_server: Option<TaskServer>,
    /// Removes secrets from what such an agent says.
    pub redact: Option<&'a Redact>,
    /// Whether a gate that could not judge a call refuses it.
    pub is_strict: bool,
    /// Whether a person can be asked about such a call.
    pub can_ask: bool,
    /// Adds to a question what only the machine knows.
    pub add_facts: &'a (dyn Fn(&mut Ticket, Option<&FileChange>) + 'a),
    /// The signal that asked the run to end, if one did.
    pub interrupted: &'a (dyn Fn() -> Option<i32> + 'a),
    /// Milliseconds since the epoch.
    pub now_ms: &'a (dyn Fn() -> u64 + 'a),
}

/// Fires one event. Several threads may fire at once.
pub type FireHooks<'a> = dyn Fn(&FiringRequest<'_>) -> Result<Decision, Complaint> + Sync + 'a;

/// Starts a process with pipes.
pub type StartAgent<'a> = dyn Fn(&Call) -> Result<(ProcessGroup, ParentEnds), AgentStartError> + 'a;

/// An event of a run, and the files of the plan whose hooks take part.
pub struct FiringRequest<'f> {
    /// The event as the dialect `run` reads it.
    pub event: Value,
    /// The SPEC of the current node's agent, which may run hooks of its own.
    pub agent: &'f str,
    /// The file of the current node's stage.
    pub stage_file: Option<&'f PlanFile>,
    /// The file of the pipeline.
    pub pipeline_file: Option<&'f PlanFile>,
}

/// What a run tells its caller while it works.
pub enum RunUpdate<'u> {
    /// A line of the log was written.
    Line(&'u LogLine),
    /// A hook has a message for the user.
    Notice(&'u str),
    /// A tool call waits for a person's answer.
    Question(&'u Ticket),
    /// The run waits before its next iteration.
    Waiting(std::time::Duration),
}

/// How a run ended.
#[derive(Debug, Clone, PartialEq)]
pub enum RunResult {
    /// It is complete, and why.
    Completed(String),
    /// It has failed.
    Failed(crate::state::RunFailure),
    /// A signal ended it.
    Cancelled(i32),
}

/// Why a run cannot go on. Its state is intact.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The ledger failed.
    #[error(transparent)]
    Ledger(#[from] LedgerError),
    /// A file of the run folder failed.
    #[error("cannot write {path}")]
    File {
        /// The file.
        path: String,
        /// Why.
        source: std::io::Error,
    },
    /// The task board failed.
    #[error("the task board: {0}")]
    Board(#[source] crate::board::BoardError),
    /// An event could not be fired.
    #[error("{0}")]
    Firing(Complaint),
    /// The log cannot be read.
    #[error("{path}: line {line} of the log cannot be read: {why}")]
    Log {
        /// The log.
        path: String,
        /// The line, from 1.
        line: usize,
        /// Why.
        why: String,
    },
    /// `plan.json` cannot be read.
    #[error("{path}: the stored plan cannot be read: {why}")]
    Plan {
        /// The file.
        path: String,
        /// Why.
        why: String,
    },
}

impl RunError {
    /// The error of a file.
    pub fn of_file(path: &std::path::Path, source: std::io::Error) -> Self {
        Self::File { path: path.display().to_string(), source }
    }
}
