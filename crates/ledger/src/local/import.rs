//! Imports the spool into the database. A crash at any point loses nothing and imports nothing
//! twice. A spool is removed after its commit, and a record is recognised by its key.

use std::time::SystemTime;

use gambrel_model::ledger::{Imported, LedgerResult};
use rusqlite::Connection;

use super::database::{self, DatabaseFailure, Importer};
use super::lock::FileLock;
use super::state_dir::{Durable, StateDir, io_error};
use super::{LocalLedger, session, spool};

/// The lock of the importing process.
const IMPORT_LOCK: &str = "take.lock";

/// Notices of unattended imports, for the next reader.
const NOTICES_FILE: &str = "import.notices";
const MAX_NOTICE_COUNT: usize = 100;
const SECONDS_PER_DAY: u64 = 24 * 60 * 60;

impl LocalLedger {
    /// Imports the spool into the database for a reader.
    pub(super) fn import_spool(&self) -> LedgerResult<Imported> {
        if !self.has_journal() {
            return Ok(Imported::default());
        }
        let _turn = FileLock::wait(&self.folder, IMPORT_LOCK)?;
        let mut taken = self.import_locked()?;
        let kept = stored_notices(&self.folder)?;
        if !kept.is_empty() {
            self.folder.remove_file(NOTICES_FILE)?;
            taken.notices.splice(0..0, kept);
        }
        // Last, so that a failure before it leaves the count for the next reader.
        spool::subtract_dropped(&self.folder, taken.dropped_bytes)?;
        Ok(taken)
    }

    /// Imports the spool without a reader.
    pub(super) fn import_in_background(&self) -> LedgerResult {
        if !self.has_journal() {
            return Ok(());
        }
        let turn = FileLock::try_lock(&self.folder, IMPORT_LOCK)
            .map_err(|error| io_error("locking", &self.folder.path_of(IMPORT_LOCK), &error))?;
        if turn.is_none() {
            return Ok(());
        }

        let taken = self.import_locked()?;
        if taken.notices.is_empty() {
            return Ok(());
        }

        let mut kept = stored_notices(&self.folder)?;
        kept.extend(taken.notices);
        // The oldest notices are dropped.
        kept.drain(..kept.len().saturating_sub(MAX_NOTICE_COUNT));
        self.folder.replace_json(NOTICES_FILE, &kept, Durable::No)?;
        spool::subtract_dropped(&self.folder, taken.dropped_bytes)
    }

    fn has_journal(&self) -> bool {
        let sources =
            [spool::IMPORT_FILE, spool::FULL_FILE, spool::LIVE_FILE, database::DATABASE_FILE];
        sources.iter().any(|name| self.folder.path_of(name).exists())
    }

    /// Imports the journal. The calling function holds the lock.
    fn import_locked(&self) -> LedgerResult<Imported> {
        let (mut taken, folder) = (Imported::default(), &self.folder);
        let path = folder.path_of(database::DATABASE_FILE);
        let worked = match self.import_all(&mut taken) {
            Err(failure) if failure.is_damage() => {
                set_database_aside(folder, &mut taken)?;
                self.import_all(&mut taken)
            }
            worked => worked,
        };
        worked.map_err(|failure| failure.into_ledger_error("importing the journal into", &path))?;
        taken.notices.extend(import_notices(&taken));
        Ok(taken)
    }

    fn import_all(&self, taken: &mut Imported) -> Result<(), DatabaseFailure> {
        let folder = &self.folder;
        let mut connection = database::open_to_write(folder)?;
        import_one(folder, &mut connection, taken)?;
        for source in [spool::FULL_FILE, spool::LIVE_FILE] {
            if spool::claim_spool(folder, source)? {
                import_one(folder, &mut connection, taken)?;
            }
        }
        self.remove_old(&connection, taken)?;
        taken.dropped_bytes = spool::dropped_bytes(folder)?;
        Ok(())
    }

    fn remove_old(
        &self,
        connection: &Connection,
        taken: &mut Imported,
    ) -> Result<(), DatabaseFailure> {
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let limits = &self.limits;
        let oldest = now.saturating_sub(limits.age);
        let firings = database::remove_beyond_limits(
            connection,
            oldest,
            limits.firings,
            limits.database_bytes,
        )?;
        if firings > 0 {
            taken.notices.push(format!("old firings removed from the journal: {firings}"));
        }
        let sessions = session::remove_old_sessions(&self.folder, limits.age)?;
        self.remove_old_tickets(limits.age)?;
        if sessions > 0 {
            let days = limits.age.as_secs() / SECONDS_PER_DAY;
            let gone = format!("sessions removed after {days} days without a change: {sessions}");
            taken.notices.push(gone);
        }
        Ok(())
    }
}

fn stored_notices(folder: &StateDir) -> LedgerResult<Vec<String>> {
    let Some(text) = folder.read_existing(NOTICES_FILE)? else { return Ok(Vec::new()) };
    let unreadable = |_| vec![format!("{} cannot be read", folder.path_of(NOTICES_FILE).display())];
    Ok(serde_json::from_str(&text).unwrap_or_else(unreadable))
}

/// Imports a renamed spool, including one that a killed process left behind.
fn import_one(
    folder: &StateDir,
    connection: &mut Connection,
    taken: &mut Imported,
) -> Result<(), DatabaseFailure> {
    let Some(file) = folder.open_existing(spool::IMPORT_FILE)? else { return Ok(()) };
    spool::wait_for_writers(&file, folder, spool::IMPORT_FILE)?;

    let transaction = connection.transaction()?;
    let mut records = 0;
    let mut intake = Importer::new(&transaction)?;
    let corrupt = spool::read_records(file, |entry| -> Result<(), DatabaseFailure> {
        records += u64::from(intake.add_record(&entry)?);
        Ok(())
    })?;
    drop(intake);
    transaction.commit()?;

    taken.records += records;
    taken.corrupt += corrupt;
    folder.remove_file(spool::IMPORT_FILE)?;
    Ok(())
}

/// Moves a damaged database aside, so that the user can repair it. The next import creates a new
/// one.
fn set_database_aside(folder: &StateDir, taken: &mut Imported) -> LedgerResult {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let aside = format!("{}.corrupt-{}", database::DATABASE_FILE, now.as_millis());
    for side in ["", "-wal", "-shm"] {
        folder.rename_file(
            &format!("{}{side}", database::DATABASE_FILE),
            &format!("{aside}{side}"),
        )?;
    }
    let shown = folder.path_of(&aside);
    taken.notices.push(format!(
        "the database of the journal was damaged; it was moved to {}, and a new one was created",
        shown.display()
    ));
    Ok(())
}

fn import_notices(taken: &Imported) -> Vec<String> {
    let mut notices = Vec::new();
    if taken.corrupt > 0 {
        notices.push(format!("damaged lines of the journal skipped: {}", taken.corrupt));
    }
    if taken.dropped_bytes > 0 {
        notices.push(format!(
            "bytes of the journal dropped before they were imported: {}",
            taken.dropped_bytes
        ));
    }
    notices
}
