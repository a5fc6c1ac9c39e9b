//! The log of a run: `events.jsonl` in its folder, one JSON value per line. Writers lock the file,
//! check that nobody else has appended, and sync it. A kill leaves at most one torn last line.

use std::collections::HashMap;
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use gambrel_model::ledger::{LedgerResult, LogLines, RunLog, TornLine};
use serde_json::Value;

use super::lock::{self, LockKind};
use super::spool::write_once;
use super::state_dir::{StateDir, corrupt_error, io_error};
use crate::redact::Redactor;
use crate::run_error::conflict_error;

/// The file in the folder of a run.
pub(super) const EVENTS_FILE: &str = "events.jsonl";

/// Where a log ends.
#[derive(Debug, Clone, Copy)]
struct LogEnd {
    lines: u64,
    bytes: u64,
    is_torn: bool,
}

/// Where the logs end that this process has written. A log of another length has another writer and
/// is read again.
#[derive(Debug, Default)]
pub(super) struct LogEnds(Mutex<HashMap<PathBuf, LogEnd>>);

impl LogEnds {
    fn lock(&self) -> MutexGuard<'_, HashMap<PathBuf, LogEnd>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The end of a log, from memory if nobody else has changed its length.
    fn find_end(&self, path: &Path, file: &mut File) -> io::Result<LogEnd> {
        let length = file.metadata()?.len();
        let known = self.lock().get(path).copied().filter(|end| end.bytes == length);
        if let Some(end) = known {
            return Ok(end);
        }
        let bytes = read_bytes(file)?;
        let (intact, torn) = split_torn(&bytes);
        let (lines, bytes) = (count_lines(intact), intact.len() as u64);
        Ok(LogEnd { lines, bytes, is_torn: torn.is_some() })
    }
}

/// Appends lines with one write, if the log ends with line `after`.
pub(super) fn append_lines(
    log: &RunLog,
    redactor: &Redactor,
    ends: &LogEnds,
    after: u64,
    lines: &[Value],
) -> LedgerResult<u64> {
    let folder = StateDir::new(log.folder.clone());
    let path = folder.path_of(EVENTS_FILE);
    let trouble = |error: io::Error| io_error("appending to", &path, &error);
    let mut file = folder
        .open_private(EVENTS_FILE, OpenOptions::new().read(true).append(true))
        .map_err(trouble)?;
    if !file.metadata().map_err(trouble)?.is_file() {
        return Err(corrupt_error("appending to", &path, "it is not a regular file"));
    }
    with_lock(&mut file, LockKind::Exclusive, &path, |file| {
        let end = ends.find_end(&path, file).map_err(trouble)?;
        if end.lines != after {
            return Err(conflict_error(path.display(), after, end.lines));
        }
        if end.is_torn {
            file.set_len(end.bytes).map_err(trouble)?;
        }
        let text = to_text(lines, redactor);
        let is_first = end.bytes == 0;
        let written = write_once(file, text.as_bytes())
            .and_then(|()| file.sync_data())
            .and_then(|()| if is_first { folder.sync_folders_of(&path) } else { Ok(()) });
        written.map_err(|error| {
            // The caller may append the same lines again.
            let _ = file.set_len(end.bytes);
            trouble(error)
        })?;
        let lines = after + lines.len() as u64;
        let bytes = end.bytes + text.len() as u64;
        ends.lock().insert(path.clone(), LogEnd { lines, bytes, is_torn: false });
        Ok(lines)
    })
}

/// Reads all lines; none without a file.
pub(super) fn read_lines(log: &RunLog) -> LedgerResult<LogLines> {
    let folder = StateDir::new(log.folder.clone());
    let path = folder.path_of(EVENTS_FILE);
    let Some(mut file) = folder.open_existing(EVENTS_FILE)? else {
        return Ok(LogLines::default());
    };
    let bytes = with_lock(&mut file, LockKind::Shared, &path, |file| {
        read_bytes(file).map_err(|error| io_error("reading", &path, &error))
    })?;
    let (intact, torn) = split_torn(&bytes);
    let mut lines = Vec::new();
    for (number, line) in (1_u64..).zip(intact.split_inclusive(|byte| *byte == b'\n')) {
        lines.push(serde_json::from_slice(line).map_err(|error| {
            let why = format!("line {number} is damaged ({error}); repair it, or start a new run");
            corrupt_error("reading", &path, why)
        })?);
    }
    Ok(LogLines { lines, torn })
}

fn with_lock<T>(
    file: &mut File,
    kind: LockKind,
    path: &Path,
    work: impl FnOnce(&mut File) -> LedgerResult<T>,
) -> LedgerResult<T> {
    lock::acquire_lock(file, kind, lock::LOCK_TIMEOUT, path)?;
    let done = work(file);
    // Explicitly, because a child that is being spawned may have a copy of the file.
    lock::release_lock(file);
    done
}

fn read_bytes(file: &mut File) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file.seek(SeekFrom::Start(0))?;
    file.read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Splits off a last line that has no end, or that a crash of the machine left without its content.
fn split_torn(bytes: &[u8]) -> (&[u8], Option<TornLine>) {
    let is_end = |byte: &u8| *byte == b'\n';
    let body = bytes.strip_suffix(b"\n").unwrap_or(bytes);
    let start = body.iter().rposition(is_end).map_or(0, |at| at + 1);
    let (intact, last) = bytes.split_at(start);
    let is_whole =
        last.ends_with(b"\n") && serde_json::from_slice::<serde::de::IgnoredAny>(last).is_ok();
    if last.is_empty() || is_whole {
        return (bytes, None);
    }
    let number = count_lines(intact) + 1;
    (intact, Some(TornLine { number, bytes: last.len() as u64 }))
}

fn count_lines(bytes: &[u8]) -> u64 {
    bytes.iter().filter(|byte| **byte == b'\n').count() as u64
}

fn to_text(lines: &[Value], redactor: &Redactor) -> String {
    let mut text = String::new();
    for line in lines {
        let mut line = line.clone();
        redactor.redact_value(&mut line);
        text += &format!("{line}\n");
    }
    text
}
