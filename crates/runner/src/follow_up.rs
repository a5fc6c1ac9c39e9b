//! Output of hooks that the agent receives at once, after its iteration has ended and before the next
//! one. The stored messages are the truth: what is delivered is removed, what is not waits for the next
//! iteration.

use gambrel_engine::{mark_delivered, pending_delivery};
use gambrel_model::{Decision, SideEffect, Undelivered, Verdict};
use serde_json::{Value, json};

use crate::agent::TurnEnd;
use crate::context::{RunError, RunUpdate};
use crate::cursor::RunStep;
use crate::drive::{Driver, StepResult, StepStop};
use crate::log_line::LogKind;

/// The last part of the key of the firing at the end of an iteration.
pub(crate) const NOTIFY_KEY: &str = "iteration.end/notify";

/// What a line says about hooks whose output goes to the agent at once; null without one.
pub(crate) fn describe_follow_up(decision: &Decision) -> Value {
    let mut heading = None;
    let mut hooks = Vec::new();
    for effect in &decision.for_caller.side_effects {
        if let SideEffect::FollowUp { heading: text, hook } = effect {
            heading.get_or_insert(text);
            hooks.push(hook);
        }
    }
    heading.map_or(Value::Null, |heading| json!({"heading": heading, "hooks": hooks}))
}

impl Driver<'_> {
    /// Sends the output of hooks at the end of the iteration as one prompt.
    pub(crate) fn send_follow_up(&mut self) -> StepResult {
        let Some(entry) = self.find_follow_up()? else {
            self.commit_iteration();
            self.state.cursor = self.state.cursor.at(RunStep::Termination);
            return Ok(());
        };
        let texts = entry.verdict.messages.iter().map(|message| message.text.as_str());
        let texts: Vec<&str> = texts.collect();
        let heading = self.state.follow_up["heading"].as_str().unwrap_or_default();
        self.messages = vec![format!("{heading}{}", texts.join("\n"))];
        self.run_agent()
    }

    /// Ends the prompt. If the agent failed, the output waits for the next iteration.
    pub(crate) fn end_follow_up(&mut self, hooks: &[Value], end: &TurnEnd) -> StepResult {
        let cursor = self.state.cursor.at(RunStep::Termination);
        let mut data = match end {
            TurnEnd::Interrupted => return Err(StepStop::Interrupted),
            TurnEnd::Failed(why) => {
                let text = format!("the agent failed at the output of hooks: {why}");
                (self.on_update)(RunUpdate::Notice(&text));
                json!({"stop": "failed", "message": why})
            }
            TurnEnd::Completed | TurnEnd::TimedOut => {
                let delivered = self.find_follow_up()?;
                mark_delivered(self.context.ledger, &self.session_key(), delivered.as_slice())?;
                let stop = if *end == TurnEnd::Completed { "end" } else { "max_runtime" };
                json!({"stop": stop})
            }
        };
        if let (Value::Object(data), Value::Object(commit)) = (&mut data, self.commit_iteration()) {
            data.extend(commit);
        }
        self.check_interrupted()?;
        let data = self.with_turn_counts(data);
        self.write_lines(hooks, LogKind::AgentEnd, cursor, data)
    }

    /// The stored messages of the hooks that the line names.
    fn find_follow_up(&self) -> Result<Option<Undelivered>, RunError> {
        let hooks = self.state.follow_up["hooks"].as_array().cloned().unwrap_or_default();
        let id =
            self.state.cursor.firing_key(&self.folder.path, &self.plan.session.run_id, NOTIFY_KEY);
        let pending = pending_delivery(self.context.ledger, &self.session_key())?;
        let entry = pending.entries.into_iter().find(|entry| entry.id == id);
        let part = entry.map(|entry| {
            let mut messages = entry.verdict.messages;
            messages.retain(|message| hooks.iter().any(|hook| *hook == message.hook));
            Undelivered { verdict: Verdict { messages, ..Verdict::default() }, ..entry }
        });
        Ok(part.filter(|part| !part.verdict.messages.is_empty()))
    }
}
