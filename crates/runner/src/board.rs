//! The task board of a project: claims are exclusive, and hooks decide about new and completed
//! tasks.

use std::path::PathBuf;

use gambrel_model::ledger::{
    BoardNote, Boards, NoteKind, Task, TaskChange, TaskRefusal, TaskStatus, TaskUpdate,
};
use gambrel_model::{Complaint, Decision, LedgerError, LedgerErrorKind};
use serde_json::{Value, json};

use crate::board_notify::without_mark;

/// The priority of a task without one.
pub const DEFAULT_PRIORITY: u8 = 2;
/// The least urgent priority.
pub const MAX_PRIORITY: u8 = 4;
/// The most bytes of a task's text or description, and of a note.
const MAX_TEXT_BYTES: usize = 64 << 10;
/// The key in a task's metadata that names its session.
const SESSION_KEY: &str = "session";

/// Fires an event of the dialect `run`.
pub type FireBoardEvent<'b> = dyn Fn(Value) -> Result<Decision, Complaint> + 'b;

/// The board of a project, for one caller.
pub struct Board<'b> {
    /// Where it is stored.
    pub ledger: &'b dyn Boards,
    /// Its name: the project's folder.
    pub name: String,
    /// The project's folder.
    pub project: PathBuf,
    /// The session that the caller works in; empty for none.
    pub session: String,
    /// The folder of that session's run, if it is one.
    pub run_dir: Option<PathBuf>,
    /// The iteration of that run.
    pub iteration: Option<u64>,
    /// Who changes tasks, for their history.
    pub by: String,
    /// Fires the hooks of tasks.
    pub fire: &'b FireBoardEvent<'b>,
    /// Milliseconds since the epoch.
    pub now_ms: u64,
}

/// A task that is to be added.
#[derive(Debug, Clone, Default)]
pub struct NewTask {
    /// One line: what to do.
    pub subject: String,
    /// More about it.
    pub description: String,
    /// The member that shall do it.
    pub owner: Option<String>,
    /// Its priority; 0 is the most urgent.
    pub priority: Option<u8>,
    /// Where it stands.
    pub status: TaskStatus,
    /// Ids of tasks that it waits for.
    pub blocked_by: Vec<String>,
}

/// A change of a task. Parts that are `None` stay.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct TaskEdit {
    /// The subject.
    pub subject: Option<String>,
    /// The description.
    pub description: Option<String>,
    /// The owner; an empty name removes it.
    pub owner: Option<String>,
    /// The priority.
    pub priority: Option<u8>,
    /// The status; hooks hear of `Completed` only through `complete_task`.
    pub status: Option<TaskStatus>,
    /// Ids of tasks that it waits for.
    pub blocked_by: Option<Vec<String>>,
    /// A value to store in its metadata.
    pub metadata: Option<(String, Value)>,
}

impl TaskEdit {
    /// Whether it changes nothing.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// A task after a change, and what hooks say about it.
#[derive(Debug)]
pub struct BoardChange {
    /// The task.
    pub task: Task,
    /// Whether it was changed now.
    pub is_changed: bool,
    /// Messages of hooks for the user.
    pub notices: Vec<String>,
}

/// Why the board is not changed.
#[derive(Debug, thiserror::Error)]
pub enum BoardError {
    /// A rule of the board, or a hook, refuses.
    #[error("{0}")]
    Refused(String),
    /// The ledger failed.
    #[error(transparent)]
    Ledger(LedgerError),
    /// The hooks could not be fired.
    #[error("{0}")]
    Firing(Complaint),
}

impl From<LedgerError> for BoardError {
    fn from(error: LedgerError) -> Self {
        match error.kind {
            LedgerErrorKind::Refused => Self::Refused(error.detail),
            _ => Self::Ledger(error),
        }
    }
}

/// Checks a change against all tasks of the board.
pub type TaskRule<'r> = dyn Fn(&[Task], &Task) -> Result<(), TaskRefusal> + 'r;

/// Checks a new note against all tasks and notes of the board.
pub type NoteRule<'r> = dyn Fn(&[Task], &[BoardNote]) -> Result<(), TaskRefusal> + 'r;

impl Board<'_> {
    /// All tasks, oldest first, each with the tasks that wait for it.
    pub fn tasks(&self) -> Result<Vec<Task>, BoardError> {
        let mut tasks: Vec<Task> =
            self.ledger.tasks(&self.name)?.into_iter().map(without_mark).collect();
        let waiting: Vec<(String, Vec<String>)> =
            tasks.iter().map(|task| (task.id.clone(), task.blocked_by.clone())).collect();
        for task in &mut tasks {
            let waits = waiting.iter().filter(|(_, blocked_by)| blocked_by.contains(&task.id));
            task.blocks = waits.map(|(id, _)| id.clone()).collect();
        }
        Ok(tasks)
    }

