//! The SQLite database of the journal. Independent of spool files and of the meaning of records.

use std::fs::OpenOptions;
use std::io;
use std::path::Path;
use std::time::Duration;

use gambrel_model::ledger::{JournalRecord, LedgerError, LedgerErrorKind};
use gambrel_model::text::percent_encode;
use rusqlite::{Connection, ErrorCode, OptionalExtension, Statement, Transaction, params};

use super::record_line::{RecordKey, RecordLine};
use super::state_dir::{StateDir, corrupt_error, io_error};

pub(super) const DATABASE_FILE: &str = "ledger.db";
/// Maximum wait for the database. Shorter than for a lock, because both waits may add up.
const DATABASE_TIMEOUT: Duration = Duration::from_millis(900);

/// Schema migrations of the journal.
const MIGRATIONS: [&str; 1] = ["CREATE TABLE firings (
         seq INTEGER PRIMARY KEY AUTOINCREMENT,
         id TEXT NOT NULL UNIQUE,
         session TEXT NOT NULL,
         at INTEGER NOT NULL
     ) STRICT;
     CREATE INDEX firings_of_session ON firings (session, seq);
     CREATE TABLE records (
         place INTEGER PRIMARY KEY AUTOINCREMENT,
         key BLOB NOT NULL UNIQUE,
         firing INTEGER NOT NULL REFERENCES firings (seq) ON DELETE CASCADE,
         json TEXT NOT NULL
     ) STRICT;
     CREATE INDEX records_of_firing ON records (firing, place);"];

/// Why an operation on the database failed.
#[derive(Debug)]
pub(super) enum DatabaseFailure {
    Sqlite(rusqlite::Error),
    Io(io::Error),
    Ledger(LedgerError),
}

impl DatabaseFailure {
    /// Whether the file itself is damaged.
    pub(super) fn is_damage(&self) -> bool {
        let Self::Sqlite(error) = self else { return false };
        matches!(
            error.sqlite_error_code(),
            Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase)
        )
    }

    pub(super) fn into_ledger_error(self, doing: &str, path: &Path) -> LedgerError {
        match self {
            Self::Sqlite(error) => {
                LedgerError::new(error_kind(&error), format!("{doing} {}", path.display()), error)
            }
            Self::Io(error) => io_error(doing, path, &error),
            Self::Ledger(error) => error,
        }
    }
}

fn error_kind(error: &rusqlite::Error) -> LedgerErrorKind {
    match error.sqlite_error_code() {
        Some(ErrorCode::DiskFull) => LedgerErrorKind::StorageFull,
        Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => LedgerErrorKind::Corrupt,
        _ => LedgerErrorKind::Unavailable,
    }
}

impl From<rusqlite::Error> for DatabaseFailure {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sqlite(error)
    }
}

impl From<io::Error> for DatabaseFailure {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

impl From<LedgerError> for DatabaseFailure {
    fn from(error: LedgerError) -> Self {
        Self::Ledger(error)
    }
}

/// Opens the journal for writing.
pub(super) fn open_to_write(folder: &StateDir) -> Result<Connection, DatabaseFailure> {
    let connection = open_migrated(folder, DATABASE_FILE, DATABASE_TIMEOUT, &MIGRATIONS)?;
    connection.pragma_update_and_check(None, "journal_mode", "WAL", |_| Ok(()))?;
    Ok(connection)
}

/// Opens a database for writing, with private permissions and all migrations applied. There is one
/// migration for each released change, and `user_version` counts the applied ones.
pub(super) fn open_migrated(
    folder: &StateDir,
    file: &str,
    timeout: Duration,
    migrations: &[&str],
) -> Result<Connection, DatabaseFailure> {
    // SQLite would create the file with the mode of the umask. Its side files copy the mode.
    folder.open_private(file, OpenOptions::new().write(true).truncate(false))?;
    let mut connection = Connection::open(folder.path_of(file))?;
    connection.busy_timeout(timeout)?;
    // A caller relies on a commit, such as for the removal of the spool, so it must be on the disk.
    connection.pragma_update(None, "synchronous", "FULL")?;
    connection.pragma_update(None, "foreign_keys", true)?;
    apply_migrations(&mut connection, &folder.path_of(file), migrations)?;
    Ok(connection)
}

/// Adds records within one transaction.
pub(super) struct Importer<'t> {
    firing: Statement<'t>,
    record: Statement<'t>,
}

impl<'t> Importer<'t> {
    pub(super) fn new(transaction: &'t Transaction<'_>) -> rusqlite::Result<Self> {
        // An ignored insert would use up a sequence number. Readers rely on numbers without gaps
        // when they number the firings of the spool.
        let firing = "INSERT INTO firings (id, session, at) SELECT ?1, ?2, ?3
                      WHERE NOT EXISTS (SELECT 1 FROM firings WHERE id = ?1)";
        let record = "INSERT OR IGNORE INTO records (key, firing, json)
                      VALUES (?1, (SELECT seq FROM firings WHERE id = ?2), ?3)";
        Ok(Self { firing: transaction.prepare(firing)?, record: transaction.prepare(record)? })
    }

