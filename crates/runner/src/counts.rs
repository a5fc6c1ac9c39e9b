//! Counts of a run: turns, tool calls, time, and what the agent reports. They are the fold of the
//! log, so a kill loses none that was written.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::context::RunUpdate;
use crate::drive::Driver;
use crate::log_line::{LogKind, LogLine};
use crate::turn_report::TurnWatch;
use crate::usage::{AgentUsage, UsdAmount};

/// What one turn of an agent adds.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct TurnCounts {
    /// Tool calls that the run saw.
    pub tool_calls: u64,
    /// Tool calls that were refused.
    pub blocked_calls: u64,
    /// What the agent reports.
    #[serde(skip_serializing_if = "AgentUsage::is_empty")]
    pub usage: AgentUsage,
}

impl TurnCounts {
    fn add(&mut self, other: &Self) {
        self.tool_calls = self.tool_calls.saturating_add(other.tool_calls);
        self.blocked_calls = self.blocked_calls.saturating_add(other.blocked_calls);
        self.usage.add(&other.usage);
    }
}

/// What an iteration, a node or a run adds up to.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct RunCounts {
    /// How often the agent was started.
    pub turns: u64,
    /// The sum of the turns.
    #[serde(flatten)]
    pub sum: TurnCounts,
    /// The time that passed, without the time in which nothing ran.
    pub wall_seconds: f64,
}

/// The counts of a run, of its current node and of the current iteration.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct CountTotals {
    /// The whole run.
    pub run: RunCounts,
    /// The current node.
    pub node: RunCounts,
    iteration: RunCounts,
    /// The node and the iteration that `iteration` counts.
    counted: (String, u32),
    run_began_ms: u64,
    iteration_began_ms: u64,
}

impl CountTotals {
    /// Changes the counts by one line. `idle_ms` is the time since the line before it.
    pub fn apply(&mut self, line: &LogLine, idle_ms: u64) {
        match line.kind {
            LogKind::SessionStart => self.run_began_ms = line.ms,
            LogKind::NodeStart => self.node = RunCounts::default(),
            LogKind::IterationStart => self.start_iteration(line),
            LogKind::AgentStart => {
                self.iteration.turns += 1;
                self.count_turn();
            }
            LogKind::Delivery => self.count_turn(),
            LogKind::AgentEnd | LogKind::Error | LogKind::Cancelled => {
                let counts = self.add_line(line);
                self.iteration.sum.add(&counts);
            }
            LogKind::Delivered => {
                self.add_line(line);
            }
            LogKind::Resumed | LogKind::Unpaused => {
                self.run_began_ms += idle_ms;
                self.iteration_began_ms += idle_ms;
            }
            _ => {}
        }
        self.run.wall_seconds = seconds_between(self.run_began_ms, line.ms);
    }

    /// The counts of the current iteration at a time.
    pub fn iteration_counts(&self, now_ms: u64) -> RunCounts {
        let wall_seconds = seconds_between(self.iteration_began_ms, now_ms);
        RunCounts { wall_seconds, ..self.iteration.clone() }
    }

    /// An iteration that starts again keeps its counts: its agent has worked.
    fn start_iteration(&mut self, line: &LogLine) {
        let counted = (line.cursor.node_path.clone(), line.cursor.iteration);
        if self.counted != counted {
            self.counted = counted;
            self.iteration = RunCounts::default();
            self.iteration_began_ms = line.ms;
        }
    }

    fn count_turn(&mut self) {
        self.run.turns += 1;
        self.node.turns += 1;
    }

    fn add_line(&mut self, line: &LogLine) -> TurnCounts {
        let counts = line.data.get("counts").cloned().unwrap_or_default();
        let counts: TurnCounts = serde_json::from_value(counts).unwrap_or_default();
        self.run.sum.add(&counts);
        self.node.sum.add(&counts);
        counts
    }
}

#[expect(clippy::cast_precision_loss, reason = "it is shown, not counted on")]
fn seconds_between(began_ms: u64, ended_ms: u64) -> f64 {
    ended_ms.saturating_sub(began_ms) as f64 / 1_000.0
}

impl Driver<'_> {
    /// Adds what the agent reported in a turn, and says what is wrong with it.
    pub(crate) fn count_usage(&mut self, watch: TurnWatch) {
        let report = watch.finish();
        self.turn_counts.usage.add(&report.usage);
        for warning in report.warnings {
            (self.on_update)(RunUpdate::Notice(&warning));
        }
    }

    /// Adds the counts of the turn to the data of a line. The next turn starts at zero.
    pub(crate) fn with_turn_counts(&mut self, mut data: Value) -> Value {
        let counts = std::mem::take(&mut self.turn_counts);
        if counts != TurnCounts::default() {
            data["counts"] = json!(counts);
        }
        data
    }

    /// The limit of the node that is reached, as the reason of its end.
    pub(crate) fn reached_limit(&self) -> Option<&'static str> {
        if self.is_out_of_time() {
            return Some("max_runtime");
        }
        let (node, usage) = (self.node(), &self.state.totals.node.sum.usage);
        let max_cost = node.max_cost.and_then(UsdAmount::from_usd);
        if max_cost.is_some_and(|max| usage.cost_usd.is_some_and(|cost| cost >= max)) {
            return Some("max_cost");
        }
        let is_reached = |max| usage.all_tokens().is_some_and(|tokens| tokens >= max);
        node.max_tokens.is_some_and(is_reached).then_some("max_tokens")
    }

    /// Says that a limit does not count the newest iteration, because the agent reported nothing.
    pub(crate) fn note_uncounted(&mut self) {
        let node = self.node();
        let Some(newest) = self.state.history.last() else { return };
        let usage = &newest.counts.sum.usage;
        let is_uncounted = [
            ("max_cost", "cost", node.max_cost.is_some() && usage.cost_usd.is_none()),
            ("max_tokens", "tokens", node.max_tokens.is_some() && usage.all_tokens().is_none()),
        ];
        let iteration = newest.iteration;
        for (key, what, _) in is_uncounted.into_iter().filter(|(_, _, uncounted)| *uncounted) {
            let text = format!(
                "the agent reported no {what} in iteration {iteration}, so `{key}` does not count it"
            );
            (self.on_update)(RunUpdate::Notice(&text));
        }
    }
}
