//! What most tests begin with: a folder with a space in its name, a ledger in it, and records.

use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::time::{Duration, SystemTime};

use gambrel_ledger::{Firing, LocalLedger, Query, Redactor};
use gambrel_model::ledger::{FiringPhase, JournalRecord, Ledger};
use serde_json::{Value, json};
use tempfile::TempDir;

pub(crate) const DEADLINE: Duration = Duration::from_secs(60);

pub(crate) struct Scene {
    _root: TempDir,
    pub(crate) dir: PathBuf,
}

impl Scene {
    pub(crate) fn new() -> Self {
        let root = tempfile::tempdir().unwrap();
        let dir = root.path().join("state of things");
        Self { _root: root, dir }
    }

    pub(crate) fn ledger(&self) -> LocalLedger {
        ledger(&self.dir)
    }

    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.dir.join(name)
    }
}

pub(crate) fn ledger(dir: &Path) -> LocalLedger {
    LocalLedger::open(dir.to_owned(), Redactor::default())
}

pub(crate) fn now() -> u64 {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap();
    u64::try_from(now.as_millis()).unwrap()
}

pub(crate) fn record(id: &str, step: FiringPhase, body: Value) -> JournalRecord {
    let session = "s-1".to_owned();
    JournalRecord { id: id.to_owned(), at: now(), step, session, pid: std::process::id(), body }
}

/// A firing from beginning to end.
pub(crate) fn journal_firing(ledger: &impl Ledger, id: &str) {
    for (number, step) in
        [FiringPhase::Accepted, FiringPhase::Started, FiringPhase::Finished].iter().enumerate()
    {
        ledger.append_journal(&[record(id, *step, json!({ "number": number }))]).unwrap();
    }
}

pub(crate) fn all(ledger: &LocalLedger) -> Vec<Firing> {
    let query = Query { limit: usize::MAX, ..Query::default() };
    ledger.firings(&query).unwrap()
}

/// Fails the test instead of hanging it.
pub(crate) fn within<T: Send + 'static>(
    deadline: Duration,
    work: impl FnOnce() -> T + Send + 'static,
) -> T {
    let (done, result) = mpsc::channel();
    let worker = std::thread::spawn(move || {
        let value = work();
        done.send(()).ok();
        value
    });
    if let Err(mpsc::RecvTimeoutError::Timeout) = result.recv_timeout(deadline) {
        panic!("not done after {deadline:?}");
    }
    worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}
