//! Waits for a change of files, by looking at them. A change between a reader's last read and the
//! wait is not seen, so a wait is short and the reader looks again.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use gambrel_model::ledger::WatchTarget;

use super::{LocalLedger, boards, run_lock, run_log, spool, tickets};

/// Maximum length of one wait.
const WAIT_TIMEOUT: Duration = Duration::from_millis(250);
/// Between two looks at the files.
const LOOK_INTERVAL: Duration = Duration::from_millis(10);

impl LocalLedger {
    /// The files that a change of `what` writes.
    pub(super) fn watched_files(&self, what: WatchTarget<'_>) -> Vec<PathBuf> {
        let names = match what {
            WatchTarget::Journal => vec![spool::LIVE_FILE.to_owned()],
            WatchTarget::Session(session) => self.files_of(session).names(),
            WatchTarget::Ticket(id) => tickets::file_of(id).into_iter().collect(),
            WatchTarget::Log(log) => return vec![log.folder.join(run_log::EVENTS_FILE)],
            WatchTarget::Lock(name) => vec![run_lock::owner_file(name, &self.redactor)],
            WatchTarget::Board(_) => vec![boards::BOARDS_FILE.to_owned()],
        };
        names.iter().map(|name| self.folder.path_of(name)).collect()
    }
}

/// Returns when a file has changed, at the deadline, or after a short while.
pub(super) fn wait_for_change(files: &[PathBuf], deadline: Instant) {
    let deadline =
        Instant::now().checked_add(WAIT_TIMEOUT).map_or(deadline, |end| end.min(deadline));
    let look = || files.iter().map(|file| file_state(file)).collect::<Vec<_>>();
    let before = look();
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return;
        }
        std::thread::sleep(LOOK_INTERVAL.min(left));
        if look() != before {
            return;
        }
    }
}

/// What tells one version of a file from another; `None` for a missing file.
fn file_state(path: &Path) -> Option<(u64, u64, i64, i64)> {
    let about = std::fs::metadata(path).ok()?;
    Some((about.ino(), about.len(), about.mtime(), about.mtime_nsec()))
}
