//! The position of a run: which step comes next, and the key of its firing.

use std::path::Path;

use serde::{Deserialize, Serialize};

/// The position of a run.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cursor {
    /// The index of the node, as text, as in `plan.json`.
    pub node_path: String,
    /// The iteration, from 1; 0 before the first one.
    pub iteration: u32,
    /// The attempt at this iteration, from 1.
    pub attempt: u32,
    /// How often hooks have kept this iteration going.
    #[serde(default)]
    pub follow_up: u32,
    /// How often the agent was started in this iteration.
    #[serde(default)]
    pub turn: u32,
    /// What comes next.
    pub step: RunStep,
}

/// The steps of a run, in order.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunStep {
    /// The hooks of `session.start`.
    #[default]
    SessionStart,
    /// The folder of a node.
    NodeStart,
    /// The question whether the queue has work at all.
    QueueCheck,
    /// The folder of an iteration.
    IterationStart,
    /// The hooks of `iteration.start`.
    IterationHooks,
    /// The agent.
    Agent,
    /// The hooks that can keep the iteration going.
    StopCheck,
    /// All other hooks of `iteration.end`.
    IterationEnd,
    /// The output of hooks that the agent receives at once.
    FollowUp,
    /// The question whether the node has ended.
    Termination,
    /// The hooks of `stage.end`.
    StageEnd,
    /// The messages that no iteration delivered.
    Delivery,
    /// The hooks of `session.end`.
    SessionEnd,
    /// The hooks of `error`.
    ErrorHooks,
    /// The run has failed.
    Failed,
    /// The run is complete.
    Done,
}

impl Cursor {
    /// The index of the node.
    pub fn node(&self) -> usize {
        self.node_path.parse().unwrap_or(0)
    }

    /// The same position before another step.
    #[must_use]
    pub fn at(&self, step: RunStep) -> Self {
        Self { step, ..self.clone() }
    }

    /// The start of a node.
    pub fn at_node(node: usize) -> Self {
        Self {
            node_path: node.to_string(),
            attempt: 1,
            step: RunStep::NodeStart,
            ..Self::default()
        }
    }

    /// The start of an iteration.
    #[must_use]
    pub fn at_iteration(&self, iteration: u32, attempt: u32) -> Self {
        let step = RunStep::IterationStart;
        Self { iteration, attempt, follow_up: 0, turn: 0, step, ..self.clone() }
    }

    /// The key of a firing at this position. It is the same when the firing is repeated, and
    /// another one in a later run in the same folder.
    pub fn firing_key(&self, folder: &Path, run_id: &str, what: &str) -> String {
        let folder = folder.display();
        let Self { node_path, iteration, attempt, .. } = self;
        format!("{folder}/{node_path}/{iteration}/{attempt}/{what}@{run_id}")
    }
}
