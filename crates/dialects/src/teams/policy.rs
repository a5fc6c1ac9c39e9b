//! Reads the failure policy of gates from the environment. The owner of the task board reopens
//! tasks and creates follow-ups.

use gambrel_model::{Audience, Ruling, SearchRoots, Verdict};

/// `PI_TEAMS_HOOKS_FAILURE_ACTION` and its older form.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FailurePolicy {
    /// Warn the user.
    Warn,
    /// Warn the user and create a new task.
    Followup,
    /// Reopen the task.
    Reopen,
    /// Reopen the task and create a new one.
    ReopenFollowup,
}

impl FailurePolicy {
    /// Reads the policy. Invalid values are ignored, as in pi-teams.
    pub fn from_env(roots: &SearchRoots) -> Self {
        let word = roots.env_var("PI_TEAMS_HOOKS_FAILURE_ACTION").unwrap_or_default();
        match word.trim().to_lowercase().as_str() {
            "warn" => Self::Warn,
            "followup" => Self::Followup,
            "reopen" => Self::Reopen,
            "reopen_followup" => Self::ReopenFollowup,
            _ if roots.env_var("PI_TEAMS_HOOKS_CREATE_TASK_ON_FAILURE") == Some("1") => {
                Self::Followup
            }
            _ => Self::Warn,
        }
    }

    /// Its value in the environment.
    pub fn name(self) -> &'static str {
        match self {
            Self::Warn => "warn",
            Self::Followup => "followup",
            Self::Reopen => "reopen",
            Self::ReopenFollowup => "reopen_followup",
        }
    }

    /// The verdict of a failure: reopening is a deny, everything else is a message for the user.
    pub fn failure_verdict(self, event: &str) -> Verdict {
        match self {
            Self::Reopen | Self::ReopenFollowup if event == "task_completed" => {
                Verdict { ruling: Ruling::Deny, ..Verdict::default() }
            }
            _ => Verdict::with_only_message(Audience::User, ""),
        }
    }
}

/// How often in a row a task may be reopened: `PI_TEAMS_HOOKS_MAX_REOPENS_PER_TASK`, else 3.
pub fn max_reopens(roots: &SearchRoots) -> u64 {
    let written = roots.env_var("PI_TEAMS_HOOKS_MAX_REOPENS_PER_TASK");
    written
        .and_then(|text| text.trim().parse::<f64>().ok())
        .filter(|n| *n >= 0.0)
        .map_or(3, |n| n as u64)
}
