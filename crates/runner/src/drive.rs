//! The loop of a run: look at the position, do the step, write its line, go on. A line that says
//! that something begins is written before its first effect; a line that says that something is
//! done is written before the first effect of the next step.

use gambrel_model::{Decision, Undelivered, iso_time};
use serde_json::{Value, json};

use crate::agent::AcpSession;
use crate::changed_files::WorkTree;
use crate::context::{RunContext, RunError, RunResult, RunUpdate};
use crate::counts::TurnCounts;
use crate::cursor::{Cursor, RunStep};
use crate::facts::RunView;
use crate::firing::{RunDecision, RunFiring};
use crate::folder::RunFolder;
use crate::log_line::{LogKind, LogLine};
use crate::plan::{Plan, PlanNode};
use crate::run_log::RunLogWriter;
use crate::start::write_state;
use crate::state::{RunFailure, RunState};

/// A run in progress.
pub struct Driver<'r> {
    pub(crate) context: &'r RunContext<'r>,
    pub(crate) plan: &'r Plan,
    pub(crate) folder: &'r RunFolder,
    pub(crate) state: RunState,
    pub(crate) log: RunLogWriter<'r>,
    pub(crate) on_update: &'r mut dyn FnMut(RunUpdate<'_>),
    /// The messages for the agent's next prompt.
    pub(crate) messages: Vec<String>,
    /// Stored messages that the newest prompt contains.
    pub(crate) delivered: Vec<Undelivered>,
    /// The work tree before the current iteration.
    pub(crate) work_tree: Option<WorkTree>,
    /// Files that changed in the current iteration.
    pub(crate) changed_files: Vec<String>,
    /// The prompt that a hook wrote instead of the plan's.
    pub(crate) rewritten_prompt: Option<String>,
    /// The hooks of tool calls in the current turn.
    pub(crate) tool_hooks: Vec<Value>,
    /// The decision of a tool hook that stops the run.
    pub(crate) tool_halt: Option<Decision>,
    /// What the current turn of the agent adds to the counts.
    pub(crate) turn_counts: TurnCounts,
    /// The agent's session, while it is open.
    pub(crate) session: Option<AcpSession>,
}

/// What a step returns: the run goes on at the position of its state.
pub(crate) type StepResult = Result<(), StepStop>;

/// Why a step did not get to its end.
pub(crate) enum StepStop {
    /// A signal asked the run to end.
    Interrupted,
    /// A hook failed the step. The line that says so is written.
    Aborted,
    /// The run cannot go on.
    Failed(RunError),
}

impl<E: Into<RunError>> From<E> for StepStop {
    fn from(error: E) -> Self {
        Self::Failed(error.into())
    }
}

impl<'r> Driver<'r> {
    /// Runs steps until the run has ended.
    pub fn run(mut self) -> Result<RunResult, RunError> {
        loop {
            let is_over = matches!(self.state.cursor.step, RunStep::Done | RunStep::Failed);
            if let Some(signal) = (self.context.interrupted)().filter(|_| !is_over) {
                return self.cancel(signal);
            }
            let ended = match self.state.cursor.step {
                RunStep::SessionStart => self.start_session(),
                RunStep::NodeStart => self.start_node(),
                RunStep::QueueCheck => self.check_queue(),
                RunStep::IterationStart => self.start_iteration(),
                RunStep::IterationHooks => self.fire_iteration_start(),
                RunStep::Agent => self.run_agent(),
                RunStep::StopCheck => self.check_stop(),
                RunStep::IterationEnd => self.end_iteration(),
                RunStep::FollowUp => self.send_follow_up(),
                RunStep::Termination => self.check_node(),
                RunStep::StageEnd => self.end_stage(),
                RunStep::Delivery => self.deliver_messages(),
                RunStep::SessionEnd => self.end_session(),
                RunStep::ErrorHooks => self.fire_error(),
                RunStep::Failed => {
                    return Ok(RunResult::Failed(self.state.failure.unwrap_or_default()));
                }
                RunStep::Done => {
                    let reason = self.state.completion_reason.unwrap_or_default();
                    return Ok(RunResult::Completed(reason));
                }
            };
            // The start of the loop asks for the signal of an interrupted step.
            if let Err(StepStop::Failed(error)) = ended {
                return Err(error);
            }
        }
    }

    /// Ends the run after a signal. No hook fires, and the position stays.
    fn cancel(mut self, signal: i32) -> Result<RunResult, RunError> {
        let cursor = self.state.cursor.clone();
        let data = self.with_turn_counts(json!({"signal": signal}));
        self.write_line(LogKind::Cancelled, cursor, data)?;
        Ok(RunResult::Cancelled(signal))
    }