    /// Adds a record to its firing; false if it exists already.
    pub(super) fn add_record(&mut self, entry: &RecordLine) -> rusqlite::Result<bool> {
        let JournalRecord { id, session, at, .. } = &entry.record;
        let at = i64::try_from(*at).unwrap_or(i64::MAX);
        self.firing.execute(params![id, session, at])?;
        Ok(self.record.execute(params![entry.key, id, entry.json])? > 0)
    }
}

/// Removes firings beyond the limits on age, number and size. Returns how many.
pub(super) fn remove_beyond_limits(
    connection: &Connection,
    oldest: Duration,
    firings: u64,
    bytes: u64,
) -> rusqlite::Result<usize> {
    let oldest = i64::try_from(oldest.as_millis()).unwrap_or(i64::MAX);
    let mut removed = connection.execute("DELETE FROM firings WHERE at < ?1", [oldest])?;
    let over = "SELECT seq FROM firings ORDER BY seq DESC LIMIT 1 OFFSET ?1";
    let over: Option<i64> = connection
        .query_row(over, [i64::try_from(firings).unwrap_or(i64::MAX)], |row| row.get(0))
        .optional()?;
    if let Some(seq) = over {
        removed += connection.execute("DELETE FROM firings WHERE seq <= ?1", [seq])?;
    }

    while used_bytes(connection)? > bytes {
        let tenth = "DELETE FROM firings WHERE seq IN (SELECT seq FROM firings ORDER BY seq
                     LIMIT (SELECT count(*) / 10 + 1 FROM firings))";
        match connection.execute(tenth, [])? {
            0 => break,
            some => removed += some,
        }
    }
    Ok(removed)
}

/// Opens the database for reading; `None` if it does not exist.
pub(super) fn open_to_read(folder: &StateDir) -> Result<Option<Connection>, DatabaseFailure> {
    let path = folder.path_of(DATABASE_FILE);
    if !path.exists() {
        return Ok(None);
    }
    let flags = rusqlite::OpenFlags::SQLITE_OPEN_READ_ONLY;
    let plain = Connection::open_with_flags(&path, flags).and_then(check_readable);
    if let Ok(connection) = plain {
        return Ok(Some(connection));
    }

    // WAL needs side files, which SQLite cannot create in a read-only folder.
    let uri = flags | rusqlite::OpenFlags::SQLITE_OPEN_URI;
    let path = percent_encode(path.as_os_str().as_encoded_bytes(), b"/-_.");
    let address = format!("file:{path}?immutable=1");
    Ok(Some(Connection::open_with_flags(address, uri).and_then(check_readable)?))
}

/// The records of a firing, oldest first.
pub(super) fn records_of(
    connection: &Connection,
    seq: u64,
) -> rusqlite::Result<Vec<(RecordKey, JournalRecord)>> {
    let sql = "SELECT key, json FROM records WHERE firing = ?1 ORDER BY place";
    let mut statement = connection.prepare(sql)?;
    let rows = statement.query_map([seq.cast_signed()], |row| {
        let json: String = row.get(1)?;
        let record = serde_json::from_str(&json).map_err(|error| {
            let text = rusqlite::types::Type::Text;
            rusqlite::Error::FromSqlConversionFailure(1, text, Box::new(error))
        })?;
        Ok((row.get(0)?, record))
    })?;
    rows.collect()
}

fn check_readable(connection: Connection) -> rusqlite::Result<Connection> {
    connection.busy_timeout(DATABASE_TIMEOUT)?;
    connection.query_row("SELECT count(*) FROM firings LIMIT 1", [], |_| Ok(()))?;
    Ok(connection)
}

fn apply_migrations(
    connection: &mut Connection,
    path: &Path,
    migrations: &[&str],
) -> Result<(), DatabaseFailure> {
    if applied_migrations(connection)? == migrations.len() {
        return Ok(());
    }
    let transaction =
        connection.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
    let rung = applied_migrations(&transaction)?;
    let Some(above) = migrations.get(rung..) else {
        let why = "it was written by a newer gambrel; use that one, or move the file away";
        return Err(corrupt_error("opening", path, why).into());
    };
    for step in above {
        transaction.execute_batch(step)?;
    }
    transaction.pragma_update(None, "user_version", migrations.len() as i64)?;
    transaction.commit()?;
    Ok(())
}

fn applied_migrations(connection: &Connection) -> rusqlite::Result<usize> {
    let version = connection.pragma_query_value(None, "user_version", |row| row.get::<_, i64>(0));
    version.map(|version| usize::try_from(version).unwrap_or(usize::MAX))
}

fn used_bytes(connection: &Connection) -> rusqlite::Result<u64> {
    let sql = "SELECT (page_count - freelist_count) * page_size
               FROM pragma_page_count, pragma_freelist_count, pragma_page_size";
    connection.query_row(sql, [], |row| row.get::<_, i64>(0)).map(i64::unsigned_abs)
}
