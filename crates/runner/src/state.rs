//! The state of a run: the fold of its log. `state.json` is a view of it.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::counts::{CountTotals, RunCounts};
use crate::cursor::{Cursor, RunStep};
use crate::log_line::{LogKind, LogLine};
use crate::plan::Plan;

/// The status of a run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RunStatus {
    /// It runs, or was cut off.
    #[default]
    Running,
    /// A user holds it before its next iteration.
    Paused,
    /// It has ended well.
    Complete,
    /// It has failed.
    Failed,
}

/// What an iteration left.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct HistoryEntry {
    /// The iteration.
    pub iteration: u32,
    /// When it ended, as UTC text.
    pub timestamp: String,
    /// The id of its node.
    pub stage: String,
    /// `continue`, `stop` or `error`.
    pub decision: String,
    /// Why.
    pub reason: String,
    /// What was done.
    pub summary: String,
    /// Files that the agent says it touched.
    pub files_touched: Vec<String>,
    /// Items that the agent says it completed.
    pub items_completed: Vec<String>,
    /// Further signals of the agent.
    pub signals: Value,
    /// What it counted.
    pub counts: RunCounts,
}

/// Why a run failed.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct RunFailure {
    /// `exit_code`, `hook_abort`, `agent_error`.
    #[serde(rename = "type")]
    pub kind: String,
    /// What happened.
    pub message: String,
    /// When, as UTC text.
    #[serde(default)]
    pub timestamp: String,
    /// The step that a resumed run repeats, for an abort by a hook.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<RunStep>,
}

/// What a node left.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct StageState {
    /// The index of the node.
    pub index: usize,
    /// Its id.
    pub name: String,
    /// Its status.
    pub status: RunStatus,
    /// When that status began, as UTC text.
    pub timestamp: String,
}

/// The state of a run.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RunState {
    /// The status.
    pub status: RunStatus,
    /// What comes next.
    pub cursor: Cursor,
    /// What the iterations left.
    pub history: Vec<HistoryEntry>,
    /// What the nodes left.
    pub stages: Vec<StageState>,
    /// When the run began.
    pub started_at: String,
    /// The same, in milliseconds since the epoch.
    pub started_ms: u64,
    /// When the running iteration began.
    pub iteration_started: Option<String>,
    /// The last iteration of the current node that ended.
    pub iteration_completed: u32,
    /// When the run ended.
    pub completed_at: Option<String>,
    /// Why it ended.
    pub completion_reason: Option<String>,
    /// When and why it failed.
    pub failure: Option<RunFailure>,
    /// When it was cancelled.
    pub cancelled_at: Option<String>,
    /// When a user paused it.
    pub paused_at: Option<String>,
    /// When it last went on.
    pub resumed_at: Option<String>,
    /// How often an agent has ended, which is the position of a scripted agent.
    pub agent_ends: usize,
    /// The ids of the messages that the newest prompt contained.
    pub delivered_ids: Vec<String>,
    /// The hooks whose output the agent receives at once, with the heading; null without one.
    pub follow_up: Value,
    /// When the current node began, in milliseconds since the epoch.
    pub node_started_ms: u64,
    /// Why the newest node ended.
    pub node_reason: String,
    /// Files that changed in the newest iteration.
    pub changed_files: Vec<String>,
    /// Hooks that have finished: the key of the firing, and the hook.
    pub finished_hooks: BTreeSet<(String, String)>,
    /// How many errors the run has had.
    pub error_count: usize,
    /// How often the current iteration was started again after its agent failed.
    pub recoveries: u32,
    /// The counts of the run.
    pub totals: CountTotals,
    /// When the newest line was written, in milliseconds since the epoch.
    pub last_ms: u64,
    /// How many lines the log has.
    pub line_count: u64,
}

