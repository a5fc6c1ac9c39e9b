//! Locks of runs: a lock file that the kernel releases when its owner ends, and a file beside it
//! that names the owner.

use std::time::Duration;

use gambrel_model::ledger::{LedgerResult, ProcessOrigin, RunLock};
use serde::{Deserialize, Serialize};

use super::lock::FileLock;
use super::session::file_stem;
use super::state_dir::{Durable, StateDir, corrupt_error, io_error};
use crate::pid_alive::is_alive;
use crate::redact::Redactor;
use crate::run_error::locked_error;

const LOCKS_DIR: &str = "locks";
/// A new owner has the lock before its name is in the file.
const OWNER_INTERVAL: Duration = Duration::from_millis(5);
/// How often the file is read again until it names a running owner.
const MAX_OWNER_READS: usize = 40;

/// The last owner of a lock.
#[derive(Default, Serialize, Deserialize)]
struct LockOwner {
    fence: u64,
    origin: ProcessOrigin,
}

/// The file that names the owner of a lock.
pub(super) fn owner_file(name: &str, redactor: &Redactor) -> String {
    format!("{LOCKS_DIR}/{}.json", file_stem(name, redactor))
}

/// Takes a lock if it is free.
pub(super) fn acquire_lock(
    folder: &StateDir,
    redactor: &Redactor,
    name: &str,
    origin: &ProcessOrigin,
) -> LedgerResult<RunLock> {
    let file = owner_file(name, redactor);
    let lock = format!("{LOCKS_DIR}/{}.lock", file_stem(name, redactor));
    for _ in 0..MAX_OWNER_READS {
        let held = FileLock::try_lock(folder, &lock)
            .map_err(|error| io_error("locking", &folder.path_of(&lock), &error))?;
        let last = read_owner(folder, &file)?;
        if let Some(held) = held {
            let owner = LockOwner { fence: last.fence + 1, origin: origin.clone() };
            folder.replace_json(&file, &owner, Durable::Yes)?;
            return Ok(RunLock::new(owner.fence, held));
        }
        if last.fence > 0 && is_alive(&last.origin) {
            return Err(locked_error(name, &last.origin));
        }
        std::thread::sleep(OWNER_INTERVAL);
    }
    Err(locked_error(name, &read_owner(folder, &file)?.origin))
}

/// The process that holds a lock. Its name in the file counts only while the lock is held.
pub(super) fn lock_owner(
    folder: &StateDir,
    redactor: &Redactor,
    name: &str,
) -> LedgerResult<Option<ProcessOrigin>> {
    let file = owner_file(name, redactor);
    let lock = format!("{LOCKS_DIR}/{}.lock", file_stem(name, redactor));
    for _ in 0..MAX_OWNER_READS {
        if read_owner(folder, &file)?.fence == 0 {
            return Ok(None);
        }
        let free = FileLock::try_lock(folder, &lock)
            .map_err(|error| io_error("locking", &folder.path_of(&lock), &error))?;
        if free.is_some() {
            return Ok(None);
        }
        let owner = read_owner(folder, &file)?.origin;
        if is_alive(&owner) {
            return Ok(Some(owner));
        }
        std::thread::sleep(OWNER_INTERVAL);
    }
    Ok(None)
}

fn read_owner(folder: &StateDir, file: &str) -> LedgerResult<LockOwner> {
    let Some(text) = folder.read_existing(file)? else { return Ok(LockOwner::default()) };
    serde_json::from_str(&text).map_err(|error| {
        let why = format!("it does not name the owner of a lock ({error}); remove it");
        corrupt_error("reading", &folder.path_of(file), why)
    })
}
