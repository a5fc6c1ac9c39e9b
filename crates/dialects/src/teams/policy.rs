//! What a failed gate means, read once from the environment and turned into a value.
//! The task board's part of it (reopening, follow-ups) is done by whoever keeps the board.

use gambrel_model::{Audience, Ruling, SearchRoots, Verdict};

/// `PI_TEAMS_HOOKS_FAILURE_ACTION` and its older form.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Policy {
    /// Say so.
    Warn,
    /// Say so and make a new task.
    Followup,
    /// The task is not done.
    Reopen,
    /// Both.
    ReopenFollowup,
}

impl Policy {
    /// The policy in force. Invalid values are ignored, as in pi-teams.
    pub fn of(roots: &SearchRoots) -> Self {
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

    /// Its word.
    pub fn word(self) -> &'static str {
        match self {
            Self::Warn => "warn",
            Self::Followup => "followup",
            Self::Reopen => "reopen",
            Self::ReopenFollowup => "reopen_followup",
        }
    }

    /// What a failure means: reopening is a refusal, everything else is words for the person.
    pub fn verdict(self, event: &str) -> Verdict {
        match self {
            Self::Reopen | Self::ReopenFollowup if event == "task_completed" => {
                Verdict { ruling: Ruling::Deny, ..Verdict::default() }
            }
            _ => Verdict::with_only_message(Audience::User, ""),
        }
    }
}

/// How often a task may be sent back in a row: `PI_TEAMS_HOOKS_MAX_REOPENS_PER_TASK`, else 3.
pub fn max_reopens(roots: &SearchRoots) -> u64 {
    let written = roots.env_var("PI_TEAMS_HOOKS_MAX_REOPENS_PER_TASK");
    written
        .and_then(|text| text.trim().parse::<f64>().ok())
        .filter(|n| *n >= 0.0)
        .map_or(3, |n| n as u64)
}
