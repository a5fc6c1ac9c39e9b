//! Inboxes of pi-teams: JSON arrays of messages. A reader marks a message that it has processed.

use std::path::Path;

use gambrel_model::ledger::LedgerResult;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::file::{corrupt_error, create_folder, read_json, replace_json};
use super::lock::TeamLock;

/// A message in an inbox.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TeamMessage {
    /// The sender.
    pub from: String,
    /// The message.
    pub text: String,
    /// When it was sent, as its sender wrote it.
    pub timestamp: String,
    /// Whether it was processed.
    #[serde(rename = "read", default)]
    pub is_read: bool,
}

/// All messages of an inbox, oldest first. Entries of another shape are passed over.
pub(super) fn read_inbox(path: &Path) -> LedgerResult<Vec<TeamMessage>> {
    Ok(read_entries(path)?.iter().filter_map(read_message).collect())
}

/// Appends a message, unless an equal one is there.
pub(super) fn append_message(path: &Path, message: &TeamMessage) -> LedgerResult {
    change_inbox(path, "mailbox:write", |entries| {
        let is_there = entries.iter().filter_map(read_message).any(|entry| {
            (&entry.from, &entry.text, &entry.timestamp)
                == (&message.from, &message.text, &message.timestamp)
        });
        if !is_there {
            entries.push(json!(message));
        }
        !is_there
    })
}

/// Marks the first unread message that equals this one.
pub(super) fn mark_message(path: &Path, message: &TeamMessage) -> LedgerResult {
    change_inbox(path, "mailbox:read", |entries| {
        let is_same = |entry: &&mut Value| read_message(entry).as_ref() == Some(message);
        let found = entries.iter_mut().find(is_same);
        let is_found = found.is_some();
        if let Some(entry) = found {
            entry["read"] = json!(true);
        }
        is_found
    })
}

fn change_inbox(
    path: &Path,
    label: &str,
    change: impl FnOnce(&mut Vec<Value>) -> bool,
) -> LedgerResult {
    create_folder(path)?;
    let _lock = TeamLock::wait(path, label)?;
    let mut entries = read_entries(path)?;
    if change(&mut entries) { replace_json(path, &Value::Array(entries)) } else { Ok(()) }
}

/// A file of another shape is an error: to write over it would lose messages.
fn read_entries(path: &Path) -> LedgerResult<Vec<Value>> {
    match read_json(path)? {
        None => Ok(Vec::new()),
        Some(Value::Array(entries)) => Ok(entries),
        Some(_) => Err(corrupt_error(path, "it is no list of messages")),
    }
}

fn read_message(entry: &Value) -> Option<TeamMessage> {
    TeamMessage::deserialize(entry).ok()
}
