//! Changes of tasks, for every ledger.

use gambrel_model::ledger::{LedgerError, LedgerErrorKind, Task, TaskUpdate};

use crate::open_ticket::now_ms;

/// Calls `change` with a new task, or with a copy of the task with this id. Returns the task to
/// store.
pub(crate) fn change_task(
    board: &str,
    tasks: &[Task],
    id: Option<&str>,
    change: &mut TaskUpdate<'_>,
) -> Result<Task, LedgerError> {
    let refused = |doing: String, why: &str| LedgerError::new(LedgerErrorKind::Refused, doing, why);
    let now = now_ms();
    let before = match id {
        None => Task { id: next_id(tasks), created: now, ..Task::default() },
        Some(id) => tasks.iter().find(|task| task.id == id).cloned().ok_or_else(|| {
            refused(format!("changing task {id} of `{board}`"), "there is no such task")
        })?,
    };
    let mut task = before.clone();
    change(tasks, &mut task).map_err(|refusal| {
        refused(format!("changing task {} of `{board}`", task.id), &refusal.why)
    })?;
    let Task { id, created, revision, .. } = before;
    Ok(Task { id, created, revision: revision + 1, updated: now, ..task })
}

fn next_id(tasks: &[Task]) -> String {
    let last = tasks.iter().filter_map(|task| task.id.parse::<u64>().ok()).max();
    (last.unwrap_or_default() + 1).to_string()
}
