//! One prompt of the current node's agent. How the prompt reaches it depends on its kind.

use crate::agent::{AgentJob, ToolUseEnd, TurnEnd, run_command, run_script};
use crate::drive::Driver;
use crate::provider::AgentSpec;

impl Driver<'_> {
    /// Gives the agent one prompt and waits for its end.
    pub(crate) fn prompt_agent(&mut self, job: &AgentJob) -> TurnEnd {
        let context = self.context;
        match AgentSpec::parse(&self.node().provider.spec) {
            Ok(AgentSpec::Command(command)) => run_command(context, &command, job),
            Ok(AgentSpec::Script(file)) => {
                let mut calls = 0;
                run_script(context, &file, job, &mut |tool| {
                    calls += 1;
                    // The last messages of a run belong to no iteration.
                    if job.prompt.is_none() { ToolUseEnd::Ran } else { self.use_tool(tool, calls) }
                })
            }
            Ok(AgentSpec::Acp(command)) => self.prompt_acp_agent(&command, job),
            Err(error) => TurnEnd::Failed(error.to_string()),
        }
    }
}
