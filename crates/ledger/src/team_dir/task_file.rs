//! Tasks of pi-teams as files. Keys that gambrel does not know stay as they are.

use gambrel_model::ledger::{Task, TaskStatus};
use gambrel_model::{iso_time, parse_iso_time};
use serde_json::{Map, Value, json};

/// The priority of every task of a team: pi-teams has none.
pub(super) const TEAM_PRIORITY: u8 = 2;

/// Why a task is not one of a team.
#[derive(Debug, thiserror::Error)]
pub(super) enum TeamTaskError {
    #[error("`{0}` is no text")]
    NoText(&'static str),
    #[error("`status` is {0}")]
    UnknownStatus(Value),
    #[error("a task of a team is pending, in_progress or completed")]
    OtherStatus,
    #[error("a task of a team has the priority {TEAM_PRIORITY}")]
    OtherPriority,
    #[error("task {id} belongs to {owner}")]
    OtherOwner { id: String, owner: String },
    #[error("task {id} waits for task {blocker}, which is missing")]
    NoBlocker { id: String, blocker: String },
}

/// Reads a task.
pub(super) fn read_task(value: &Value) -> Result<Task, TeamTaskError> {
    let text = |key: &'static str| {
        value[key].as_str().map(str::to_owned).ok_or(TeamTaskError::NoText(key))
    };
    let list = |key: &str| {
        let items = value[key].as_array().into_iter().flatten();
        items.filter_map(|item| item.as_str().map(str::to_owned)).collect()
    };
    let time = |key: &str| value[key].as_str().and_then(parse_iso_time).unwrap_or_default();
    Ok(Task {
        id: text("id")?,
        subject: text("subject")?,
        description: text("description")?,
        owner: value["owner"].as_str().map(str::to_owned),
        status: read_status(&value["status"])?,
        priority: TEAM_PRIORITY,
        blocks: list("blocks"),
        blocked_by: list("blockedBy"),
        metadata: value["metadata"].as_object().cloned().unwrap_or_default(),
        created: time("createdAt"),
        updated: time("updatedAt"),
        ..Task::default()
    })
}

fn read_status(value: &Value) -> Result<TaskStatus, TeamTaskError> {
    match value.as_str() {
        Some("pending") => Ok(TaskStatus::Pending),
        Some("in_progress") => Ok(TaskStatus::InProgress),
        Some("completed") => Ok(TaskStatus::Completed),
        _ => Err(TeamTaskError::UnknownStatus(value.clone())),
    }
}

/// Puts a task into the file that it was read from, or into a new one.
pub(super) fn write_task(
    before: Option<Value>,
    task: &Task,
    now: u64,
) -> Result<Value, TeamTaskError> {
    let status = match task.status {
        TaskStatus::Pending => "pending",
        TaskStatus::InProgress => "in_progress",
        TaskStatus::Completed => "completed",
        TaskStatus::Blocked | TaskStatus::Cancelled => {
            return Err(TeamTaskError::OtherStatus);
        }
    };
    if task.priority != TEAM_PRIORITY {
        return Err(TeamTaskError::OtherPriority);
    }
    let mut file = match before {
        Some(Value::Object(fields)) => fields,
        _ => Map::new(),
    };
    let mut put = |key: &str, value: Value| drop(file.insert(key.to_owned(), value));
    put("id", json!(task.id));
    put("subject", json!(task.subject));
    put("description", json!(task.description));
    put("status", json!(status));
    put("blocks", json!(task.blocks));
    put("blockedBy", json!(task.blocked_by));
    put("metadata", json!(task.metadata));
    put("updatedAt", json!(iso_time(now, true)));
    match &task.owner {
        Some(owner) => put("owner", json!(owner)),
        None => drop(file.remove("owner")),
    }
    file.entry("createdAt").or_insert_with(|| json!(iso_time(now, true)));
    Ok(Value::Object(file))
}
