//! Task boards: tasks that several agents work on, and messages between them.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::error::LedgerResult;

/// Stores boards. A board is created by its first task or message.
pub trait Boards {
    /// All tasks of a board, oldest first; none for an unknown board.
    fn tasks(&self, board: &str) -> LedgerResult<Vec<Task>>;

    /// Adds (no id) or changes one task exclusively. `change` gets all tasks of the board, and may
    /// be called again after a conflict. A refusal changes nothing; the error has the kind `Refused`
    /// and the reason as its detail. The ledger sets the id, revision and times.
    fn update_task(
        &self,
        board: &str,
        id: Option<&str>,
        change: &mut TaskUpdate<'_>,
    ) -> LedgerResult<Task>;

    /// All notes of a board, oldest first.
    fn notes(&self, board: &str) -> LedgerResult<Vec<BoardNote>>;

    /// Adds a note exclusively. `fill` gets all tasks and notes of the board, and may be called again
    /// after a conflict. A refusal adds nothing, as with a task. The ledger sets the id and the time.
    fn add_note(&self, board: &str, fill: &mut NoteFill<'_>) -> LedgerResult<BoardNote>;

    /// Stores a message for a member. A message with an id that is stored already is dropped.
    fn send(&self, board: &str, message: &InboxMessage) -> LedgerResult;

    /// All messages for a member, oldest first.
    fn inbox(&self, board: &str, member: &str) -> LedgerResult<Vec<InboxMessage>>;
}

/// Changes a task, or refuses to. Gets all tasks of the board.
pub type TaskUpdate<'c> = dyn FnMut(&[Task], &mut Task) -> Result<(), TaskRefusal> + 'c;

/// A task.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Task {
    /// A small number, unique on the board.
    pub id: String,
    /// One line: what to do.
    pub subject: String,
    /// More about it.
    pub description: String,
    /// The member that works on it.
    pub owner: Option<String>,
    /// Where it stands.
    pub status: TaskStatus,
    /// Its priority; 0 is the most urgent.
    pub priority: u8,
    /// Ids of tasks that wait for this one.
    pub blocks: Vec<String>,
    /// Ids of tasks that this one waits for.
    pub blocked_by: Vec<String>,
    /// Values of other programs.
    pub metadata: Map<String, Value>,
    /// When it was added, milliseconds since the epoch.
    #[serde(rename = "createdAt")]
    pub created: u64,
    /// When it was last changed, milliseconds since the epoch.
    #[serde(rename = "updatedAt")]
    pub updated: u64,
    /// Grows with every change.
    pub revision: u64,
    /// The iteration of a run that added it.
    pub iteration: Option<u64>,
    /// Its changes, oldest first.
    pub history: Vec<TaskChange>,
}

/// Where a task stands.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TaskStatus {
    /// Nobody works on it.
    #[default]
    Pending,
    /// Its owner works on it.
    InProgress,
    /// It is done.
    Completed,
    /// It cannot be done now.
    Blocked,
    /// It will not be done.
    Cancelled,
}

/// One change of a task, for its history.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TaskChange {
    /// Milliseconds since the epoch.
    pub at: u64,
    /// Who changed it.
    pub by: String,
    /// What changed, for people.
    pub text: String,
}

/// Fills a note, or refuses to. Gets all tasks and notes of the board.
pub type NoteFill<'c> =
    dyn FnMut(&[Task], &[BoardNote], &mut BoardNote) -> Result<(), TaskRefusal> + 'c;

/// A note of an agent about its work.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct BoardNote {
    /// A small number, unique on the board.
    pub id: String,
    /// What it is.
    pub kind: NoteKind,
    /// The session that it belongs to; empty for none.
    pub session: String,
    /// The iteration of a run in which it was written.
    pub iteration: Option<u64>,
    /// The note.
    pub text: String,
    /// When it was added, milliseconds since the epoch.
    #[serde(rename = "createdAt")]
    pub created: u64,
}

/// What a note is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NoteKind {
    /// Something learned.
    #[default]
    Learning,
    /// Something that holds up the work.
    Stuck,
    /// Advice for later iterations.
    Tip,
    /// A decision.
    Decision,
    /// What an iteration did.
    Summary,
    /// The agent says that the session is complete.
    SessionComplete,
}

/// Why a task is not changed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{why}")]
pub struct TaskRefusal {
    /// The reason, for the one who asked.
    pub why: String,
}

/// A message to a member of a board.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct InboxMessage {
    /// Unique on the board, so that a repeated message is stored once.
    pub id: String,
    /// The sender.
    pub from: String,
    /// The receiver.
    pub to: String,
    /// The message.
    pub text: String,
    /// Milliseconds since the epoch.
    pub at: u64,
}
