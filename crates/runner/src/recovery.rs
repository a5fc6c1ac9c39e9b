//! What hooks of an error say to an agent whose session is open: one prompt in that session, before
//! the iteration starts again.

use gambrel_engine::{mark_delivered, pending_delivery};
use gambrel_model::{Audience, Undelivered};

use crate::agent::{AgentJob, TurnEnd};
use crate::context::RunError;
use crate::drive::Driver;

impl Driver<'_> {
    /// What waits for the agent.
    pub(crate) fn list_undelivered(&self) -> Result<Vec<Undelivered>, RunError> {
        Ok(pending_delivery(self.context.ledger, &self.session_key())?.entries)
    }

    /// Sends what hooks have said since `known` to the session that is open. Without a session, or
    /// if the agent fails again, it comes before the next prompt.
    pub(crate) fn send_recovery(&mut self, known: &[Undelivered]) -> Result<(), RunError> {
        if self.session.is_none() {
            return Ok(());
        }
        let mut new = self.list_undelivered()?;
        new.retain(|entry| known.iter().all(|old| old.id != entry.id));
        let messages = new.iter().flat_map(|entry| &entry.verdict.messages);
        let messages = messages.filter(|message| message.to != Audience::User);
        let texts: Vec<&str> = messages.map(|message| message.text.as_str()).collect();
        if !texts.is_empty() {
            let job = self.build_recovery(texts.join("\n"));
            if self.prompt_agent(&job) == TurnEnd::Completed {
                mark_delivered(self.context.ledger, &self.session_key(), &new)?;
            }
        }
        self.session = None;
        Ok(())
    }

    fn build_recovery(&self, text: String) -> AgentJob {
        let cursor = &self.state.cursor;
        let files = self.folder.iteration_files(self.plan, cursor.node(), cursor.iteration);
        AgentJob {
            messages: Some(text),
            prompt: None,
            env: self.view().agent_env(cursor, &self.now()),
            cwd: self.context.project.clone(),
            output: files.output,
            transcript: files.transcript,
            status: files.status,
            is_follow_up: true,
            timeout: self.remaining_runtime(),
            key: format!("recovery/{}", self.state.line_count),
            position: self.state.agent_ends,
        }
    }
}
