//! The steps of an iteration: prompt, agent, stop check, end.

use std::time::{Duration, Instant};

use gambrel_engine::{mark_delivered, pending_delivery};
use gambrel_model::{Call, End, Limits, Program, Ruling, Slot};
use serde_json::{Value, json};

use crate::agent::{AgentJob, TurnEnd};
use crate::changed_files::{WorkTree, list_changes};
use crate::context::{RunError, RunUpdate};
use crate::cursor::{Cursor, RunStep};
use crate::drive::{Driver, StepResult, StepStop};
use crate::firing::RunFiring;
use crate::folder::write_json;
use crate::follow_up::{NOTIFY_KEY, describe_follow_up};
use crate::log_line::{LogKind, LogLine};
use crate::result::{read_result, read_spec_result};
use crate::session_steps::AGENT_FAILURE;
use crate::turn_report::TurnWatch;

/// How often hooks may keep one iteration going, whatever their own limits are.
const MAX_FOLLOW_UPS: u32 = 100;
const GIT_TIMEOUT: Duration = Duration::from_secs(30);
const INTERRUPT_CHECK_INTERVAL: Duration = Duration::from_millis(50);

impl Driver<'_> {
    /// The folder of an iteration and its `context.json`.
    pub(crate) fn start_iteration(&mut self) -> StepResult {
        self.wait_while_paused()?;
        let cursor = self.state.cursor.at(RunStep::IterationHooks);
        let data = json!({"attempt": cursor.attempt});
        self.write_line(LogKind::IterationStart, cursor.clone(), data)?;

        let files = self.folder.iteration_files(self.plan, cursor.node(), cursor.iteration);
        let created = self.folder.create_iteration(&files);
        created.map_err(|error| RunError::of_file(&files.folder, error))?;
        let remaining = self
            .remaining_runtime()
            .map_or(-1, |left| i64::try_from(left.as_secs()).unwrap_or(i64::MAX));
        let context = self.view().build_context(self.node(), &cursor, remaining);
        write_json(&files.context, &context)
            .map_err(|error| RunError::of_file(&files.context, error))?;
        self.changed_files.clear();
        self.rewritten_prompt = None;
        self.work_tree = WorkTree::read(&self.context.project, &|args| self.run_git(args));
        if let Some(tree) = &self.work_tree {
            // A resumed run compares with it. Without it, the agent's own report counts.
            let _stored = tree.store(&files.folder);
        }
        Ok(())
    }

    /// Waits while a user holds the run.
    fn wait_while_paused(&mut self) -> StepResult {
        let pause_file = self.folder.pause_file();
        if !pause_file.exists() {
            return Ok(());
        }
        let cursor = self.state.cursor.clone();
        self.write_line(LogKind::Paused, cursor.clone(), Value::Null)?;
        while pause_file.exists() {
            self.check_interrupted()?;
            std::thread::sleep(INTERRUPT_CHECK_INTERVAL);
        }
        self.write_line(LogKind::Unpaused, cursor, Value::Null)?;
        Ok(())
    }

    /// The hooks of `iteration.start`, and the prompt.
    pub(crate) fn fire_iteration_start(&mut self) -> StepResult {
        let cursor = self.state.cursor.clone();
        let mut firing = RunFiring::of("iteration.start");
        let prompt = self.view().build_prompt(self.node(), &cursor);
        firing.facts = json!({"prompt": prompt});
        let fired = self.fire(firing)?;
        self.check_interrupted()?;
        // Nobody can be asked here, so a question stops the run as a refusal does.
        if fired.decision.for_caller.ruling > Ruling::Allow {
            return self.abort(&fired.hooks, &fired.decision);
        }
        let patch = fired.decision.for_caller.patch.get(&Slot::Prompt);
        let rewritten = patch.and_then(|value| value.get("text")).and_then(Value::as_str);
        self.rewritten_prompt = rewritten.map(str::to_owned);
        self.messages = fired.agent_messages();
        self.delivered.clone_from(&fired.decision.delivered);
        let delivered: Vec<&str> = self.delivered.iter().map(|entry| entry.id.as_str()).collect();
        let data = json!({"delivered": delivered, "messages": self.messages.len()});
        self.write_lines(&fired.hooks, LogKind::Prompted, cursor.at(RunStep::Agent), data)
    }

    /// Gives the agent its prompt and waits for its end.
    pub(crate) fn run_agent(&mut self) -> StepResult {
        let turn = self.state.cursor.turn + 1;
        let cursor = Cursor { turn, ..self.state.cursor.clone() };
        self.write_line(LogKind::AgentStart, cursor.clone(), json!({"turn": turn}))?;

        let files = self.folder.iteration_files(self.plan, cursor.node(), cursor.iteration);
        let messages = (!self.messages.is_empty()).then(|| self.messages.join("\n"));
        let prompt = match self.rewritten_prompt.clone() {
            Some(prompt) => prompt,
            None => self.build_iteration_prompt(&cursor)?,
        };
        let job = AgentJob {
            messages,
            prompt: Some(prompt),
            env: self.view().agent_env(&cursor, &self.now()),
            cwd: self.context.project.clone(),
            output: files.output,
            transcript: files.transcript,
            status: files.status,
            is_follow_up: cursor.follow_up > 0 || cursor.step == RunStep::FollowUp,
            timeout: self.remaining_runtime(),
            key: turn.to_string(),
            position: self.state.agent_ends,
        };
        let watch =
            TurnWatch::start(&self.node().provider.spec, &job.output, &job.status, &files.result);
        let end = self.prompt_agent(&job);
        self.check_interrupted()?;
        self.count_usage(watch);
        self.record_agent_end(end)
    }

    fn record_agent_end(&mut self, end: TurnEnd) -> StepResult {
        let hooks = std::mem::take(&mut self.tool_hooks);
        let cursor = self.state.cursor.clone();
        if let Some(decision) = self.tool_halt.take() {
            return self.abort(&hooks, &decision);
        }
        if cursor.step == RunStep::FollowUp {
            return self.end_follow_up(&hooks, &end);
        }
        match end {
            TurnEnd::Interrupted => Err(StepStop::Interrupted),
            TurnEnd::Completed => {
                let data = self.with_turn_counts(json!({"stop": "end"}));
                let cursor = cursor.at(RunStep::StopCheck);
                self.write_lines(&hooks, LogKind::AgentEnd, cursor, data)
            }
            TurnEnd::TimedOut => {
                // The agent has received them.
                self.mark_prompt_delivered()?;
                let data = self.with_turn_counts(json!({"stop": "max_runtime"}));
                self.write_lines(&hooks, LogKind::AgentEnd, cursor, data)?;
                self.complete_node("max_runtime")
            }
            TurnEnd::Failed(why) => {
                let data = self.with_turn_counts(json!({"stop": "failed", "message": why}));
                let hooks = hooks
                    .into_iter()
                    .map(|hook| self.build_line(LogKind::HookComplete, cursor.clone(), hook));
                let mut lines: Vec<LogLine> = hooks.collect();
                let error = self.error_line(AGENT_FAILURE, why, None);
                lines.push(self.build_line(LogKind::AgentEnd, error.cursor.clone(), data));
                lines.push(error);
                Ok(self.append_lines(&lines)?)
            }
        }
    }

    /// The hooks that can keep the iteration going.
    pub(crate) fn check_stop(&mut self) -> StepResult {
        let cursor = self.state.cursor.clone();
        let files = self.folder.iteration_files(self.plan, cursor.node(), cursor.iteration);
        let read = match self.node().spec {
            Some(_) => read_spec_result(&files, self.find_summary()?),
            None => read_result(&files),
        };
        write_json(&files.result, &read.result)
            .map_err(|error| RunError::of_file(&files.result, error))?;
        self.find_changed_files(&read.history.files_touched);

        let mut firing = RunFiring::of("iteration.end");
        firing.pass = "veto";
        firing.key = format!("iteration.end/veto/{}", cursor.turn);
        let fired = self.fire_or_stop(firing)?;
        if fired.is_refusal() && cursor.follow_up < MAX_FOLLOW_UPS {
            let reasons = &fired.decision.for_caller.reasons;
            self.messages = reasons.iter().map(|reason| reason.text.clone()).collect();
            let follow_up = cursor.follow_up + 1;
            let data = json!({"follow_up": follow_up, "reasons": self.messages});
            let cursor = Cursor { follow_up, ..cursor.at(RunStep::Agent) };
            return self.write_lines(&fired.hooks, LogKind::Stop, cursor, data);
        }

        self.mark_prompt_delivered()?;
        let mut history = read.history;
        history.iteration = cursor.iteration;
        history.timestamp = self.now();
        history.stage.clone_from(&self.node().id);
        history.counts = self.state.totals.iteration_counts((self.context.now_ms)());
        let data = json!({
            "decision": history.decision, "reason": history.reason,
            "result_file": files.result, "history": history,
            "changed_files": self.changed_files, "counts": history.counts,
        });
        let cursor = cursor.at(RunStep::IterationEnd);
        self.write_lines(&fired.hooks, LogKind::IterationComplete, cursor, data)
    }

    /// Marks the messages that the prompt contained as delivered.
    fn mark_prompt_delivered(&mut self) -> Result<(), RunError> {
        let session_key = self.session_key();
        let ids = &self.state.delivered_ids;
        let mut delivered = std::mem::take(&mut self.delivered);
        // A resumed run knows only their ids.
        if delivered.is_empty() && !ids.is_empty() {
            delivered = pending_delivery(self.context.ledger, &session_key)?.entries;
            delivered.retain(|entry| ids.contains(&entry.id));
        }
        mark_delivered(self.context.ledger, &session_key, &delivered)?;
        Ok(())
    }

    /// All other hooks of `iteration.end`.
    pub(crate) fn end_iteration(&mut self) -> StepResult {
        let mut firing = RunFiring::of("iteration.end");
        firing.pass = "notify";
        firing.key = NOTIFY_KEY.to_owned();
        let fired = self.fire_or_stop(firing)?;
        let follow_up = describe_follow_up(&fired.decision);
        let (step, data) = match follow_up.is_null() {
            true => (RunStep::Termination, self.commit_iteration()),
            // The agent works on; the commit comes after that.
            false => (RunStep::FollowUp, json!({"follow_up": follow_up})),
        };
        self.check_interrupted()?;
        let cursor = self.state.cursor.at(step);
        self.write_lines(&fired.hooks, LogKind::IterationHooksDone, cursor, data)
    }

    /// Waits for the node's delay, or until a signal.
    pub(crate) fn wait_between_iterations(&mut self) -> StepResult {
        let delay = Duration::from_secs_f64(self.node().delay.max(0.0));
        if !delay.is_zero() {
            (self.on_update)(RunUpdate::Waiting(delay));
        }
        let end = Instant::now() + delay;
        while Instant::now() < end {
            self.check_interrupted()?;
            let left = end.saturating_duration_since(Instant::now());
            std::thread::sleep(left.min(INTERRUPT_CHECK_INTERVAL));
        }
        Ok(())
    }

    /// Whether the node's time is over.
    pub(crate) fn is_out_of_time(&self) -> bool {
        self.remaining_runtime().is_some_and(|left| left.is_zero())
    }

    /// What is left of the node's time; `None` without a limit.
    pub(crate) fn remaining_runtime(&self) -> Option<Duration> {
        let limit = Duration::from_secs_f64(self.node().max_runtime_seconds?);
        let began = self.state.node_started_ms;
        let elapsed = (self.context.now_ms)().saturating_sub(began);
        Some(limit.saturating_sub(Duration::from_millis(elapsed)))
    }

    fn find_changed_files(&mut self, touched: &[String]) {
        let cursor = &self.state.cursor;
        let files = self.folder.iteration_files(self.plan, cursor.node(), cursor.iteration);
        let before = self.work_tree.take().or_else(|| WorkTree::load(&files.folder));
        let project = &self.context.project;
        let mut changed: Vec<String> = touched
            .iter()
            .map(|path| {
                let path = std::path::Path::new(path);
                path.strip_prefix(project).unwrap_or(path).display().to_string()
            })
            .collect();
        if let Some(before) = &before {
            let run_git = |args: &[&str]| self.run_git(args);
            if let Some(after) = WorkTree::read(project, &run_git) {
                changed.extend(after.changed_since(before, &run_git));
            }
        }
        self.work_tree = before;
        self.changed_files = list_changes(changed);
    }

    /// Runs git in the project; `None` if it fails.
    fn run_git(&self, args: &[&str]) -> Option<Vec<u8>> {
        let words = std::iter::once("git").chain(args.iter().copied()).map(str::to_owned);
        let call = Call {
            program: Program::Exec(words.collect()),
            env: vec![("GIT_OPTIONAL_LOCKS".to_owned(), "0".to_owned())],
            cwd: self.context.project.clone(),
            limits: Limits { timeout: GIT_TIMEOUT, ..Limits::default() },
            ..Call::default()
        };
        let outcome = (self.context.run_call)(&call);
        let is_whole = !outcome.stdout.is_truncated();
        (outcome.end == End::Exited(0) && is_whole).then_some(outcome.stdout.bytes)
    }
}
