//! The agents that a run can drive.

mod command;
mod script;

use std::path::PathBuf;
use std::time::Duration;

pub use script::ToolUse;

use crate::context::RunContext;
use crate::provider::AgentSpec;

/// One prompt for an agent.
pub struct AgentJob {
    /// The messages of hooks and the prompt, in order.
    pub blocks: Vec<String>,
    /// The environment, on top of the caller's.
    pub env: Vec<(String, String)>,
    /// Where the agent works.
    pub cwd: PathBuf,
    /// Where its output goes.
    pub output: PathBuf,
    /// Where its decision goes.
    pub status: PathBuf,
    /// Whether an earlier prompt of the same iteration has ended.
    pub is_follow_up: bool,
    /// How long it may take.
    pub timeout: Option<Duration>,
    /// How many prompts of this run have ended, for a scripted agent.
    pub position: usize,
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

/// Gives an agent one prompt and waits for its end. `use_tool` fires the hooks of a tool call and
/// says whether it is refused.
pub fn prompt_agent(
    spec: &AgentSpec,
    context: &RunContext<'_>,
    job: &AgentJob,
    use_tool: &mut dyn FnMut(&ToolUse) -> Option<String>,
) -> TurnEnd {
    match spec {
        AgentSpec::Command(command) => command::run_command(context, command, job),
        AgentSpec::Script(file) => script::run_script(context, file, job, use_tool),
        AgentSpec::Acp(command) => {
            TurnEnd::Failed(format!("`{command}` speaks a protocol that cannot be run yet"))
        }
    }
}
