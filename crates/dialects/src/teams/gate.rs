//! What the result of a quality gate does to a board: metadata of the task, a task that repairs it,
//! and messages to members. It only computes; the owner of the board stores.

use gambrel_model::ledger::{InboxMessage, Task, TaskStatus};
use gambrel_model::text::sanitize_name;
use gambrel_model::{FollowupOwner, QualityGateResult, iso_time};
use serde_json::{Map, Value, json};

/// The last line of a message about a failed gate.
const REMEDIATION: &str =
    "Please remediate automatically and continue without waiting for user intervention.";
/// The key of a task's metadata that names the event whose gate was applied last.
const EVENT_KEY: &str = "qualityGateEvent";
/// The key of a follow-up's metadata that names the event that it comes from.
const FOLLOWUP_KEY: &str = "qualityGateFollowupOf";

/// The event that a gate looked at.
#[derive(Debug, Clone, Copy)]
pub struct GateEvent<'g> {
    /// The result of the gate.
    pub result: &'g QualityGateResult,
    /// Names the event. A gate is applied once per event.
    pub key: &'g str,
    /// When the gate ended, milliseconds since the epoch.
    pub at: u64,
    /// The member that completed the task.
    pub member: Option<&'g str>,
    /// The team's leader.
    pub lead: &'g str,
    /// Whether the task is completed only if the gate passes; it then stays as it is instead of being
    /// reopened.
    pub is_before_completion: bool,
}

/// What a gate did to its task.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct QualityGateChange {
    /// When the gate was applied.
    pub at: u64,
    /// Whether the task is open again.
    pub reopened: bool,
    /// Whether a limit kept it from being reopened.
    pub suppressed: bool,
}

/// Records a result in a task, and reopens the task if the policy says so. A result that was recorded
/// before, by a process that was killed afterwards, is not recorded again.
pub fn apply_quality_gate(event: GateEvent<'_>, task: &mut Task) -> QualityGateChange {
    if task.metadata.get(EVENT_KEY) == Some(&json!(event.key)) {
        return read_change(&task.metadata, event);
    }
    let time = iso_time(event.at, true);
    let metadata = &mut task.metadata;
    let mut put = |key: &str, value: Value| drop(metadata.insert(key.to_owned(), value));
    put(EVENT_KEY, json!(event.key));
    put("qualityGateHook", json!(event.result.hook));
    put("qualityGateAt", json!(time));
    let Some(failure) = &event.result.failure else {
        put("qualityGateStatus", json!("passed"));
        put("qualityGateSummary", json!(format!("passed in {}ms", event.result.elapsed_ms)));
        put("qualityGateLastSuccessAt", json!(time));
        put("qualityGateReopenSuppressed", json!(false));
        return QualityGateChange { at: event.at, ..QualityGateChange::default() };
    };
    put("qualityGateStatus", json!("failed"));
    put("qualityGateSummary", json!(failure));
    put("qualityGateLastFailureAt", json!(time));
    increment(metadata, "qualityGateFailureCount");

    let is_completed = task.status == TaskStatus::Completed || event.is_before_completion;
    if !event.result.policy.action.reopens_task() || !is_completed {
        return QualityGateChange { at: event.at, ..QualityGateChange::default() };
    }
    let max = event.result.policy.max_reopens;
    if read_count(&task.metadata, "reopenedByQualityGateCount") < max {
        reopen_task(&time, event, task);
        return QualityGateChange { at: event.at, reopened: true, suppressed: false };
    }
    let reason = match max {
        0 => "PI_TEAMS_HOOKS_MAX_REOPENS_PER_TASK=0".to_owned(),
        max => format!("reopen limit reached ({max})"),
    };
    task.metadata.insert("qualityGateReopenSuppressed".to_owned(), json!(true));
    task.metadata.insert("qualityGateReopenSuppressedReason".to_owned(), json!(reason));
    QualityGateChange { at: event.at, reopened: false, suppressed: true }
}

fn reopen_task(time: &str, event: GateEvent<'_>, task: &mut Task) {
    if !event.is_before_completion {
        task.status = TaskStatus::Pending;
    }
    increment(&mut task.metadata, "reopenedByQualityGateCount");
    for (key, value) in [
        ("reopenedByQualityGateAt", json!(time)),
        ("reopenedByQualityGateHook", json!(event.result.hook)),
        ("qualityGateReopenSuppressed", json!(false)),
    ] {
        task.metadata.insert(key.to_owned(), value);
    }
}