impl RunState {
    /// The state after some lines.
    pub fn fold<'l>(plan: &Plan, lines: impl IntoIterator<Item = &'l LogLine>) -> Self {
        let mut state = Self::default();
        for line in lines {
            state.apply(plan, line);
        }
        state
    }

    /// Changes the state by one line.
    pub fn apply(&mut self, plan: &Plan, line: &LogLine) {
        self.line_count += 1;
        self.cursor = line.cursor.clone();
        let pause_ms = line.ms.saturating_sub(std::mem::replace(&mut self.last_ms, line.ms));
        self.totals.apply(line, pause_ms);
        match line.kind {
            LogKind::SessionStart => {
                self.started_at.clone_from(&line.ts);
                self.started_ms = line.ms;
            }
            LogKind::NodeStart => self.start_stage(plan, line),
            LogKind::IterationStart => self.iteration_started = Some(line.ts.clone()),
            LogKind::AgentEnd => self.agent_ends += 1,
            LogKind::HookComplete => {
                let text = |key: &str| line.data[key].as_str().unwrap_or_default().to_owned();
                self.finished_hooks.insert((text("firing_key"), text("hook")));
            }
            LogKind::IterationComplete => {
                self.iteration_started = None;
                self.recoveries = 0;
                self.iteration_completed = line.cursor.iteration;
                let entry = serde_json::from_value(line.data["history"].clone());
                self.history.push(entry.unwrap_or_default());
                let changed = serde_json::from_value(line.data["changed_files"].clone());
                self.changed_files = changed.unwrap_or_default();
            }
            LogKind::IterationHooksDone => self.follow_up = line.data["follow_up"].clone(),
            LogKind::Prompted => {
                self.delivered_ids =
                    serde_json::from_value(line.data["delivered"].clone()).unwrap_or_default();
            }
            LogKind::NodeComplete => {
                self.node_reason = line.data["reason"].as_str().unwrap_or_default().to_owned();
                self.end_stage(line, RunStatus::Complete);
            }
            LogKind::Error
            | LogKind::Failed
            | LogKind::Recovered
            | LogKind::Paused
            | LogKind::Unpaused
            | LogKind::Cancelled => self.apply_trouble(line, pause_ms),
            LogKind::Resumed => {
                // The time in which nothing ran does not count.
                self.node_started_ms += pause_ms;
                self.resume(line);
            }
            LogKind::SessionComplete => {
                self.status = RunStatus::Complete;
                self.completed_at = Some(line.ts.clone());
                self.completion_reason = line.data["reason"].as_str().map(str::to_owned);
            }
            LogKind::SessionStarted
            | LogKind::AgentStart
            | LogKind::Stop
            | LogKind::StageHooksDone
            | LogKind::Delivery
            | LogKind::Delivered => {}
        }
    }

    /// Changes the state by a line about an error or a pause.
    fn apply_trouble(&mut self, line: &LogLine, pause_ms: u64) {
        match line.kind {
            LogKind::Error => {
                self.error_count += 1;
                self.failure = serde_json::from_value(line.data.clone()).ok();
            }
            LogKind::Failed => {
                self.status = RunStatus::Failed;
                self.failure = serde_json::from_value(line.data.clone()).ok();
                self.end_stage(line, RunStatus::Failed);
            }
            LogKind::Recovered => {
                self.recoveries += 1;
                self.failure = None;
            }
            LogKind::Paused => {
                self.status = RunStatus::Paused;
                self.paused_at = Some(line.ts.clone());
            }
            LogKind::Unpaused => {
                // The time in which nothing ran does not count.
                self.node_started_ms += pause_ms;
                self.end_pause();
            }
            LogKind::Cancelled => self.cancelled_at = Some(line.ts.clone()),
            _ => {}
        }
    }

    fn start_stage(&mut self, plan: &Plan, line: &LogLine) {
        self.iteration_completed = 0;
        self.recoveries = 0;
        self.node_started_ms = line.ms;
        let index = line.cursor.node();
        let name = plan.nodes.get(index).map(|node| node.id.clone()).unwrap_or_default();
        let (status, timestamp) = (RunStatus::Running, line.ts.clone());
        self.stages.retain(|stage| stage.index != index);
        self.stages.push(StageState { index, name, status, timestamp });
    }

    fn end_stage(&mut self, line: &LogLine, status: RunStatus) {
        let index = line.cursor.node();
        let is_open =
            |stage: &&mut StageState| stage.index == index && stage.status != RunStatus::Complete;
        if let Some(stage) = self.stages.iter_mut().find(is_open) {
            stage.status = status;
            stage.timestamp.clone_from(&line.ts);
        }
    }

    fn end_pause(&mut self) {
        self.status = RunStatus::Running;
        self.paused_at = None;
    }

    fn resume(&mut self, line: &LogLine) {
        self.end_pause();
        if line.cursor.step != RunStep::ErrorHooks {
            self.failure = None;
        }
        self.cancelled_at = None;
        self.resumed_at = Some(line.ts.clone());
        let index = line.cursor.node();
        for stage in self.stages.iter_mut().filter(|stage| stage.index == index) {
            if stage.status == RunStatus::Failed {
                stage.status = RunStatus::Running;
            }
        }
    }

    /// The decision of the newest iteration of a node; empty before the first one.
    pub fn last_decision(&self, node_id: &str) -> &str {
        let last = self.history.iter().rev().find(|entry| entry.stage == node_id);
        last.map_or("", |entry| &entry.decision)
    }

    /// `state.json`.
    pub fn to_json(&self, plan: &Plan) -> Value {
        let mut state = json!({
            "session": plan.session.name,
            "type": plan.pipeline.kind,
            "pipeline": plan.pipeline.name,
            "started_at": self.started_at,
            "status": self.status,
            "current_stage": self.cursor.node(),
            "iteration": self.cursor.iteration,
            "iteration_completed": self.iteration_completed,
            "iteration_started": self.iteration_started,
            "stages": self.stages,
            "history": self.history,
            "counts": self.totals.run,
            "event_offset": self.line_count,
            "cursor": self.cursor,
        });
        let optional = [
            ("completed_at", &self.completed_at),
            ("completion_reason", &self.completion_reason),
            ("cancelled_at", &self.cancelled_at),
            ("paused_at", &self.paused_at),
            ("resumed_at", &self.resumed_at),
        ];
        for (key, value) in optional {
            if let Some(value) = value {
                state[key] = json!(value);
            }
        }
        if let Some(failure) = self.failure.as_ref().filter(|_| self.status == RunStatus::Failed) {
            state["failed_at"] = json!(failure.timestamp);
            state["error"] = json!(failure);
            state["resume_from"] = json!(self.iteration_completed + 1);
        }
        state
    }

    /// Where a resumed run goes on.
    pub fn resume_cursor(&self) -> Cursor {
        let cursor = &self.cursor;
        match (self.status, &self.failure) {
            (RunStatus::Failed, Some(failure)) => match (failure.kind.as_str(), failure.step) {
                // The hook that stopped the run is asked again.
                ("hook_abort", Some(RunStep::IterationHooks | RunStep::Agent)) => {
                    cursor.at_iteration(cursor.iteration, cursor.attempt)
                }
                ("hook_abort", Some(step)) => cursor.at(step),
                ("agent_error", _) => cursor.at_iteration(cursor.iteration + 1, 1),
                _ => cursor.at_iteration(cursor.iteration, cursor.attempt + 1),
            },
            (RunStatus::Failed, None) => {
                cursor.at_iteration(cursor.iteration.max(1), cursor.attempt + 1)
            }
            // The agent's process is gone; its iteration starts again.
            _ if cursor.step == RunStep::Agent || cursor.step == RunStep::IterationHooks => {
                let again = cursor.at_iteration(cursor.iteration, cursor.attempt);
                Cursor { turn: cursor.turn, ..again }
            }
            _ => cursor.clone(),
        }
    }
}
