//! Brings the spool into the database. Killed at any point it loses nothing and counts nothing
//! twice: a spool is removed only after its commit, and a record read again is known by its key.

use std::time::SystemTime;

use gambrel_model::ledger::LedgerError;
use rusqlite::Connection;

use super::database::{self, Failure, Intake};
use super::folder::Folder;
use super::lock::Held;
use super::{LocalLedger, session, spool, tickets};

/// Held by the one process that takes in.
const TURN: &str = "take.lock";

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
    /// Brings what was journalled so far into the database, and forgets what is too old.
    pub fn take_in(&self) -> Result<TakenIn, LedgerError> {
        let mut taken = TakenIn::default();
        let folder = &self.folder;
        let sources = [spool::TAKING, spool::FULL, spool::LIVE, database::FILE];
        if !sources.iter().any(|name| folder.path(name).exists()) {
            return Ok(taken);
        }
        let _turn = Held::wait(folder, TURN)?;
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
        // Last, so that a failure before it leaves the count for the next reader.
        taken.dropped_bytes = spool::take_dropped(folder)?;
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