    /// The task with this id.
    pub fn find_task(&self, id: &str) -> Result<Task, BoardError> {
        pick_task(self.tasks()?, id)
    }

    /// Adds a task, unless a hook or `rule` refuses.
    pub fn add_task(&self, new: &NewTask, rule: &TaskRule<'_>) -> Result<BoardChange, BoardError> {
        let draft = self.build_task(new);
        let tasks = self.ledger.tasks(&self.name)?;
        check_task(&tasks, &draft).and_then(|()| rule(&tasks, &draft)).map_err(to_board_error)?;
        let notices = self.ask_hooks("task.created", "all", &draft)?;
        let task = self.ledger.update_task(&self.name, None, &mut |tasks, task| {
            check_task(tasks, &draft)?;
            rule(tasks, &draft)?;
            let (id, created) = (task.id.clone(), task.created);
            *task = Task { id, created, ..draft.clone() };
            self.note_change(task, "added");
            Ok(())
        })?;
        Ok(BoardChange { task, is_changed: true, notices })
    }

    /// Gives a pending task to an owner. Only one caller succeeds.
    pub fn claim_task(&self, id: &str, owner: &str) -> Result<BoardChange, BoardError> {
        self.change_task(id, &mut |tasks, task| {
            check_claim(tasks, task)?;
            task.status = TaskStatus::InProgress;
            task.owner = Some(owner.to_owned());
            self.note_change(task, &format!("claimed by {owner}"));
            Ok(())
        })
    }

    /// Completes a task with other changes, unless a hook refuses; then all of it stays as it was.
    /// If the task is complete already, nothing fires.
    pub fn complete_task(&self, id: &str, edit: &TaskEdit) -> Result<BoardChange, BoardError> {
        let task = pick_task(self.ledger.tasks(&self.name)?, id)?;
        if task.status == TaskStatus::Completed {
            return self.edit_completed(task, edit);
        }
        let edit = TaskEdit { status: Some(TaskStatus::Completed), ..edit.clone() };
        let mut done = task;
        apply_edit(&mut done, &edit);
        check_task(&self.ledger.tasks(&self.name)?, &done).map_err(to_board_error)?;
        let mut notices = self.ask_hooks("task.completed", "veto", &done)?;
        let mut is_changed = false;
        let task = self.ledger.update_task(&self.name, Some(id), &mut |tasks, task| {
            is_changed = task.status != TaskStatus::Completed;
            apply_edit(task, &edit);
            check_task(tasks, task)?;
            if is_changed {
                self.note_change(task, "completed");
                self.mark_hooks_due(task);
            }
            Ok(())
        })?;
        let (task, more) = self.fire_due_hooks(task)?;
        notices.extend(more);
        Ok(BoardChange { task, is_changed, notices })
    }

    /// Changes a completed task. Hooks that a killed process left out run now.
    fn edit_completed(&self, task: Task, edit: &TaskEdit) -> Result<BoardChange, BoardError> {
        let (task, notices) = self.fire_due_hooks(task)?;
        if edit.is_empty() {
            return Ok(BoardChange { task, is_changed: false, notices });
        }
        let edited = self.edit_task(&task.id, edit, &|_, _| Ok(()))?;
        Ok(BoardChange { notices, ..edited })
    }