    /// Whether a signal asked the run to end.
    pub(crate) fn is_interrupted(&self) -> bool {
        (self.context.interrupted)().is_some()
    }

    /// Stops the step after a signal.
    pub(crate) fn check_interrupted(&self) -> StepResult {
        if self.is_interrupted() { Err(StepStop::Interrupted) } else { Ok(()) }
    }

    /// Fires an event. Stops the step after a signal, or if a hook stops the run.
    pub(crate) fn fire_or_stop(&mut self, firing: RunFiring) -> Result<RunDecision, StepStop> {
        let fired = self.fire(firing)?;
        self.check_interrupted()?;
        if fired.is_halt() {
            self.abort(&fired.hooks, &fired.decision)?;
            return Err(StepStop::Aborted);
        }
        Ok(fired)
    }

    /// The time as UTC text.
    pub(crate) fn now(&self) -> String {
        iso_time((self.context.now_ms)(), false)
    }

    /// The node at the current position.
    pub(crate) fn node(&self) -> &'r PlanNode {
        let last = self.plan.nodes.len().saturating_sub(1);
        &self.plan.nodes[self.state.cursor.node().min(last)]
    }

    /// The run as its variables see it.
    pub(crate) fn view(&self) -> RunView<'_> {
        RunView {
            plan: self.plan,
            folder: self.folder,
            state: &self.state,
            changed_files: &self.changed_files,
        }
    }

    /// Writes a line of the log and the view of it.
    pub(crate) fn write_line(
        &mut self,
        kind: LogKind,
        cursor: Cursor,
        data: Value,
    ) -> Result<(), RunError> {
        let line = self.build_line(kind, cursor, data);
        self.append_lines(&[line])
    }

    /// Writes the lines of hooks that have ended, and the line of a step, at once.
    pub(crate) fn write_lines(
        &mut self,
        hooks: &[Value],
        kind: LogKind,
        cursor: Cursor,
        data: Value,
    ) -> StepResult {
        let lines = hooks.iter().map(|hook| {
            self.build_line(LogKind::HookComplete, self.state.cursor.clone(), hook.clone())
        });
        let mut lines: Vec<LogLine> = lines.collect();
        lines.push(self.build_line(kind, cursor, data));
        Ok(self.append_lines(&lines)?)
    }

    /// A line of the log.
    pub(crate) fn build_line(&self, kind: LogKind, cursor: Cursor, data: Value) -> LogLine {
        let ms = (self.context.now_ms)();
        let session = self.plan.session.name.clone();
        LogLine { ts: iso_time(ms, false), ms, kind, session, cursor, data }
    }

    /// Writes lines at once, and the view of them.
    pub(crate) fn append_lines(&mut self, lines: &[LogLine]) -> Result<(), RunError> {
        self.log.append(lines)?;
        for line in lines {
            self.state.apply(self.plan, line);
            (self.on_update)(RunUpdate::Line(line));
        }
        write_state(self.plan, &self.state, self.folder)?;
        Ok(())
    }

    /// Fails the step by a hook's answer. The hooks of `error` come next.
    pub(crate) fn abort(&mut self, hooks: &[Value], decision: &Decision) -> StepResult {
        let reasons: Vec<&str> =
            decision.for_caller.reasons.iter().map(|reason| reason.text.as_str()).collect();
        let message = match reasons.is_empty() {
            true => "a hook stopped the run".to_owned(),
            false => reasons.join("\n"),
        };
        let step = Some(self.state.cursor.step);
        self.report_error(hooks, "hook_abort", message, step)
    }

    /// Writes the line of an error. Its hooks come next.
    pub(crate) fn report_error(
        &mut self,
        hooks: &[Value],
        kind: &str,
        message: String,
        step: Option<RunStep>,
    ) -> StepResult {
        let line = self.error_line(kind, message, step);
        self.write_lines(hooks, line.kind, line.cursor, line.data)
    }

    /// The line of an error.
    pub(crate) fn error_line(
        &mut self,
        kind: &str,
        message: String,
        step: Option<RunStep>,
    ) -> LogLine {
        let failure = RunFailure { kind: kind.to_owned(), message, timestamp: self.now(), step };
        let data = serde_json::to_value(&failure).unwrap_or_default();
        let data = self.with_turn_counts(data);
        self.build_line(LogKind::Error, self.state.cursor.at(RunStep::ErrorHooks), data)
    }
}
