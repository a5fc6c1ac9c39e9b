//! Quality gates of teams: what a failed hook does to the task that it looked at.

use serde::{Deserialize, Serialize};

/// What happens when a gate fails.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FailureAction {
    /// Warn the user.
    #[default]
    Warn,
    /// Add a task that repairs it.
    Followup,
    /// Reopen the task.
    Reopen,
    /// Reopen the task and add another one.
    ReopenFollowup,
}

impl FailureAction {
    /// Whether it reopens the task.
    pub fn reopens_task(self) -> bool {
        matches!(self, Self::Reopen | Self::ReopenFollowup)
    }

    /// Whether it adds another task.
    pub fn adds_followup(self) -> bool {
        matches!(self, Self::Followup | Self::ReopenFollowup)
    }
}

/// Who owns a task that repairs a failed gate.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FollowupOwner {
    /// The member that completed the task.
    #[default]
    Member,
    /// The team's leader.
    Lead,
    /// Nobody.
    None,
}

/// What a failed gate does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct QualityGatePolicy {
    /// What happens.
    pub action: FailureAction,
    /// How often one task is reopened.
    pub max_reopens: u64,
    /// Who owns the task that repairs it.
    pub followup_owner: FollowupOwner,
}

impl Default for QualityGatePolicy {
    fn default() -> Self {
        Self { action: FailureAction::Warn, max_reopens: 3, followup_owner: FollowupOwner::Member }
    }
}

/// The result of one gate, for the owner of the task board.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct QualityGateResult {
    /// The name of the hook: `on_task_completed`.
    pub hook: String,
    /// What a failure does.
    pub policy: QualityGatePolicy,
    /// Why it failed; `None` if it passed.
    pub failure: Option<String>,
    /// How long it ran.
    pub elapsed_ms: u64,
    /// The command, as logs show it.
    pub command: Vec<String>,
    /// What it printed.
    pub stdout: String,
    /// What it printed to stderr.
    pub stderr: String,
}
