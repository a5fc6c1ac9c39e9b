//! Locks between processes that end by themselves: a waiter gives up, a dead holder lets go.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::mpsc;
use std::time::{Duration, Instant};

use gambrel_model::ledger::LedgerError;
use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;

use super::folder::{Folder, refusal, trouble};

/// How long anybody waits for another process.
pub(super) const PATIENCE: Duration = Duration::from_secs(2);
/// A lock file may be removed between opening and locking it, but hardly many times in a row.
const MAX_OPEN_COUNT: usize = 64;

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

    /// Waits for a lock file that whoever holds it may remove.
    pub(super) fn wait_removable(
        folder: &Folder,
        name: &str,
        timeout: Duration,
    ) -> Result<Self, LedgerError> {
        let path = folder.path(name);
        let trouble = |error: io::Error| trouble("locking", &path, &error);
        let begun = Instant::now();
        for _ in 0..MAX_OPEN_COUNT {
            let file = open(folder, name).map_err(trouble)?;
            let left = timeout.saturating_sub(begun.elapsed());
            acquire(&file, Kind::Exclusive, left, &path)?;
            if file.metadata().map_err(trouble)?.nlink() > 0 {
                return Ok(Self(file));
            }
        }
        Err(refusal("locking", &path, "it was removed again and again"))
    }

    /// The lock if it is free now.
    pub(super) fn at_once(folder: &Folder, name: &str) -> io::Result<Option<Self>> {
        let file = open(folder, name)?;
        let held = attempt(&file, Kind::Exclusive)? && file.metadata()?.nlink() > 0;
        Ok(held.then_some(Self(file)))
    }
}

impl Drop for Held {
    /// Said aloud, because a child in the midst of being spawned may hold a copy of the file.
    fn drop(&mut self) {
        release(&self.0);
    }
}

/// Waits at most `timeout` for a lock on an open file. Who gets an error closes the file.
pub(super) fn acquire(
    file: &File,
    kind: Kind,
    timeout: Duration,
    path: &Path,
) -> Result<(), LedgerError> {
    let trouble = |error: io::Error| trouble("locking", path, &error);
    if attempt(file, kind).map_err(trouble)? || wait(file, kind, timeout).map_err(trouble)? {
        return Ok(());
    }
    let why = format!("another process has held it for {timeout:?}; try again");
    Err(refusal("locking", path, why))
}

/// Lets a thread wait in the kernel, which serves waiters in the order in which they came. One that
/// is not served in time is left behind; the lock goes with its copy of the file.
fn wait(file: &File, kind: Kind, timeout: Duration) -> io::Result<bool> {
    let file = file.try_clone()?;
    let (done, locked) = mpsc::sync_channel(1);
    let work = move || {
        let operation = match kind {
            Kind::Shared => FlockOperation::LockShared,
            Kind::Exclusive => FlockOperation::LockExclusive,
        };
        let held = loop {
            match flock(&file, operation) {
                Err(Errno::INTR) => {}
                held => break held,
            }
        };
        // Who does not wait any more has closed the file, and closing this copy lets go.
        let _ = done.send(held);
    };
    std::thread::Builder::new().name("gambrel-lock".into()).spawn(work)?;
    match locked.recv_timeout(timeout) {
        Ok(held) => held.map(|()| true).map_err(Into::into),
        Err(_) => Ok(false),
    }
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
