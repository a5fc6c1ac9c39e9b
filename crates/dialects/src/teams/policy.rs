//! Reads the failure policy of gates: the team's configuration, then the environment, then defaults.

use gambrel_model::{Audience, FailureAction, QualityGatePolicy, Ruling, SearchRoots, Verdict};
use serde::de::DeserializeOwned;
use serde_json::Value;

/// Reads the policy. `team` is `hooks` of the team's configuration. Values that are not valid are
/// ignored, as in pi-teams.
pub fn read_policy(roots: &SearchRoots, team: &Value) -> QualityGatePolicy {
    let default = QualityGatePolicy::default();
    let word = |key: &str| team[key].as_str();
    let variable = |name: &str| roots.env_var(name);

    let action = word("failureAction")
        .and_then(parse_word)
        .or_else(|| parse_word(variable("PI_TEAMS_HOOKS_FAILURE_ACTION")?))
        .or_else(|| {
            let legacy = variable("PI_TEAMS_HOOKS_CREATE_TASK_ON_FAILURE") == Some("1");
            legacy.then_some(FailureAction::Followup)
        });
    let max_reopens = team["maxReopensPerTask"].as_f64().and_then(to_count).or_else(|| {
        let text = variable("PI_TEAMS_HOOKS_MAX_REOPENS_PER_TASK")?;
        text.trim().parse::<f64>().ok().and_then(to_count)
    });
    let followup_owner = word("followupOwner")
        .and_then(parse_word)
        .or_else(|| parse_word(variable("PI_TEAMS_HOOKS_FOLLOWUP_OWNER")?));
    QualityGatePolicy {
        action: action.unwrap_or(default.action),
        max_reopens: max_reopens.unwrap_or(default.max_reopens),
        followup_owner: followup_owner.unwrap_or(default.followup_owner),
    }
}

/// Reads a word by its stored name; case and spaces around it do not count.
fn parse_word<T: DeserializeOwned>(word: &str) -> Option<T> {
    serde_json::from_value(word.trim().to_lowercase().into()).ok()
}

/// A limit that is written as a number of 0 or more.
fn to_count(number: f64) -> Option<u64> {
    (number >= 0.0).then_some(number as u64)
}

/// The verdict of a failure: reopening is a deny, everything else is a message for the user.
pub fn failure_verdict(action: FailureAction, event: &str) -> Verdict {
    match action.reopens_task() && event == "task_completed" {
        true => Verdict { ruling: Ruling::Deny, ..Verdict::default() },
        false => Verdict::with_only_message(Audience::User, ""),
    }
}
