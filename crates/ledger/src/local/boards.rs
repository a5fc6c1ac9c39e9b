//! Boards in a SQLite database of their own, so that a damaged journal costs no task. A firing never
//! opens it.

use std::time::Duration;

use gambrel_model::ledger::{BoardNote, InboxMessage, LedgerError, NoteFill, Task, TaskUpdate};
use rusqlite::{Connection, TransactionBehavior, params};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::database::{self, DatabaseFailure};
use super::lock::FileLock;
use super::state_dir::{StateDir, corrupt_error, refused_error};
use crate::redact::Redactor;
use crate::task::{change_task, fill_note};

pub(super) const BOARDS_FILE: &str = "boards.db";
/// Writers queue for this lock in the kernel: SQLite's own wait tries again and again, and among many
/// writers one may never get its turn.
const LOCK_FILE: &str = "boards.lock";
/// Maximum wait for other writers. Nobody waits for a board within a firing.
const BOARDS_TIMEOUT: Duration = Duration::from_secs(60);
/// The parts of a task or message with texts of users and agents.
const TEXT_PARTS: [&str; 4] = ["subject", "description", "metadata", "text"];

const MIGRATIONS: [&str; 2] = [
    "CREATE TABLE tasks (
         board TEXT NOT NULL,
         number INTEGER NOT NULL,
         json TEXT NOT NULL,
         PRIMARY KEY (board, number)
     ) STRICT;
     CREATE TABLE messages (
         place INTEGER PRIMARY KEY AUTOINCREMENT,
         board TEXT NOT NULL,
         id TEXT NOT NULL,
         member TEXT NOT NULL,
         json TEXT NOT NULL,
         UNIQUE (board, id)
     ) STRICT;
     CREATE INDEX messages_of_member ON messages (board, member, place);",
    "CREATE TABLE notes (
         board TEXT NOT NULL,
         number INTEGER NOT NULL,
         json TEXT NOT NULL,
         PRIMARY KEY (board, number)
     ) STRICT;",
];

pub(super) fn list_tasks(folder: &StateDir, board: &str) -> Result<Vec<Task>, LedgerError> {
    with_boards(folder, "reading", Vec::new(), |connection| read_tasks(folder, connection, board))
}

pub(super) fn list_notes(folder: &StateDir, board: &str) -> Result<Vec<BoardNote>, LedgerError> {
    with_boards(folder, "reading", Vec::new(), |connection| read_notes(folder, connection, board))
}

pub(super) fn list_messages(
    folder: &StateDir,
    board: &str,
    member: &str,
) -> Result<Vec<InboxMessage>, LedgerError> {
    with_boards(folder, "reading", Vec::new(), |connection| {
        let sql = "SELECT id, json FROM messages WHERE board = ?1 AND member = ?2 ORDER BY place";
        read_rows(folder, connection, sql, &[&board, &member])
    })
}

/// Adds or changes a task in one transaction.
pub(super) fn update_task(
    folder: &StateDir,
    redactor: &Redactor,
    board: &str,
    id: Option<&str>,
    change: &mut TaskUpdate<'_>,
) -> Result<Task, LedgerError> {
    change_boards(folder, |connection| {
        let tasks = read_tasks(folder, connection, board)?;
        let task = change_task(board, &tasks, id, change)?;
        let (task, json) = redact(folder, redactor, &task)?;
        let sql = "INSERT OR REPLACE INTO tasks (board, number, json)
                   VALUES (?1, CAST(?2 AS INTEGER), ?3)";
        connection.execute(sql, params![board, task.id, json])?;
        Ok(task)
    })
}

/// Adds a note in one transaction.
pub(super) fn add_note(
    folder: &StateDir,
    redactor: &Redactor,
    board: &str,
    fill: &mut NoteFill<'_>,
) -> Result<BoardNote, LedgerError> {
    change_boards(folder, |connection| {
        let tasks = read_tasks(folder, connection, board)?;
        let notes = read_notes(folder, connection, board)?;
        let note = fill_note(board, &tasks, &notes, fill)?;
        let (note, json) = redact(folder, redactor, &note)?;
        let sql = "INSERT INTO notes (board, number, json) VALUES (?1, CAST(?2 AS INTEGER), ?3)";
        connection.execute(sql, params![board, note.id, json])?;
        Ok(note)
    })
}

