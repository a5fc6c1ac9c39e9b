//! Changes of tasks, for every ledger.

use std::fmt::Display;

use gambrel_model::ledger::{
    BoardNote, LedgerError, LedgerErrorKind, LedgerResult, NoteFill, Task, TaskUpdate,
};

use crate::open_ticket::now_ms;

/// Calls `change` with a new task, or with a copy of the task with this id. Returns the task to
/// store.
pub(crate) fn change_task(
    board: &str,
    tasks: &[Task],
    id: Option<&str>,
    change: &mut TaskUpdate<'_>,
) -> LedgerResult<Task> {
    let now = now_ms();
    let before = match id {
        None => {
            Task { id: next_id(tasks.iter().map(|task| &task.id)), created: now, ..Task::default() }
        }
        Some(id) => tasks.iter().find(|task| task.id == id).cloned().ok_or_else(|| {
            refuse(format!("changing task {id} of `{board}`"), "there is no such task")
        })?,
    };
    let mut task = before.clone();
    change(tasks, &mut task).map_err(|refusal| {
        refuse(format!("changing task {} of `{board}`", task.id), refusal.why)
    })?;
    let Task { id, created, revision, .. } = before;
    Ok(Task { id, created, revision: revision + 1, updated: now, ..task })
}

/// Calls `fill` with a new note. Returns the note to store.
pub(crate) fn fill_note(
    board: &str,
    tasks: &[Task],
    notes: &[BoardNote],
    fill: &mut NoteFill<'_>,
) -> LedgerResult<BoardNote> {
    let id = next_id(notes.iter().map(|note| &note.id));
    let created = now_ms();
    let mut note = BoardNote::default();
    fill(tasks, notes, &mut note)
        .map_err(|refusal| refuse(format!("adding a note to `{board}`"), refusal.why))?;
    Ok(BoardNote { id, created, ..note })
}

pub(crate) fn refuse(doing: String, why: impl Display) -> LedgerError {
    LedgerError::new(LedgerErrorKind::Refused, doing, why)
}

fn next_id<'i>(ids: impl Iterator<Item = &'i String>) -> String {
    let last = ids.filter_map(|id| id.parse::<u64>().ok()).max();
    (last.unwrap_or_default() + 1).to_string()
}