    /// Gives a task back: it is pending again and has no owner.
    pub fn fail_task(&self, id: &str, reason: &str) -> Result<BoardChange, BoardError> {
        let mut failed = None;
        let mut change = self.change_task(id, &mut |_, task| {
            if task.status != TaskStatus::InProgress {
                return Err(refuse(format!("task {id} is {}", status_word(task.status))));
            }
            failed = Some(task.clone());
            task.status = TaskStatus::Pending;
            task.owner = None;
            let reason = if reason.is_empty() { String::new() } else { format!(": {reason}") };
            self.note_change(task, &format!("failed{reason}"));
            Ok(())
        })?;
        if let Some(failed) = failed {
            change.notices = self.notify_hooks("task.failed", ("all", None), &failed)?;
        }
        Ok(change)
    }

    /// Changes parts of a task.
    pub fn edit_task(
        &self,
        id: &str,
        edit: &TaskEdit,
        rule: &TaskRule<'_>,
    ) -> Result<BoardChange, BoardError> {
        self.change_task(id, &mut |tasks, task| {
            let before = task.clone();
            apply_edit(task, edit);
            check_task(tasks, task)?;
            rule(tasks, task)?;
            let what = describe_change(&before, task);
            self.note_change(task, &what);
            Ok(())
        })
    }

    /// All notes, oldest first.
    pub fn notes(&self) -> Result<Vec<BoardNote>, BoardError> {
        Ok(self.ledger.notes(&self.name)?)
    }

    /// Adds a note of this session, unless `rule` refuses.
    pub fn add_note(
        &self,
        kind: NoteKind,
        text: &str,
        rule: &NoteRule<'_>,
    ) -> Result<BoardNote, BoardError> {
        let note = self.ledger.add_note(&self.name, &mut |tasks, notes, note| {
            rule(tasks, notes)?;
            check_length("a note", text)?;
            note.kind = kind;
            note.session.clone_from(&self.session);
            note.iteration = self.iteration;
            text.clone_into(&mut note.text);
            Ok(())
        })?;
        Ok(note)
    }

    /// Whether a task belongs to this session, or to none.
    pub fn is_own(&self, task: &Task) -> bool {
        let session = task.metadata.get(SESSION_KEY).and_then(Value::as_str);
        session.is_none_or(|session| session == self.session)
    }

    fn change_task(
        &self,
        id: &str,
        change: &mut TaskUpdate<'_>,
    ) -> Result<BoardChange, BoardError> {
        let task = self.ledger.update_task(&self.name, Some(id), change)?;
        Ok(BoardChange { task, is_changed: true, notices: Vec::new() })
    }

    fn build_task(&self, new: &NewTask) -> Task {
        let mut task = Task {
            subject: new.subject.trim().to_owned(),
            description: new.description.clone(),
            owner: new.owner.clone(),
            status: new.status,
            priority: new.priority.unwrap_or(DEFAULT_PRIORITY).min(MAX_PRIORITY),
            blocked_by: new.blocked_by.clone(),
            iteration: self.iteration,
            ..Task::default()
        };
        if !self.session.is_empty() {
            task.metadata.insert(SESSION_KEY.to_owned(), json!(self.session));
        }
        task
    }

    fn note_change(&self, task: &mut Task, text: &str) {
        let change = TaskChange { at: self.now_ms, by: self.by.clone(), text: text.to_owned() };
        task.history.push(change);
    }
}

/// The word of a status in JSON and on the command line.
pub fn status_word(status: TaskStatus) -> &'static str {
    match status {
        TaskStatus::Pending => "pending",
        TaskStatus::InProgress => "in_progress",
        TaskStatus::Completed => "completed",
        TaskStatus::Blocked => "blocked",
        TaskStatus::Cancelled => "cancelled",
    }
}

/// A refusal with its reason.
pub fn refuse(why: impl Into<String>) -> TaskRefusal {
    TaskRefusal { why: why.into() }
}

fn pick_task(tasks: Vec<Task>, id: &str) -> Result<Task, BoardError> {
    let found = tasks.into_iter().find(|task| task.id == id);
    found.ok_or_else(|| BoardError::Refused(format!("there is no task {id}")))
}

fn to_board_error(refusal: TaskRefusal) -> BoardError {
    BoardError::Refused(refusal.why)
}

