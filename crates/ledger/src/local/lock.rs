//! File locks between processes. A wait ends after a timeout, and the kernel releases the lock of a
//! dead process.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::mpsc;
use std::time::{Duration, Instant};

use gambrel_model::ledger::LedgerResult;
use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;

use super::state_dir::{StateDir, busy_error, io_error};

/// Maximum wait for another process.
pub(super) const LOCK_TIMEOUT: Duration = Duration::from_secs(2);
/// How often a lock file is opened again if it was removed before the lock.
const MAX_OPEN_COUNT: usize = 64;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LockKind {
    Shared,
    Exclusive,
}

/// A lock on a lock file, held until dropped.
#[derive(Debug)]
pub(super) struct FileLock(File);

impl FileLock {
    /// Waits for the lock file `name`.
    pub(super) fn wait(folder: &StateDir, name: &str) -> LedgerResult<Self> {
        let path = folder.path_of(name);
        let file =
            open_lock_file(folder, name).map_err(|error| io_error("locking", &path, &error))?;
        acquire_lock(&file, LockKind::Exclusive, LOCK_TIMEOUT, &path)?;
        Ok(Self(file))
    }

    /// Waits for a lock file that its holder may remove.
    pub(super) fn wait_removable(
        folder: &StateDir,
        name: &str,
        timeout: Duration,
    ) -> LedgerResult<Self> {
        let path = folder.path_of(name);
        let trouble = |error: io::Error| io_error("locking", &path, &error);
        let begun = Instant::now();
        for _ in 0..MAX_OPEN_COUNT {
            let file = open_lock_file(folder, name).map_err(trouble)?;
            let left = timeout.saturating_sub(begun.elapsed());
            acquire_lock(&file, LockKind::Exclusive, left, &path)?;
            if file.metadata().map_err(trouble)?.nlink() > 0 {
                return Ok(Self(file));
            }
        }
        Err(busy_error("locking", &path, "other processes keep removing it; try again"))
    }

    /// Takes the lock if it is free.
    pub(super) fn try_lock(folder: &StateDir, name: &str) -> io::Result<Option<Self>> {
        let file = open_lock_file(folder, name)?;
        let held = try_acquire(&file, LockKind::Exclusive)? && file.metadata()?.nlink() > 0;
        Ok(held.then_some(Self(file)))
    }
}

impl Drop for FileLock {
    /// Unlocks explicitly, because a child that is being spawned may have a copy of the file.
    fn drop(&mut self) {
        release_lock(&self.0);
    }
}

/// Waits at most `timeout` for a lock on an open file. After an error, the file must be closed.
pub(super) fn acquire_lock(
    file: &File,
    kind: LockKind,
    timeout: Duration,
    path: &Path,
) -> LedgerResult {
    let trouble = |error: io::Error| io_error("locking", path, &error);
    if try_acquire(file, kind).map_err(trouble)?
        || wait_in_thread(file, kind, timeout).map_err(trouble)?
    {
        return Ok(());
    }
    let why = format!("another process has held it for {timeout:?}; try again");
    Err(busy_error("locking", path, why))
}

/// Waits for the lock in a thread, because the kernel serves waiters in order. After the timeout,
/// the thread stays behind, and releases the lock with its copy of the file.
fn wait_in_thread(file: &File, kind: LockKind, timeout: Duration) -> io::Result<bool> {
    let file = file.try_clone()?;
    let (done, locked) = mpsc::sync_channel(1);
    let work = move || {
        let operation = match kind {
            LockKind::Shared => FlockOperation::LockShared,
            LockKind::Exclusive => FlockOperation::LockExclusive,
        };
        let held = loop {
            match flock(&file, operation) {
                Err(Errno::INTR) => {}
                held => break held,
            }
        };
        // After a timeout, the receiver is gone, and closing this copy releases the lock.
        let _ = done.send(held);
    };
    std::thread::Builder::new().name("gambrel-lock".into()).spawn(work)?;
    match locked.recv_timeout(timeout) {
        Ok(held) => held.map(|()| true).map_err(Into::into),
        Err(_) => Ok(false),
    }
}

pub(super) fn release_lock(file: &File) {
    // A failure has no consequences: closing the file releases the lock too.
    let _ = flock(file, FlockOperation::Unlock);
}

fn open_lock_file(folder: &StateDir, name: &str) -> io::Result<File> {
    folder.open_private(name, OpenOptions::new().write(true).truncate(false))
}

fn try_acquire(file: &File, kind: LockKind) -> io::Result<bool> {
    let operation = match kind {
        LockKind::Shared => FlockOperation::NonBlockingLockShared,
        LockKind::Exclusive => FlockOperation::NonBlockingLockExclusive,
    };
    match flock(file, operation) {
        Ok(()) => Ok(true),
        Err(Errno::WOULDBLOCK | Errno::INTR) => Ok(false),
        Err(errno) => Err(errno.into()),
    }
}
