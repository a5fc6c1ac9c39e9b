//! The hooks that only receive a completed task. The task says that they are due until they have run,
//! so that a process that was killed in between does not leave them out.

use gambrel_model::ledger::{Task, TaskStatus};
use serde_json::{Value, json};

use crate::board::{Board, BoardError};

/// The key in a task's metadata while hooks are due.
const DUE_KEY: &str = "hooksDue";

/// What became of hooks that another process left out.
#[derive(Default)]
pub(crate) struct LeftHooks {
    /// Messages for the user.
    pub notices: Vec<String>,
    /// Whether another process still runs some of them.
    pub is_busy: bool,
}

impl Board<'_> {
    /// Marks in a task that is being completed that its hooks are due, by this process.
    pub(crate) fn mark_hooks_due(&self, task: &mut Task) {
        let pid = std::process::id();
        let completions = task.history.len();
        let key = format!("task:{}:{}:{completions}", self.name, task.id);
        let due = json!({"key": key, "pid": pid, "start": read_start_time(pid)});
        task.metadata.insert(DUE_KEY.to_owned(), due);
    }

    /// Fires the hooks of completed tasks of this session that are due, unless another process does.
    pub(crate) fn fire_left_hooks(&self) -> Result<LeftHooks, BoardError> {
        let mut left = LeftHooks::default();
        let tasks = self.ledger.tasks(&self.name)?;
        let is_due = |task: &Task| {
            let is_marked = task.metadata.contains_key(DUE_KEY);
            is_marked && task.status == TaskStatus::Completed && self.is_own(task)
        };
        for task in tasks.into_iter().filter(is_due) {
            left.is_busy |= task.metadata.get(DUE_KEY).is_some_and(is_running_elsewhere);
            left.notices.extend(self.fire_due_hooks(task)?.1);
        }
        Ok(left)
    }

    /// Fires the hooks of a completed task that are due, unless another process does. Finished hooks
    /// of an earlier attempt do not run again. Returns the task and messages for the user.
    pub(crate) fn fire_due_hooks(&self, task: Task) -> Result<(Task, Vec<String>), BoardError> {
        let Some(due) = task.metadata.get(DUE_KEY).filter(|due| !is_running_elsewhere(due)) else {
            return Ok((without_mark(task), Vec::new()));
        };
        let key = due["key"].as_str().unwrap_or_default().to_owned();
        let shown = without_mark(task);
        let notices = self.notify_hooks("task.completed", ("notify", Some(&key)), &shown)?;
        let stored = self.ledger.update_task(&self.name, Some(&shown.id), &mut |_, task| {
            let is_same = task.metadata.get(DUE_KEY).is_some_and(|due| due["key"] == *key);
            if is_same && task.status == TaskStatus::Completed {
                task.metadata.remove(DUE_KEY);
            }
            Ok(())
        })?;
        Ok((without_mark(stored), notices))
    }
}

/// A task as users and agents see it.
pub(crate) fn without_mark(mut task: Task) -> Task {
    task.metadata.remove(DUE_KEY);
    task
}

/// Whether the process that completed the task is another one and still runs.
fn is_running_elsewhere(due: &Value) -> bool {
    let pid = due["pid"].as_u64().and_then(|pid| u32::try_from(pid).ok()).unwrap_or_default();
    pid != std::process::id() && read_start_time(pid).is_some_and(|start| due["start"] == start)
}

/// When a process started, in kernel ticks, because process ids are reused. A process that has ended
/// and was not reaped does not count.
fn read_start_time(pid: u32) -> Option<String> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name of the program may contain spaces and brackets.
    let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
    let is_dead = matches!(fields.first(), Some(&"Z" | &"X"));
    fields.get(19).filter(|_| !is_dead).map(|start| (*start).to_owned())
}