/// What an earlier process recorded of the same event.
fn read_change(metadata: &Map<String, Value>, event: GateEvent<'_>) -> QualityGateChange {
    let text = |key: &str| metadata.get(key).and_then(Value::as_str);
    let at = text("qualityGateAt");
    QualityGateChange {
        at: at.and_then(gambrel_model::parse_iso_time).unwrap_or(event.at),
        reopened: at.is_some() && at == text("reopenedByQualityGateAt"),
        suppressed: metadata.get("qualityGateReopenSuppressed") == Some(&json!(true)),
    }
}

fn read_count(metadata: &Map<String, Value>, key: &str) -> u64 {
    metadata.get(key).and_then(Value::as_u64).unwrap_or_default()
}

fn increment(metadata: &mut Map<String, Value>, key: &str) {
    let count = read_count(metadata, key).saturating_add(1);
    metadata.insert(key.to_owned(), json!(count));
}

/// The task that repairs what a gate found, if the policy asks for one.
pub fn follow_up_task(event: GateEvent<'_>, task: &Task) -> Option<Task> {
    let result = event.result;
    let failure = result.failure.as_ref().filter(|_| result.policy.action.adds_followup())?;
    let action = json!(result.policy.action);
    let mut lines = vec![
        format!("Hook: {}", result.hook),
        format!("Policy: {}", action.as_str().unwrap_or_default()),
        format!("Failure: {failure}"),
    ];
    if !result.command.is_empty() {
        lines.push(format!("Command: {}", result.command.join(" ")));
    }
    lines.push(String::new());
    if !task.subject.is_empty() {
        lines.push(format!("Original task subject: {}", task.subject));
    }
    lines.push(String::new());
    for (heading, text) in [("STDOUT:", result.stdout.trim()), ("STDERR:", result.stderr.trim())] {
        if !text.is_empty() {
            lines.extend([heading.to_owned(), text.to_owned(), String::new()]);
        }
    }
    let owner = match result.policy.followup_owner {
        FollowupOwner::Member => Some(event.member.unwrap_or(event.lead).to_owned()),
        FollowupOwner::Lead => Some(event.lead.to_owned()),
        FollowupOwner::None => None,
    };
    let mut metadata = Map::new();
    metadata.insert(FOLLOWUP_KEY.to_owned(), json!(event.key));
    Some(Task {
        subject: format!("Quality gate failed: {} (task #{})", result.hook, task.id),
        description: lines.join("\n"),
        owner,
        metadata,
        ..Task::default()
    })
}

/// The follow-up that an earlier process added for the same event.
pub fn find_follow_up<'t>(tasks: &'t [Task], event: GateEvent<'_>) -> Option<&'t Task> {
    tasks.iter().find(|task| task.metadata.get(FOLLOWUP_KEY) == Some(&json!(event.key)))
}

/// The messages about a failed gate: the assignment of the follow-up, and what the owner of the task
/// shall do.
pub fn gate_messages(
    event: GateEvent<'_>,
    (task, change): (Option<&Task>, QualityGateChange),
    follow_up: Option<&Task>,
) -> Vec<InboxMessage> {
    let Some(failure) = &event.result.failure else { return Vec::new() };
    let message = |word: &str, to: &str, text: String| InboxMessage {
        id: format!("{}/{word}", event.key),
        from: event.lead.to_owned(),
        to: sanitize_name(to),
        text,
        at: change.at,
    };
    let assigned = follow_up.and_then(|task| Some((task, task.owner.as_ref()?)));
    let assignment = assigned.map(|(task, owner)| {
        let text = json!({
            "type": "task_assignment", "taskId": task.id, "subject": task.subject,
            "description": task.description, "assignedBy": event.lead,
            "timestamp": iso_time(change.at, true),
        });
        message("assignment", owner, text.to_string())
    });

    let mut steps = Vec::new();
    if let Some(task) = task.filter(|_| change.reopened) {
        steps.push(match event.is_before_completion {
            true => format!("Task #{} was not completed.", task.id),
            false => format!("Task #{} was reopened to pending.", task.id),
        });
    }
    steps.extend(follow_up.map(|task| format!("Follow-up task #{} was created.", task.id)));
    if let Some(task) = task.filter(|_| steps.is_empty()) {
        steps.push(format!("Task #{} still requires remediation.", task.id));
    }
    let about = task.map(|task| format!(" / task #{}", task.id)).unwrap_or_default();
    let heading = format!("Quality gate failed ({}{about}): {failure}", event.result.hook);
    let text = [vec![heading], steps, vec![REMEDIATION.to_owned()]].concat().join("\n");
    let target = task.and_then(|task| task.owner.as_deref()).or(event.member);
    let nudge = target.filter(|target| !target.is_empty()).map(|to| message("nudge", to, text));
    assignment.into_iter().chain(nudge).collect()
}
