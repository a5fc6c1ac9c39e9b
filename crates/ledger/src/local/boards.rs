//! Boards in a SQLite database of their own, so that a damaged journal costs no task. A firing never
//! opens it.

use std::time::Duration;

use gambrel_model::ledger::{
    BoardNote, Boards, InboxMessage, LedgerResult, NoteFill, Task, TaskUpdate,
};
use rusqlite::{Connection, TransactionBehavior, params};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::LocalLedger;
use super::database::{self, DatabaseFailure};
use super::lock::FileLock;
use super::state_dir::{corrupt_error, refused_error};
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

impl Boards for LocalLedger {
    fn tasks(&self, board: &str) -> LedgerResult<Vec<Task>> {
        self.read_boards(|connection| self.read_numbered(connection, "tasks", board))
    }

    /// Adds or changes a task in one transaction.
    fn update_task(
        &self,
        board: &str,
        id: Option<&str>,
        change: &mut TaskUpdate<'_>,
    ) -> LedgerResult<Task> {
        self.change_boards(|connection| {
            let tasks = self.read_numbered(connection, "tasks", board)?;
            let task = change_task(board, &tasks, id, change)?;
            let (task, json) = self.redact_record(&task)?;
            let sql = "INSERT OR REPLACE INTO tasks (board, number, json)
                       VALUES (?1, CAST(?2 AS INTEGER), ?3)";
            connection.execute(sql, params![board, task.id, json])?;
            Ok(task)
        })
    }

    fn notes(&self, board: &str) -> LedgerResult<Vec<BoardNote>> {
        self.read_boards(|connection| self.read_numbered(connection, "notes", board))
    }

    /// Adds a note in one transaction.
    fn add_note(&self, board: &str, fill: &mut NoteFill<'_>) -> LedgerResult<BoardNote> {
        self.change_boards(|connection| {
            let tasks = self.read_numbered(connection, "tasks", board)?;
            let notes = self.read_numbered(connection, "notes", board)?;
            let note = fill_note(board, &tasks, &notes, fill)?;
            let (note, json) = self.redact_record(&note)?;
            let sql =
                "INSERT INTO notes (board, number, json) VALUES (?1, CAST(?2 AS INTEGER), ?3)";
            connection.execute(sql, params![board, note.id, json])?;
            Ok(note)
        })
    }

    fn send(&self, board: &str, message: &InboxMessage) -> LedgerResult {
        self.change_boards(|connection| {
            let (_, json) = self.redact_record(message)?;
            let sql =
                "INSERT OR IGNORE INTO messages (board, id, member, json) VALUES (?1, ?2, ?3, ?4)";
            connection.execute(sql, params![board, message.id, message.to, json])?;
            Ok(())
        })
    }

    fn inbox(&self, board: &str, member: &str) -> LedgerResult<Vec<InboxMessage>> {
        let sql = "SELECT id, json FROM messages WHERE board = ?1 AND member = ?2 ORDER BY place";
        self.read_boards(|connection| self.read_rows(connection, sql, &[&board, &member]))
    }
}

impl LocalLedger {
    /// Reads the boards. Without a database there is nothing.
    fn read_boards<T>(
        &self,
        work: impl FnOnce(&Connection) -> Result<Vec<T>, DatabaseFailure>,
    ) -> LedgerResult<Vec<T>> {
        let path = self.folder.path_of(BOARDS_FILE);
        if !path.exists() {
            return Ok(Vec::new());
        }
        let done = self.open_boards().and_then(|connection| work(&connection));
        done.map_err(|failure| failure.into_ledger_error("reading", &path))
    }

    /// Changes the boards in one transaction that begins with the write lock.
    fn change_boards<T>(
        &self,
        work: impl FnOnce(&Connection) -> Result<T, DatabaseFailure>,
    ) -> LedgerResult<T> {
        let _turn = FileLock::wait_removable(&self.folder, LOCK_FILE, BOARDS_TIMEOUT)?;
        let change = || {
            let mut connection = self.open_boards()?;
            let transaction =
                connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
            let done = work(&transaction)?;
            transaction.commit()?;
            Ok(done)
        };
        let path = self.folder.path_of(BOARDS_FILE);
        change().map_err(|failure: DatabaseFailure| failure.into_ledger_error("changing", &path))
    }

    fn open_boards(&self) -> Result<Connection, DatabaseFailure> {
        database::open_migrated(&self.folder, BOARDS_FILE, BOARDS_TIMEOUT, &MIGRATIONS)
    }

    fn read_numbered<T: DeserializeOwned>(
        &self,
        connection: &Connection,
        table: &str,
        board: &str,
    ) -> Result<Vec<T>, DatabaseFailure> {
        let sql = format!(
            "SELECT CAST(number AS TEXT), json FROM {table} WHERE board = ?1 ORDER BY number"
        );
        self.read_rows(connection, &sql, &[&board])
    }

    /// Reads rows of an id and a value. A value that this version cannot store again as it was is
    /// an error.
    fn read_rows<T: DeserializeOwned>(
        &self,
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
                corrupt_error("reading", &self.folder.path_of(BOARDS_FILE), why)
            })?);
        }
        Ok(read)
    }

    /// A value without secrets in its texts, and its stored form.
    fn redact_record<T: Serialize + DeserializeOwned>(
        &self,
        value: &T,
    ) -> LedgerResult<(T, String)> {
        let clean = || {
            let mut json = serde_json::to_value(value)?;
            self.redact_texts(&mut json);
            let history = json.get_mut("history").and_then(Value::as_array_mut);
            history.into_iter().flatten().for_each(|change| self.redact_texts(change));
            let text = json.to_string();
            Ok((serde_json::from_value(json)?, text))
        };
        clean().map_err(|error: serde_json::Error| {
            refused_error("writing", &self.folder.path_of(BOARDS_FILE), error)
        })
    }

    fn redact_texts(&self, json: &mut Value) {
        let parts = json.as_object_mut().into_iter().flatten();
        let texts = parts.filter(|(name, _)| TEXT_PARTS.contains(&name.as_str()));
        texts.for_each(|(_, text)| self.redactor.redact_value(text));
    }
}
