//! Locks of pi-teams: a file beside the locked one that names its owner. It is not released by the
//! kernel, so the lock of a process that has ended is taken away.

use std::fs;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime};

use gambrel_model::iso_time;
use gambrel_model::ledger::{LedgerError, LedgerErrorKind, LedgerResult};
use serde_json::{Value, json};

use super::file::io_error;
use crate::open_ticket::now_ms;
use crate::pid_alive::is_pid_running;

/// Maximum wait for a lock.
const LOCK_TIMEOUT: Duration = Duration::from_secs(90);
/// The first and the longest wait between two attempts.
const FIRST_RETRY_DELAY: Duration = Duration::from_millis(2);
const MAX_RETRY_DELAY: Duration = Duration::from_millis(50);
/// A lock that names no process is left behind after this time.
const UNNAMED_LOCK_WINDOW: Duration = Duration::from_secs(60);

/// A lock file that is removed when it is dropped.
pub(super) struct TeamLock {
    path: PathBuf,
}

impl TeamLock {
    /// Waits for the lock of a file.
    pub(super) fn wait(file: &Path, label: &str) -> LedgerResult<Self> {
        let path = lock_path(file);
        let deadline = Instant::now() + LOCK_TIMEOUT;
        let mut delay = FIRST_RETRY_DELAY;
        loop {
            if create_lock(&path, label)? {
                return Ok(Self { path });
            }
            remove_left_lock(&path);
            if Instant::now() >= deadline {
                let owner = fs::read_to_string(&path).unwrap_or_default();
                let why = format!("another process keeps {} ({owner})", path.display());
                let doing = format!("locking {}", file.display());
                return Err(LedgerError::new(LedgerErrorKind::Unavailable, doing, why));
            }
            std::thread::sleep(delay);
            delay = (delay * 2).min(MAX_RETRY_DELAY);
        }
    }
}

impl Drop for TeamLock {
    fn drop(&mut self) {
        // A lock that stays behind is taken away: its process will have ended.
        let _removed = fs::remove_file(&self.path);
    }
}

fn lock_path(file: &Path) -> PathBuf {
    let mut name = file.as_os_str().to_owned();
    name.push(".lock");
    PathBuf::from(name)
}

/// Creates the lock file. False if there is one.
fn create_lock(path: &Path, label: &str) -> LedgerResult<bool> {
    let mut file = match fs::OpenOptions::new().write(true).create_new(true).open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == ErrorKind::AlreadyExists => return Ok(false),
        Err(error) => return Err(io_error("locking", path, &error)),
    };
    let owner = json!({
        "pid": std::process::id(), "createdAt": iso_time(now_ms(), true), "label": label,
    });
    // A lock without a name is a lock, too.
    let _named = file.write_all(owner.to_string().as_bytes());
    Ok(true)
}

/// Moves a lock away that nobody holds any more. If another process took the lock meanwhile, it gets
/// its lock back.
fn remove_left_lock(path: &Path) {
    let Some(before) = read_left_lock(path) else { return };
    let aside = unique_beside(path, "left");
    if fs::rename(path, &aside).is_err() {
        return;
    }
    if fs::read(&aside).is_ok_and(|bytes| bytes != before) {
        let _restored = fs::hard_link(&aside, path);
    }
    let _removed = fs::remove_file(&aside);
}

/// The content of a lock whose process has ended, or that has named none for a while.
fn read_left_lock(path: &Path) -> Option<Vec<u8>> {
    let bytes = fs::read(path).ok()?;
    let owner = serde_json::from_slice::<Value>(&bytes).ok();
    let pid = owner.and_then(|owner| u32::try_from(owner["pid"].as_u64()?).ok());
    let is_left = match pid {
        Some(pid) => !is_pid_running(pid),
        None => {
            let changed = fs::metadata(path).and_then(|meta| meta.modified()).ok()?;
            // A time in the future, after the clock was set back, is no age.
            let age = SystemTime::now().duration_since(changed).unwrap_or_default();
            age > UNNAMED_LOCK_WINDOW
        }
    };
    is_left.then_some(bytes)
}

/// A name in the same folder that no other thread or process uses.
pub(super) fn unique_beside(path: &Path, word: &str) -> PathBuf {
    static COUNTER: AtomicU64 = AtomicU64::new(0);
    let number = COUNTER.fetch_add(1, Ordering::Relaxed);
    let mut name = path.as_os_str().to_owned();
    name.push(format!(".{word}.{}.{number}", std::process::id()));
    PathBuf::from(name)
}
