//! Brings the spool into the database. Killed at any point it loses nothing and counts nothing
//! twice: a spool is removed only after its commit, and a record read again is known by its key.

use std::time::SystemTime;

use gambrel_model::ledger::LedgerError;
use rusqlite::Connection;

use super::database::{self, Failure, Intake};
use super::folder::{Durable, Folder, refusal, trouble};
use super::lock::Held;
use super::{LocalLedger, session, spool, tickets};

/// Held by the one process that takes in.
const TURN: &str = "take.lock";

/// What imports without a reader have to tell.
const NOTICES: &str = "import.notices";
const MAX_NOTICE_COUNT: usize = 100;
const SECONDS_A_DAY: u64 = 24 * 60 * 60;

/// What came of taking the spool in.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TakenIn {
    /// Records that are now in the database and were not before.
    pub records: u64,
    /// Lines that were torn or changed, and skipped.
    pub corrupt: u64,
    /// Bytes of the journal that were dropped because nobody took them in for too long.
    pub dropped_bytes: u64,
    /// What a person should be told.
    pub notices: Vec<String>,
}

impl LocalLedger {
    /// Brings what was journalled so far into the database, and forgets what is too old. Also tells
    /// what an [`import`](Self::import) had to tell.
    pub fn take_in(&self) -> Result<TakenIn, LedgerError> {
        if !self.has_journal() {
            return Ok(TakenIn::default());
        }
        let _turn = Held::wait(&self.folder, TURN)?;
        let mut taken = self.take_in_turn()?;
        let kept = kept_notices(&self.folder)?;
        if !kept.is_empty() {
            self.folder.remove(NOTICES)?;
            taken.notices.splice(0..0, kept);
        }
        // Last, so that a failure before it leaves the count for the next reader.
        spool::forget_dropped(&self.folder, taken.dropped_bytes)?;
        Ok(taken)
    }

    /// The same without anybody who could be told: what there is to tell is kept for the next who
    /// reads the journal. Nothing happens while another process is at it.
    pub fn import(&self) -> Result<(), LedgerError> {
        if !self.has_journal() {
            return Ok(());
        }
        let turn = Held::at_once(&self.folder, TURN)
            .map_err(|error| trouble("locking", &self.folder.path(TURN), &error))?;
        if turn.is_none() {
            return Ok(());
        }
        let taken = self.take_in_turn()?;
        if taken.notices.is_empty() {
            return Ok(());
        }
        let mut kept = kept_notices(&self.folder)?;
        kept.extend(taken.notices);
        // Old news give way to new ones.
        kept.drain(..kept.len().saturating_sub(MAX_NOTICE_COUNT));
        let bytes = serde_json::to_vec(&kept)
            .map_err(|error| refusal("writing", &self.folder.path(NOTICES), error))?;
        self.folder.replace(NOTICES, &bytes, Durable::No)?;
        spool::forget_dropped(&self.folder, taken.dropped_bytes)
    }

    fn has_journal(&self) -> bool {
        let sources = [spool::TAKING, spool::FULL, spool::LIVE, database::FILE];
        sources.iter().any(|name| self.folder.path(name).exists())
    }

    /// The caller has the turn.
    fn take_in_turn(&self) -> Result<TakenIn, LedgerError> {
        let (mut taken, folder) = (TakenIn::default(), &self.folder);
        let path = folder.path(database::FILE);
        let worked = match self.take_all(&mut taken) {
            Err(failure) if failure.is_damage() => {
                set_aside(folder, &mut taken)?;
                self.take_all(&mut taken)
            }
            worked => worked,
        };
        worked.map_err(|failure| failure.said("taking the journal into", &path))?;
        taken.notices.extend(notices(&taken));
        Ok(taken)
    }

    fn take_all(&self, taken: &mut TakenIn) -> Result<(), Failure> {
        let folder = &self.folder;
        let mut connection = database::open(folder)?;
        take_one(folder, &mut connection, taken)?;
        for source in [spool::FULL, spool::LIVE] {
            if spool::claim(folder, source)? {
                take_one(folder, &mut connection, taken)?;
            }
        }
        self.forget(&connection, taken)?;
        taken.dropped_bytes = spool::dropped(folder)?;
        Ok(())
    }

    fn forget(&self, connection: &Connection, taken: &mut TakenIn) -> Result<(), Failure> {
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let limits = &self.limits;
        let oldest = now.saturating_sub(limits.age);
        let firings = database::retain(connection, oldest, limits.firings, limits.database_bytes)?;
        if firings > 0 {
            taken.notices.push(format!("{firings} old firings were removed from the journal"));
        }
        let sessions = session::forget(&self.folder, limits.age)?;
        tickets::forget(&self.folder, limits.age)?;
        if sessions > 0 {
            let days = limits.age.as_secs() / SECONDS_A_DAY;
            let gone = format!("{sessions} sessions untouched for {days} days were forgotten");
            taken.notices.push(gone);
        }
        Ok(())
    }
}

fn kept_notices(folder: &Folder) -> Result<Vec<String>, LedgerError> {
    let Some(file) = folder.existing(NOTICES)? else { return Ok(Vec::new()) };
    let text = folder.text_of(NOTICES, file)?;
    let unreadable = |_| vec![format!("{} cannot be read", folder.path(NOTICES).display())];
    Ok(serde_json::from_str(&text).unwrap_or_else(unreadable))
}

/// Takes in what stands under the name `TAKING`, also what a killed process left there.
fn take_one(
    folder: &Folder,
    connection: &mut Connection,
    taken: &mut TakenIn,
) -> Result<(), Failure> {
    let Some(file) = folder.existing(spool::TAKING)? else { return Ok(()) };
    spool::settle(&file, folder, spool::TAKING)?;
    let transaction = connection.transaction()?;
    let mut records = 0;
    let mut intake = Intake::new(&transaction)?;
    let corrupt = spool::read(file, |entry| -> Result<(), Failure> {
        records += u64::from(intake.add(&entry)?);
        Ok(())
    })?;
    drop(intake);
    transaction.commit()?;
    taken.records += records;
    taken.corrupt += corrupt;
    folder.remove(spool::TAKING)?;
    Ok(())
}

/// A damaged database is kept for whoever can repair it, and a new one begun.
fn set_aside(folder: &Folder, taken: &mut TakenIn) -> Result<(), LedgerError> {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let aside = format!("{}.corrupt-{}", database::FILE, now.as_millis());
    for side in ["", "-wal", "-shm"] {
        folder.rename(&format!("{}{side}", database::FILE), &format!("{aside}{side}"))?;
    }
    let shown = folder.path(&aside);
    taken.notices.push(format!(
        "the journal's database was damaged; it was moved to {} and a new one begun",
        shown.display()
    ));
    Ok(())
}

fn notices(taken: &TakenIn) -> Vec<String> {
    let mut notices = Vec::new();
    if taken.corrupt > 0 {
        notices.push(format!("{} damaged lines of the journal were skipped", taken.corrupt));
    }
    if taken.dropped_bytes > 0 {
        notices.push(format!(
            "{} bytes of the journal were dropped before anybody read them",
            taken.dropped_bytes
        ));
    }
    notices
}
