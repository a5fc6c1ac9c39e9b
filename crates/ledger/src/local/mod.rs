//! A ledger in a folder that many processes share. A write is one append or one small file; only
//! readers open the database.

mod boards;
mod database;
mod import;
mod lock;
mod outcomes;
mod query;
mod recent;
mod record_line;
mod run_lock;
mod run_log;
mod session;
mod side_entries;
mod spool;
mod state_dir;
mod tickets;
mod trust;
mod watch;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use gambrel_model::Outcome;
use gambrel_model::ledger::{
    Claim, FiringQuery, FiringRecord, Imported, Journal, JournalRecord, Ledger, LedgerError,
    LedgerResult, LogLines, ProcessOrigin, RecentFirings, RunLock, RunLog, Runs, SessionChange,
    SessionState, Sessions, Undelivered, WatchTarget,
};
use serde_json::Value;

use crate::pid_alive;
use crate::redact::Redactor;
use run_log::LogEnds;
use session::{SessionFileCache, SessionFiles, SessionLockWait};
use spool::SpoolWriter;
use state_dir::StateDir;

/// The ledger of one user on one machine.
#[derive(Debug)]
pub struct LocalLedger {
    folder: StateDir,
    redactor: Arc<Redactor>,
    spool: SpoolWriter,
    limits: RetentionLimits,
    session_files: SessionFileCache,
    lock_wait: SessionLockWait,
    /// Tickets with answers that this process uses and has not spent yet.
    taken: Mutex<Vec<String>>,
    import_due: AtomicBool,
    log_ends: LogEnds,
}

/// How much the ledger stores.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RetentionLimits {
    /// Maximum size of the spool before it is rotated.
    pub spool_bytes: u64,
    /// Growth of the spool after which an import is due.
    pub import_bytes: u64,
    /// Maximum number of firings in the database.
    pub firings: u64,
    /// Maximum size of the database.
    pub database_bytes: u64,
    /// Maximum age of firings and of unchanged sessions.
    pub age: Duration,
}

impl Default for RetentionLimits {
    fn default() -> Self {
        Self {
            spool_bytes: 64 << 20,
            import_bytes: 8 << 20,
            firings: 100_000,
            database_bytes: 1 << 30,
            age: Duration::from_secs(30 * 24 * 60 * 60),
        }
    }
}

impl LocalLedger {
    /// A ledger in `dir`. The first write creates the folder.
    pub fn open(dir: PathBuf, redactor: impl Into<Arc<Redactor>>) -> Self {
        Self::with_limits(dir, redactor, RetentionLimits::default())
    }

    /// A ledger with its own limits.
    pub fn with_limits(
        dir: PathBuf,
        redactor: impl Into<Arc<Redactor>>,
        limits: RetentionLimits,
    ) -> Self {
        let redactor = redactor.into();
        let lock_wait = SessionLockWait::new(lock::LOCK_TIMEOUT);
        let (folder, spool, taken) = (StateDir::new(dir), SpoolWriter::default(), Mutex::default());
        let import_due = AtomicBool::new(false);
        let log_ends = LogEnds::default();
        let session_files = SessionFileCache::default();
        Self {
            folder,
            redactor,
            spool,
            limits,
            session_files,
            lock_wait,
            taken,
            import_due,
            log_ends,
        }
    }

    fn files_of(&self, session: &str) -> Arc<SessionFiles> {
        self.session_files.files_of(session, &self.redactor)
    }

    /// Sets the maximum wait for the lock of a session.
    #[must_use]
    pub fn with_lock_timeout(self, timeout: Duration) -> Self {
        Self { lock_wait: SessionLockWait::new(timeout.min(lock::LOCK_TIMEOUT)), ..self }
    }
}

/// The canonical path, even if the last folders do not exist yet.
fn canonical_path(path: &Path) -> PathBuf {
    match (std::fs::canonicalize(path), path.parent(), path.file_name()) {
        (Ok(real), _, _) => real,
        (Err(_), Some(above), Some(name)) => canonical_path(above).join(name),
        _ => path.to_owned(),
    }
}