/// The rules of every task: a text, bounded texts, and links that lead to other tasks.
fn check_task(tasks: &[Task], task: &Task) -> Result<(), TaskRefusal> {
    if task.subject.is_empty() {
        return Err(refuse("a task needs a text"));
    }
    check_length("the text of a task", &task.subject)?;
    check_length("the description of a task", &task.description)?;
    check_links(tasks, task)
}

fn check_length(what: &str, text: &str) -> Result<(), TaskRefusal> {
    match text.len() <= MAX_TEXT_BYTES {
        true => Ok(()),
        false => Err(refuse(format!("{what} has at most {MAX_TEXT_BYTES} bytes"))),
    }
}

/// A task waits only for other tasks of the board, and never for itself.
fn check_links(tasks: &[Task], task: &Task) -> Result<(), TaskRefusal> {
    for id in &task.blocked_by {
        if !tasks.iter().any(|known| known.id == *id) {
            return Err(refuse(format!("there is no task {id}")));
        }
        if waits_for(tasks, id, &task.id) {
            return Err(refuse(format!("task {id} waits for task {}", task.id)));
        }
    }
    Ok(())
}

/// Whether a task is another one, or waits for it.
fn waits_for(tasks: &[Task], id: &str, other: &str) -> bool {
    let mut open = vec![id];
    let mut seen: Vec<&str> = Vec::new();
    while let Some(next) = open.pop() {
        if next == other {
            return true;
        }
        if seen.contains(&next) {
            continue;
        }
        seen.push(next);
        let task = tasks.iter().find(|task| task.id == next);
        open.extend(task.into_iter().flat_map(|task| task.blocked_by.iter().map(String::as_str)));
    }
    false
}

fn check_claim(tasks: &[Task], task: &Task) -> Result<(), TaskRefusal> {
    if task.status != TaskStatus::Pending {
        let owner = task.owner.as_ref().map(|owner| format!(", owner {owner}"));
        let (word, owner) = (status_word(task.status), owner.unwrap_or_default());
        return Err(refuse(format!("task {} is {word}{owner}", task.id)));
    }
    match find_blocker(tasks, task) {
        Some(blocker) => Err(refuse(format!("task {} waits for task {}", task.id, blocker.id))),
        None => Ok(()),
    }
}

/// The first task that a task waits for.
pub fn find_blocker<'t>(tasks: &'t [Task], task: &Task) -> Option<&'t Task> {
    let is_open = |known: &&Task| {
        task.blocked_by.contains(&known.id) && known.status != TaskStatus::Completed
    };
    tasks.iter().find(is_open)
}

fn apply_edit(task: &mut Task, edit: &TaskEdit) {
    if let Some(subject) = &edit.subject {
        task.subject = subject.trim().to_owned();
    }
    if let Some(description) = &edit.description {
        task.description.clone_from(description);
    }
    if let Some(owner) = &edit.owner {
        task.owner = Some(owner.clone()).filter(|owner| !owner.is_empty());
    }
    if let Some(priority) = edit.priority {
        task.priority = priority.min(MAX_PRIORITY);
    }
    if let Some(status) = edit.status {
        task.status = status;
    }
    if let Some(blocked_by) = &edit.blocked_by {
        task.blocked_by.clone_from(blocked_by);
    }
    if let Some((key, value)) = &edit.metadata {
        task.metadata.insert(key.clone(), value.clone());
    }
}

fn describe_change(before: &Task, after: &Task) -> String {
    let parts = [
        ("subject", before.subject != after.subject),
        ("description", before.description != after.description),
        ("owner", before.owner != after.owner),
        ("priority", before.priority != after.priority),
        ("blockedBy", before.blocked_by != after.blocked_by),
    ];
    let mut changed: Vec<String> =
        parts.iter().filter(|(_, is)| *is).map(|(name, _)| (*name).to_owned()).collect();
    if before.status != after.status {
        changed.push(format!("status {}", status_word(after.status)));
    }
    match changed.is_empty() {
        true => "unchanged".to_owned(),
        false => format!("changed {}", changed.join(", ")),
    }
}
