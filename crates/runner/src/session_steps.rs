//! The steps at the start and end of a run and of its nodes.

use std::io::Read;
use std::time::Duration;

use gambrel_engine::{mark_delivered, pending_delivery, release_delivery};
use gambrel_model::event::run_key;
use gambrel_model::{Audience, Call, End, Limits, Program, Shell, SideEffect};
use serde_json::{Value, json};

use crate::agent::{AgentJob, TurnEnd};
use crate::context::{RunError, RunUpdate};
use crate::cursor::{Cursor, RunStep};
use crate::drive::{Driver, StepResult, StepStop};
use crate::firing::RunFiring;
use crate::folder::write_json;
use crate::log_line::LogKind;
use crate::plan::{RunKind, TerminationKind};
use crate::termination::{NodeProgress, QueueAnswer, check_termination};
use crate::turn_report::TurnWatch;

/// The kind of failure of an agent that did not end well.
pub(crate) const AGENT_FAILURE: &str = "exit_code";
/// How often one iteration starts again after its agent failed.
const MAX_RECOVERIES: u32 = 3;
const QUEUE_TIMEOUT: Duration = Duration::from_secs(60);
/// The most bytes of an output that are searched for a signal.
const MAX_PRINTED_BYTES: u64 = 64 << 20;

impl Driver<'_> {
    /// The hooks of `session.start`, once in a run's life.
    pub(crate) fn start_session(&mut self) -> StepResult {
        self.create_stage()?;
        let mut firing = RunFiring::of("session.start");
        firing.facts = json!({"cause": "startup"});
        let fired = self.fire_or_stop(firing)?;
        self.write_lines(&fired.hooks, LogKind::SessionStarted, Cursor::at_node(0), Value::Null)
    }

    /// The folder of a node.
    pub(crate) fn start_node(&mut self) -> StepResult {
        let data = json!({"id": self.node().id});
        let cursor = self.state.cursor.at(RunStep::QueueCheck);
        self.write_line(LogKind::NodeStart, cursor, data)?;
        self.create_stage()?;
        Ok(())
    }

    fn create_stage(&self) -> Result<(), RunError> {
        let created = self.folder.create_stage(self.plan, self.state.cursor.node());
        created.map_err(|error| RunError::of_file(&self.folder.path, error))
    }

    /// A node whose queue is empty before its first iteration completes at once.
    pub(crate) fn check_queue(&mut self) -> StepResult {
        self.create_stage()?;
        if self.node().termination.check_before {
            let answer = self.ask_queue();
            self.check_interrupted()?;
            if answer == QueueAnswer::Empty {
                return self.complete_node("queue_empty");
            }
        }
        self.state.cursor = self.state.cursor.at_iteration(1, 1);
        Ok(())
    }

    /// Whether the node has ended.
    pub(crate) fn check_node(&mut self) -> StepResult {
        let cursor = self.state.cursor.clone();
        let output = match self.node().termination.kind {
            TerminationKind::Queue => self.read_printed(&cursor),
            _ => String::new(),
        };
        let node = self.node().clone();
        let history = self.state.history.clone();
        let is_complete = node.spec.is_some() && self.is_session_complete()?;
        let progress =
            check_termination(&node, &history, &output, is_complete, || self.ask_queue());
        self.check_interrupted()?;
        match progress {
            NodeProgress::Complete(reason) => self.complete_node(&reason),
            NodeProgress::Failed(reason) => {
                let reason =
                    if reason.is_empty() { "the agent decided `error`".into() } else { reason };
                self.report_error(&[], "agent_error", reason, None)
            }
            NodeProgress::Continue => match self.reached_limit() {
                Some(reason) => self.complete_node(reason),
                None => {
                    self.note_uncounted();
                    // The next iteration has a session of its own.
                    self.session = None;
                    self.state.cursor = cursor.at_iteration(cursor.iteration + 1, 1);
                    self.wait_between_iterations()
                }
            },
        }
    }

    pub(crate) fn complete_node(&mut self, reason: &str) -> StepResult {
        let cursor = self.state.cursor.at(RunStep::StageEnd);
        let data = json!({"id": self.node().id, "reason": reason});
        Ok(self.write_line(LogKind::NodeComplete, cursor, data)?)
    }

    /// What the agent printed and wrote in an iteration.
    fn read_printed(&self, cursor: &Cursor) -> String {
        let files = self.folder.iteration_files(self.plan, cursor.node(), cursor.iteration);
        let mut text = String::new();
        for path in [&files.output, &files.output_log] {
            let file = std::fs::File::open(path).ok();
            let mut bytes = Vec::new();
            let read = file.map(|file| file.take(MAX_PRINTED_BYTES).read_to_end(&mut bytes));
            if read.is_some_and(|read| read.is_ok()) {
                text.push_str(&String::from_utf8_lossy(&bytes));
            }
        }
        text
    }

    /// Asks the command of a queue. A command that fails has work, and the user learns it.
    fn ask_queue(&mut self) -> QueueAnswer {
        let Some(command) = self.node().termination.command.clone() else {
            return QueueAnswer::HasWork;
        };
        let cursor = &self.state.cursor;
        let mut env = self.view().agent_env(cursor, &self.now());
        env.retain(|(name, _)| !name.starts_with("GAMBREL_"));
        let call = Call {
            program: Program::Shell { shell: Shell::BashOrSh, text: command },
            env,
            cwd: self.context.project.clone(),
            limits: Limits { timeout: QUEUE_TIMEOUT, ..Limits::default() },
            ..Call::default()
        };
        let outcome = (self.context.run_call)(&call);
        let is_empty = outcome.stdout.to_text().trim().is_empty();
        match outcome.end {
            End::Exited(0) if is_empty => QueueAnswer::Empty,
            End::Exited(0) => QueueAnswer::HasWork,
            end => {
                let text = format!("the queue command failed ({end:?}), so the stage goes on");
                (self.on_update)(RunUpdate::Notice(&text));
                QueueAnswer::HasWork
            }
        }
    }

    /// The hooks of `stage.end`.
    pub(crate) fn end_stage(&mut self) -> StepResult {
        let fired = self.fire_or_stop(RunFiring::of("stage.end"))?;
        let next = self.state.cursor.node() + 1;
        let cursor = match next < self.plan.nodes.len() {
            true => Cursor::at_node(next),
            false => self.state.cursor.at(RunStep::Delivery),
        };
        if cursor.step == RunStep::NodeStart {
            self.session = None;
        }
        self.write_lines(&fired.hooks, LogKind::StageHooksDone, cursor, Value::Null)
    }

    /// Gives the agent the messages that no iteration delivered, as one prompt.
    pub(crate) fn deliver_messages(&mut self) -> StepResult {
        let session_key = self.session_key();
        let pending = pending_delivery(self.context.ledger, &session_key)?;
        let end = self.state.cursor.at(RunStep::SessionEnd);
        let messages = pending.messages.iter().filter(|message| message.to != Audience::User);
        let messages: Vec<&str> = messages.map(|message| message.text.as_str()).collect();
        if messages.is_empty() {
            self.session = None;
            self.state.cursor = end;
            return Ok(());
        }
        let block = messages.join("\n");
        let shown = block.clone();
        let ids: Vec<&str> = pending.entries.iter().map(|entry| entry.id.as_str()).collect();
        let cursor = self.state.cursor.clone();
        self.write_line(LogKind::Delivery, cursor.clone(), json!({"ids": ids}))?;
        let job = AgentJob {
            messages: Some(block),
            prompt: None,
            env: self.delivery_env(&cursor),
            cwd: self.context.project.clone(),
            output: self.folder.path.join("delivery.md"),
            transcript: self.folder.path.join("delivery.jsonl"),
            status: self.folder.path.join("delivery-status.json"),
            // A repeated delivery is appended.
            is_follow_up: true,
            timeout: None,
            // A repeated delivery has other calls.
            key: format!("delivery/{}", self.state.line_count),
            position: self.state.agent_ends,
        };
        let result = self.folder.path.join("delivery-result.json");
        let watch = TurnWatch::start(&self.node().provider.spec, &job.output, &job.status, &result);
        let turn = self.prompt_agent(&job);
        if turn == TurnEnd::Interrupted {
            return Err(StepStop::Interrupted);
        }
        let hooks = std::mem::take(&mut self.tool_hooks);
        if let Some(decision) = self.tool_halt.take() {
            return self.abort(&hooks, &decision);
        }
        if let TurnEnd::Failed(why) = &turn {
            let text = format!("the agent failed at the final messages ({why}): {shown}");
            (self.on_update)(RunUpdate::Notice(&text));
        }
        self.count_usage(watch);
        let data = self.with_turn_counts(json!({"completed": turn == TurnEnd::Completed}));
        self.session = None;
        self.write_lines(&hooks, LogKind::Delivered, end, data)?;
        mark_delivered(self.context.ledger, &session_key, &pending.entries)?;
        Ok(())
    }

    /// The environment of the final delivery, which leaves the files of the iterations alone.
    fn delivery_env(&self, cursor: &Cursor) -> Vec<(String, String)> {
        let mut env = self.view().agent_env(cursor, &self.now());
        let files = [
            ("OUTPUT", "delivery.md"),
            ("STATUS", "delivery-status.json"),
            ("RESULT", "delivery-result.json"),
        ];
        for (name, file) in files {
            env.retain(|(known, _)| known != name);
            env.push((name.to_owned(), self.folder.path.join(file).display().to_string()));
        }
        env
    }

    /// The hooks of `session.end`, and `output.json`.
    pub(crate) fn end_session(&mut self) -> StepResult {
        let fired = self.fire_or_stop(RunFiring::of("session.end"))?;
        let reason = self.completion_reason();
        self.write_output("complete", &reason, None)?;
        let cursor = self.state.cursor.at(RunStep::Done);
        let data = json!({"reason": reason});
        self.write_lines(&fired.hooks, LogKind::SessionComplete, cursor, data)
    }

    fn completion_reason(&self) -> String {
        match self.plan.pipeline.kind {
            RunKind::Pipeline => "all_loops_complete".to_owned(),
            RunKind::Loop => self.state.node_reason.clone(),
        }
    }

    /// The hooks of `error`. If one of them can recover the agent, the iteration starts again as a
    /// new attempt, and their messages are in its prompt; otherwise the run has failed.
    pub(crate) fn fire_error(&mut self) -> StepResult {
        let failure = self.state.failure.clone().unwrap_or_default();
        let mut firing = RunFiring::of("error");
        firing.key = format!("error/{}", self.state.error_count);
        firing.facts = json!({"error": failure.message, "cause": failure.kind});
        let known = self.list_undelivered()?;
        let mut fired = self.fire(firing)?;
        self.check_interrupted()?;
        let has_recovery = fired.decision.for_caller.side_effects.contains(&SideEffect::Recover);
        if has_recovery && failure.kind == AGENT_FAILURE && self.state.recoveries < MAX_RECOVERIES {
            self.send_recovery(&known)?;
            self.check_interrupted()?;
            fired.hooks.append(&mut self.tool_hooks);
            // A tool hook may stop the run in the recovery.
            if self.tool_halt.take().is_none() {
                let cursor = &self.state.cursor;
                let cursor = cursor.at_iteration(cursor.iteration, cursor.attempt + 1);
                let data = json!({"attempt": cursor.attempt});
                // The next attempt receives what the failed one was given.
                let failed = std::mem::take(&mut self.delivered);
                release_delivery(self.context.ledger, &self.session_key(), &failed)?;
                return self.write_lines(&fired.hooks, LogKind::Recovered, cursor, data);
            }
        }
        self.write_output("failed", "", Some(&failure.message))?;
        let cursor = self.state.cursor.at(RunStep::Failed);
        let data = serde_json::to_value(&failure).unwrap_or_default();
        self.write_lines(&fired.hooks, LogKind::Failed, cursor, data)
    }

    /// Writes `output.json`, unless the agent wrote it.
    fn write_output(
        &self,
        status: &str,
        reason: &str,
        error: Option<&str>,
    ) -> Result<(), RunError> {
        let path = self.folder.output_file();
        let is_own = |value: &Value| value.get("gambrel").is_some();
        let written = std::fs::read(&path).ok();
        let written = written.and_then(|bytes| serde_json::from_slice::<Value>(&bytes).ok());
        if written.is_some_and(|value| !is_own(&value)) {
            return Ok(());
        }
        let last = self.state.history.last();
        let all = |pick: fn(&crate::state::HistoryEntry) -> &Vec<String>| {
            let mut items: Vec<String> =
                self.state.history.iter().flat_map(|entry| pick(entry).clone()).collect();
            items.sort();
            items.dedup();
            items
        };
        let last_node = self.plan.nodes.len().saturating_sub(1);
        let output = json!({
            "session": self.plan.session.name, "pipeline": self.plan.pipeline.name,
            "status": status, "completion_reason": reason,
            "decision": last.map(|entry| &entry.decision),
            "summary": last.map(|entry| &entry.summary),
            "outputs": self.folder.stage_outputs(self.plan, last_node),
            "files_touched": all(|entry| &entry.files_touched),
            "items_completed": all(|entry| &entry.items_completed),
            "error": error, "gambrel": env!("CARGO_PKG_VERSION"),
        });
        write_json(&path, &output).map_err(|error| RunError::of_file(&path, error))
    }

    /// The key under which the ledger stores messages for this run.
    pub(crate) fn session_key(&self) -> String {
        run_key(&self.folder.path)
    }
}