pub(super) fn store_message(
    folder: &StateDir,
    redactor: &Redactor,
    board: &str,
    message: &InboxMessage,
) -> Result<(), LedgerError> {
    change_boards(folder, |connection| {
        let (_, json) = redact(folder, redactor, message)?;
        let sql =
            "INSERT OR IGNORE INTO messages (board, id, member, json) VALUES (?1, ?2, ?3, ?4)";
        connection.execute(sql, params![board, message.id, message.to, json])?;
        Ok(())
    })
}

/// Reads the boards. Without a database the result is `none`.
fn with_boards<T>(
    folder: &StateDir,
    doing: &str,
    none: T,
    work: impl FnOnce(&Connection) -> Result<T, DatabaseFailure>,
) -> Result<T, LedgerError> {
    let path = folder.path_of(BOARDS_FILE);
    if !path.exists() {
        return Ok(none);
    }
    let done = open_boards(folder).and_then(|connection| work(&connection));
    done.map_err(|failure| failure.into_ledger_error(doing, &path))
}

/// Changes the boards in one transaction that begins with the write lock.
fn change_boards<T>(
    folder: &StateDir,
    work: impl FnOnce(&Connection) -> Result<T, DatabaseFailure>,
) -> Result<T, LedgerError> {
    let _turn = FileLock::wait_removable(folder, LOCK_FILE, BOARDS_TIMEOUT)?;
    let change = || {
        let mut connection = open_boards(folder)?;
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let done = work(&transaction)?;
        transaction.commit()?;
        Ok(done)
    };
    let path = folder.path_of(BOARDS_FILE);
    change().map_err(|failure: DatabaseFailure| failure.into_ledger_error("changing", &path))
}

fn open_boards(folder: &StateDir) -> Result<Connection, DatabaseFailure> {
    database::open_migrated(folder, BOARDS_FILE, BOARDS_TIMEOUT, &MIGRATIONS)
}

fn read_tasks(
    folder: &StateDir,
    connection: &Connection,
    board: &str,
) -> Result<Vec<Task>, DatabaseFailure> {
    let sql = "SELECT CAST(number AS TEXT), json FROM tasks WHERE board = ?1 ORDER BY number";
    read_rows(folder, connection, sql, &[&board])
}

fn read_notes(
    folder: &StateDir,
    connection: &Connection,
    board: &str,
) -> Result<Vec<BoardNote>, DatabaseFailure> {
    let sql = "SELECT CAST(number AS TEXT), json FROM notes WHERE board = ?1 ORDER BY number";
    read_rows(folder, connection, sql, &[&board])
}

/// Reads rows of an id and a value. A value that this version cannot store again as it was is an
/// error.
fn read_rows<T: DeserializeOwned>(
    folder: &StateDir,
    connection: &Connection,
    sql: &str,
    values: &[&dyn rusqlite::ToSql],
) -> Result<Vec<T>, DatabaseFailure> {
    let mut statement = connection.prepare(sql)?;
    let mut rows = statement.query(values)?;
    let mut read = Vec::new();
    while let Some(row) = rows.next()? {
        let (id, json): (String, String) = (row.get(0)?, row.get(1)?);
        read.push(serde_json::from_str(&json).map_err(|error| {
            let why = format!("`{id}` was written by a newer gambrel; use that one ({error})");
            corrupt_error("reading", &folder.path_of(BOARDS_FILE), why)
        })?);
    }
    Ok(read)
}

/// A value without secrets in its texts, and its stored form.
fn redact<T: Serialize + DeserializeOwned>(
    folder: &StateDir,
    redactor: &Redactor,
    value: &T,
) -> Result<(T, String), LedgerError> {
    let clean = |value: &T| {
        let mut json = serde_json::to_value(value)?;
        let redact_texts = |json: &mut Value| {
            let parts = json.as_object_mut().into_iter().flatten();
            let texts = parts.filter(|(name, _)| TEXT_PARTS.contains(&name.as_str()));
            texts.for_each(|(_, text)| redactor.redact_value(text));
        };
        redact_texts(&mut json);
        let history = json.get_mut("history").and_then(Value::as_array_mut);
        history.into_iter().flatten().for_each(redact_texts);
        let text = json.to_string();
        Ok((serde_json::from_value(json)?, text))
    };
    clean(value).map_err(|error: serde_json::Error| {
        refused_error("writing", &folder.path_of(BOARDS_FILE), error)
    })
}