impl Journal for LocalLedger {
    fn append_journal(&self, records: &[JournalRecord]) -> LedgerResult {
        let mut lines = Vec::new();
        let mut left_out = None;
        for record in records {
            let (mut line, cut) = record_line::encode_record(record, &self.redactor);
            lines.append(&mut line);
            left_out = left_out.or(cut);
        }
        let RetentionLimits { spool_bytes, import_bytes, .. } = self.limits;
        if self.spool.append_lines(&self.folder, &lines, spool_bytes, import_bytes)? {
            self.import_due.store(true, Ordering::Relaxed);
        }
        left_out.map_or(Ok(()), Err)
    }

    fn firings(&self, query: &FiringQuery) -> LedgerResult<Vec<FiringRecord>> {
        self.list_firings(query)
    }

    fn firing(&self, id_or_prefix: &str) -> LedgerResult<Option<FiringRecord>> {
        self.find_firing(id_or_prefix)
    }

    fn recent_firings(&self, query: &FiringQuery) -> LedgerResult<Option<RecentFirings>> {
        self.firings_of_long_spool(query)
    }

    fn import_journal(&self) -> LedgerResult<Imported> {
        self.import_spool()
    }

    fn import_unattended(&self) -> LedgerResult {
        self.import_in_background()
    }

    fn take_import_due(&self) -> bool {
        self.import_due.load(Ordering::Relaxed) && self.import_due.swap(false, Ordering::Relaxed)
    }
}

impl Sessions for LocalLedger {
    fn session_state(&self, session: &str) -> LedgerResult<SessionState> {
        self.files_of(session).read_state(&self.folder)
    }

    fn update_session(&self, session: &str, change: &mut SessionChange<'_>) -> LedgerResult {
        let files = self.files_of(session);
        session::update_session(&self.folder, &files, &self.redactor, &self.lock_wait, change)
    }

    fn read_halts(&self, session: &str) -> (Vec<Undelivered>, Vec<LedgerError>) {
        self.files_of(session).known_halts(&self.folder)
    }

    fn store_aside(&self, session: &str, entry: &Undelivered) -> LedgerResult {
        session::store_aside(&self.folder, &self.files_of(session), &self.redactor, entry)
    }

    fn new_claim(&self, firing: &str) -> Claim {
        pid_alive::new_claim(firing)
    }

    fn is_held(&self, claim: &Claim) -> bool {
        pid_alive::is_held(claim)
    }
}

impl Runs for LocalLedger {
    fn recorded_outcomes(&self, firing_key: &str) -> LedgerResult<BTreeMap<String, Outcome>> {
        outcomes::recorded_outcomes(&self.folder, firing_key)
    }

    fn record_outcome(&self, firing_key: &str, hook: &str, outcome: &Outcome) -> LedgerResult {
        outcomes::record_outcome(&self.folder, &self.redactor, (firing_key, hook), outcome)
    }

    fn replace_outcomes(
        &self,
        firing_key: &str,
        outcomes: &BTreeMap<String, Outcome>,
    ) -> LedgerResult {
        outcomes::replace_outcomes(&self.folder, &self.redactor, firing_key, outcomes)
    }

    fn acquire_lock(&self, name: &str, owner: &ProcessOrigin) -> LedgerResult<RunLock> {
        run_lock::acquire_lock(&self.folder, &self.redactor, name, owner)
    }

    fn lock_owner(&self, name: &str) -> LedgerResult<Option<ProcessOrigin>> {
        run_lock::lock_owner(&self.folder, &self.redactor, name)
    }

    fn append(&self, log: &RunLog, after: u64, lines: &[Value]) -> LedgerResult<u64> {
        run_log::append_lines(log, &self.redactor, &self.log_ends, after, lines)
    }

    fn read(&self, log: &RunLog) -> LedgerResult<LogLines> {
        run_log::read_lines(log)
    }
}

impl Ledger for LocalLedger {
    fn ledger_id(&self) -> String {
        crate::token::hash_key(&canonical_path(self.folder.dir()).display().to_string())[..16]
            .to_owned()
    }

    fn wait_for_change(&self, what: WatchTarget<'_>, deadline: Instant) {
        watch::wait_for_change(&self.watched_files(what), deadline);
    }
}
