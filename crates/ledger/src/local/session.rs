//! One small file per session, absent while there is nothing to keep.

use std::fs::DirEntry;
use std::time::{Duration, SystemTime};

use gambrel_model::ledger::{LedgerError, SESSION_FILES, SessionState};
use sha2::{Digest, Sha256};

use super::folder::{Durable, Folder, refusal, trouble};
use super::lock::Held;
use crate::redact::{Redactor, veil_state};

const FOLDER: &str = "sessions";
/// So much of a session's own name is kept for people to recognise.
const LEGIBLE: usize = 40;

/// The file of a session: legible, safe as a file name, and never shared by two sessions.
pub(super) fn name(session: &str, redactor: &Redactor) -> String {
    let safe = |c: char| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' };
    let legible: String = redactor.redact_text(session).chars().take(LEGIBLE).map(safe).collect();
    let hash: [u8; 32] = Sha256::digest(session.as_bytes()).into();
    let short: String = hash.iter().take(8).map(|byte| format!("{byte:02x}")).collect();
    format!("{FOLDER}/{legible}-{short}.json")
}

/// What is kept; empty when there is no file.
pub(super) fn read(folder: &Folder, name: &str) -> Result<SessionState, LedgerError> {
    let Some(file) = folder.existing(name)? else { return Ok(SessionState::default()) };
    let text = folder.text_of(name, file)?;
    serde_json::from_str(&text).map_err(|error| {
        refusal("reading", &folder.path(name), format!("it is not a session's state: {error}"))
    })
}

/// Changes what is kept while nobody else does.
pub(super) fn amend(
    folder: &Folder,
    session: &str,
    redactor: &Redactor,
    change: &mut dyn FnMut(&mut SessionState),
) -> Result<(), LedgerError> {
    let name = name(session, redactor);
    let _held = Held::wait(folder, &lock_of(&name))?;
    let before = read(folder, &name).map_err(|error| set_aside(folder, &name, error))?;
    let mut state = before.clone();
    change(&mut state);
    if state == SessionState::default() {
        return folder.remove(&name);
    }
    if state == before {
        return Ok(());
    }
    let bytes = veil_state(&state, redactor)
        .and_then(|value| serde_json::to_vec(&value))
        .map_err(|error| refusal("writing", &folder.path(&name), error))?;
    folder.replace(&name, &bytes, Durable::No)
}

/// Forgets sessions that nobody touched for `age`; tells how many.
pub(super) fn forget(folder: &Folder, age: Duration) -> Result<u64, LedgerError> {
    forget_files(folder, age)?;
    let Ok(entries) = std::fs::read_dir(folder.path(FOLDER)) else { return Ok(0) };
    let mut forgotten = 0;
    for entry in entries.flatten().filter(|entry| is_older(entry, age)) {
        let Some(name) = entry.file_name().to_str().map(|name| format!("{FOLDER}/{name}")) else {
            continue;
        };
        if !name.ends_with(".json") {
            continue;
        }
        let held = Held::at_once(folder, &lock_of(&name))
            .map_err(|error| trouble("forgetting", &folder.path(&name), &error))?;
        if held.is_some() && is_older(&entry, age) {
            folder.remove(&name)?;
            forgotten += 1;
        }
    }
    Ok(forgotten)
}

/// What others keep for a session has its age too.
fn forget_files(folder: &Folder, age: Duration) -> Result<(), LedgerError> {
    let Ok(entries) = std::fs::read_dir(folder.path(SESSION_FILES)) else { return Ok(()) };
    for entry in entries.flatten().filter(|entry| is_older(entry, age)) {
        if let Some(name) = entry.file_name().to_str() {
            folder.remove(&format!("{SESSION_FILES}/{name}"))?;
        }
    }
    Ok(())
}

/// A state that cannot be read would fail every later change: it is kept aside, and said.
fn set_aside(folder: &Folder, name: &str, error: LedgerError) -> LedgerError {
    let aside = format!("{name}.corrupt");
    match folder.rename(name, &aside) {
        Ok(true) => {
            let why = format!("{}; moved to {}", error.why, folder.path(&aside).display());
            LedgerError { why, ..error }
        }
        _ => error,
    }
}

/// Sixteen locks for all sessions: lock files are never removed, so there must not be many.
fn lock_of(name: &str) -> String {
    let stem = name.strip_suffix(".json").unwrap_or(name);
    let last = stem.chars().next_back().filter(char::is_ascii_hexdigit).unwrap_or('0');
    format!("{FOLDER}/{last}.lock")
}

fn is_older(entry: &DirEntry, age: Duration) -> bool {
    let touched = std::fs::metadata(entry.path()).and_then(|about| about.modified());
    touched.is_ok_and(|then| SystemTime::now().duration_since(then).is_ok_and(|old| old > age))
}
