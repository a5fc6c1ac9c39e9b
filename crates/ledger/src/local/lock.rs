//! Locks between processes that end by themselves: a waiter gives up, a dead holder lets go.

use std::fs::{File, OpenOptions};
use std::io;
use std::path::Path;
use std::time::{Duration, Instant};

use gambrel_model::ledger::LedgerError;
use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;

use super::folder::{Folder, refusal, trouble};

/// How long anybody waits for another process.
pub(super) const PATIENCE: Duration = Duration::from_secs(2);
const FIRST_PAUSE: Duration = Duration::from_micros(50);
const LONGEST_PAUSE: Duration = Duration::from_millis(4);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Shared,
    Exclusive,
}

/// A lock on a lock file, held until dropped.
#[derive(Debug)]
pub(super) struct Held(File);

impl Held {
    /// Waits for the lock file `name`.
    pub(super) fn wait(folder: &Folder, name: &str) -> Result<Self, LedgerError> {
        let path = folder.path(name);
        let file = open(folder, name).map_err(|error| trouble("locking", &path, &error))?;
        acquire(&file, Kind::Exclusive, PATIENCE, &path)?;
        Ok(Self(file))
    }

    /// The lock if it is free now.
    pub(super) fn at_once(folder: &Folder, name: &str) -> io::Result<Option<Self>> {
        let file = open(folder, name)?;
        Ok(attempt(&file, Kind::Exclusive)?.then_some(Self(file)))
    }
}

impl Drop for Held {
    /// Said aloud, because a child in the midst of being spawned may hold a copy of the file.
    fn drop(&mut self) {
        release(&self.0);
    }
}

/// Waits at most `patience` for a lock on an open file.
pub(super) fn acquire(
    file: &File,
    kind: Kind,
    patience: Duration,
    path: &Path,
) -> Result<(), LedgerError> {
    let begin = Instant::now();
    let mut pause = FIRST_PAUSE;
    while !attempt(file, kind).map_err(|error| trouble("locking", path, &error))? {
        if begin.elapsed() >= patience {
            let why = format!("another process has held it for {patience:?}; try again");
            return Err(refusal("locking", path, why));
        }
        std::thread::sleep(pause);
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
    Ok(())
}

pub(super) fn release(file: &File) {
    // Closing the file would do the same; there is nobody to tell of a failure.
    let _ = flock(file, FlockOperation::Unlock);
}

fn open(folder: &Folder, name: &str) -> io::Result<File> {
    folder.open(name, OpenOptions::new().write(true).truncate(false))
}

fn attempt(file: &File, kind: Kind) -> io::Result<bool> {
    let operation = match kind {
        Kind::Shared => FlockOperation::NonBlockingLockShared,
        Kind::Exclusive => FlockOperation::NonBlockingLockExclusive,
    };
    match flock(file, operation) {
        Ok(()) => Ok(true),
        Err(Errno::WOULDBLOCK | Errno::INTR) => Ok(false),
        Err(errno) => Err(errno.into()),
    }
}
