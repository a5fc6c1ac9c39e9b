//! The fixture of most tests: a ledger in a folder with a space in its name, and records.

use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::time::{Duration, SystemTime};

use gambrel_ledger::{LocalLedger, Redactor};
use gambrel_model::ledger::{
    FiringPhase, FiringQuery, FiringRecord, Journal, JournalRecord, ProcessOrigin,
};
use serde_json::{Value, json};
use tempfile::TempDir;

pub(crate) const TEST_TIMEOUT: Duration = Duration::from_secs(60);

pub(crate) struct LedgerFixture {
    _root: TempDir,
    pub(crate) dir: PathBuf,
}

impl LedgerFixture {
    pub(crate) fn new() -> Self {
        let root = tempfile::tempdir().unwrap();
        let dir = root.path().join("state of things");
        Self { _root: root, dir }
    }

    pub(crate) fn ledger(&self) -> LocalLedger {
        open_ledger(&self.dir)
    }

    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.dir.join(name)
    }
}

pub(crate) fn open_ledger(dir: &Path) -> LocalLedger {
    LocalLedger::open(dir.to_owned(), Redactor::default())
}

pub(crate) fn now() -> u64 {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap();
    u64::try_from(now.as_millis()).unwrap()
}

pub(crate) fn new_record(id: &str, step: FiringPhase, body: Value) -> JournalRecord {
    let session = "s-1".to_owned();
    JournalRecord {
        id: id.to_owned(),
        at: now(),
        step,
        session,
        origin: ProcessOrigin::of_this_process(),
        body,
    }
}

/// Journals a firing from beginning to end.
pub(crate) fn journal_firing(ledger: &(impl Journal + ?Sized), id: &str) {
    for (number, step) in
        [FiringPhase::Accepted, FiringPhase::Started, FiringPhase::Finished].iter().enumerate()
    {
        ledger.append_journal(&[new_record(id, *step, json!({ "number": number }))]).unwrap();
    }
}

pub(crate) fn all_firings(ledger: &LocalLedger) -> Vec<FiringRecord> {
    let query = FiringQuery { limit: usize::MAX, ..FiringQuery::default() };
    ledger.firings(&query).unwrap()
}

/// Panics if the work takes longer than the timeout.
pub(crate) fn run_within<T: Send + 'static>(
    timeout: Duration,
    work: impl FnOnce() -> T + Send + 'static,
) -> T {
    let (done, result) = mpsc::channel();
    let worker = std::thread::spawn(move || {
        let value = work();
        done.send(()).ok();
        value
    });
    if let Err(mpsc::RecvTimeoutError::Timeout) = result.recv_timeout(timeout) {
        panic!("not done after {timeout:?}");
    }
    worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}
