//! The ledger in a folder that many processes share. Writing is one append or one small file;
//! the database is opened only by those who read.

mod database;
mod folder;
mod line;
mod lock;
mod reading;
mod recent;
mod session;
mod side_entries;
mod spool;
mod take_in;
mod tickets;
mod trust;
mod trusted_text;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use gambrel_model::ledger::{
    Claim, JournalRecord, Ledger, LedgerError, SessionState, TrustEntry, Undelivered,
};
use gambrel_model::ticket::{Answer, AnswerResult, OpenedTicket, Ticket};
use serde_json::Value;

use crate::alive;
use crate::redact::Redactor;
use folder::Folder;
pub use recent::RecentFirings;
use session::{LockPatience, SessionFiles};
use spool::Spool;
pub use take_in::TakenIn;

/// The ledger of one person on one machine.
#[derive(Debug)]
pub struct LocalLedger {
    folder: Folder,
    redactor: Redactor,
    spool: Spool,
    limits: Limits,
    patience: LockPatience,
    /// Tickets whose answers this process uses and has not spent yet.
    taken: Mutex<Vec<String>>,
    import_due: AtomicBool,
}

/// How much is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of the spool before it is set aside.
    pub spool_bytes: u64,
    /// Bytes by which the spool grows before it is imported without a reader.
    pub import_bytes: u64,
    /// Firings in the database.
    pub firings: u64,
    /// Bytes of the database.
    pub database_bytes: u64,
    /// Age of firings and of untouched sessions.
    pub age: Duration,
}

impl Default for Limits {
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
    /// A ledger in `dir`. Touches nothing yet: the folder is made by the first write.
    pub fn open(dir: PathBuf, redactor: Redactor) -> Self {
        Self::with_limits(dir, redactor, Limits::default())
    }

    /// The same, keeping more or less than usual.
    pub fn with_limits(dir: PathBuf, redactor: Redactor, limits: Limits) -> Self {
        let patience = LockPatience::new(lock::PATIENCE);
        let (folder, spool, taken) = (Folder::new(dir), Spool::default(), Mutex::default());
        let import_due = AtomicBool::new(false);
        Self { folder, redactor, spool, limits, patience, taken, import_due }
    }

    /// The same, waiting at most so long for the lock of a session.
    #[must_use]
    pub fn with_lock_timeout(self, timeout: Duration) -> Self {
        Self { patience: LockPatience::new(timeout.min(lock::PATIENCE)), ..self }
    }

    /// Whether somebody should call [`import`](Self::import), who is not asked again soon. Costs
    /// nothing.
    pub fn take_import_due(&self) -> bool {
        self.import_due.load(Ordering::Relaxed) && self.import_due.swap(false, Ordering::Relaxed)
    }

    /// Names this ledger among those of a machine, and tells nothing about it.
    pub fn mark(&self) -> String {
        crate::token::hashed(&settled(self.folder.dir()).display().to_string())[..16].to_owned()
    }
}

/// A path by its real name, also before the last of its folders are made.
fn settled(path: &Path) -> PathBuf {
    match (std::fs::canonicalize(path), path.parent(), path.file_name()) {
        (Ok(real), _, _) => real,
        (Err(_), Some(above), Some(name)) => settled(above).join(name),
        _ => path.to_owned(),
    }
}

impl Ledger for LocalLedger {
    fn append_journal(&self, records: &[JournalRecord]) -> Result<(), LedgerError> {
        let mut lines = Vec::new();
        let mut left_out = None;
        for record in records {
            let (mut line, cut) = line::encode(record, &self.redactor);
            lines.append(&mut line);
            left_out = left_out.or(cut);
        }
        let Limits { spool_bytes, import_bytes, .. } = self.limits;
        if self.spool.append(&self.folder, &lines, spool_bytes, import_bytes)? {
            self.import_due.store(true, Ordering::Relaxed);
        }
        left_out.map_or(Ok(()), Err)
    }

    fn session_state(&self, session: &str) -> Result<SessionState, LedgerError> {
        SessionFiles::of(session, &self.redactor).read(&self.folder)
    }

    fn halts(&self, session: &str) -> (Vec<Undelivered>, Vec<LedgerError>) {
        SessionFiles::of(session, &self.redactor).known_halts(&self.folder)
    }

    fn store_aside(&self, session: &str, debt: &Undelivered) -> Result<(), LedgerError> {
        session::store_aside(&self.folder, session, &self.redactor, debt)
    }

    fn claim(&self, firing: &str) -> Claim {
        alive::claim(firing)
    }

    fn is_held(&self, claim: &Claim) -> bool {
        alive::is_held(claim)
    }

    fn update_session(
        &self,
        session: &str,
        change: &mut dyn FnMut(&mut SessionState),
    ) -> Result<(), LedgerError> {
        session::amend(&self.folder, session, &self.redactor, &self.patience, change)
    }

    fn trust(&self) -> Result<BTreeMap<String, TrustEntry>, LedgerError> {
        trust::read(&self.folder)
    }

    fn update_trust(
        &self,
        change: &mut dyn FnMut(&mut BTreeMap<String, TrustEntry>),
    ) -> Result<(), LedgerError> {
        trust::amend(&self.folder, &self.redactor, change)
    }

    fn redact(&self, value: &mut Value) {
        self.redactor.redact_value(value);
    }

    fn open_ticket(&self, asked: &Ticket) -> Result<OpenedTicket, LedgerError> {
        tickets::open(&self.folder, &self.redactor, asked)
    }

    fn ticket(&self, id: &str) -> Result<Option<Ticket>, LedgerError> {
        tickets::by_id(&self.folder, id)
    }

    fn ticket_by_token(&self, token: &str) -> Result<Option<Ticket>, LedgerError> {
        tickets::by_token(&self.folder, token)
    }

    fn tickets(&self) -> Result<Vec<Ticket>, LedgerError> {
        tickets::all(&self.folder)
    }

    fn answer_ticket(&self, id: &str, answer: &Answer) -> Result<AnswerResult, LedgerError> {
        tickets::answer(&self.folder, id, answer)
    }

    fn take_answer(&self, id: &str) -> Result<(), LedgerError> {
        let mut taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        taken.push(id.to_owned());
        tickets::note(&self.folder, id, &mut |ticket| ticket.taken = Some(alive::claim("")))
    }

    fn spend_answers(&self) -> Result<(), LedgerError> {
        let mut taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        while let Some(id) = taken.last() {
            tickets::note(&self.folder, id, &mut |ticket| ticket.spent = true)?;
            taken.pop();
        }
        Ok(())
    }

    fn update_ticket(
        &self,
        id: &str,
        note: &mut dyn FnMut(&mut Ticket),
    ) -> Result<(), LedgerError> {
        tickets::note(&self.folder, id, note)
    }
}
