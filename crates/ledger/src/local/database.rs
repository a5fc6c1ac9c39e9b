//! The journal at rest, in SQLite. Knows rows; neither spool files nor what records mean.

use std::fs::OpenOptions;
use std::io;
use std::path::Path;
use std::time::Duration;

use gambrel_model::ledger::{JournalRecord, LedgerError};
use rusqlite::{Connection, ErrorCode, OptionalExtension, Statement, Transaction, params};

use super::folder::{Folder, refusal, trouble};
use super::line::{Entry, Key};

pub(super) const FILE: &str = "ledger.db";
/// Shorter than a lock's, because both may be waited for in turn.
const PATIENCE: Duration = Duration::from_millis(900);

/// One step up per released change; `user_version` tells how many were taken.
const LADDER: [&str; 1] = ["CREATE TABLE firings (
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

/// Why something with the database did not work.
#[derive(Debug)]
pub(super) enum Failure {
    Store(rusqlite::Error),
    Io(io::Error),
    Said(LedgerError),
}

impl Failure {
    /// The file itself is damaged: nothing will ever work with it.
    pub(super) fn is_damage(&self) -> bool {
        let Self::Store(error) = self else { return false };
        matches!(
            error.sqlite_error_code(),
            Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase)
        )
    }

    pub(super) fn said(self, doing: &str, path: &Path) -> LedgerError {
        match self {
            Self::Store(error) => refusal(doing, path, error),
            Self::Io(error) => trouble(doing, path, &error),
            Self::Said(error) => error,
        }
    }
}

impl From<rusqlite::Error> for Failure {
    fn from(error: rusqlite::Error) -> Self {
        Self::Store(error)
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

impl From<LedgerError> for Failure {
    fn from(error: LedgerError) -> Self {
        Self::Said(error)
    }
}

/// Opens the database for writing, private and at the top of the ladder.
pub(super) fn open(folder: &Folder) -> Result<Connection, Failure> {
    // SQLite would make it with the umask's mode; its own side files copy the mode of this one.
    folder.open(FILE, OpenOptions::new().write(true).truncate(false))?;
    let mut connection = Connection::open(folder.path(FILE))?;
    connection.busy_timeout(PATIENCE)?;
    connection.pragma_update_and_check(None, "journal_mode", "WAL", |_| Ok(()))?;
    // The spool is removed after the commit, so the commit has to be on the disk.
    connection.pragma_update(None, "synchronous", "FULL")?;
    connection.pragma_update(None, "foreign_keys", true)?;
    climb(&mut connection, &folder.path(FILE))?;
    Ok(connection)
}

/// Adds records within one transaction.
pub(super) struct Intake<'t> {
    firing: Statement<'t>,
    record: Statement<'t>,
}

impl<'t> Intake<'t> {
    pub(super) fn new(transaction: &'t Transaction<'_>) -> rusqlite::Result<Self> {
        // An ignored insert would use up a place all the same, and readers count on there
        // being no gaps when they number what is still in the spool.
        let firing = "INSERT INTO firings (id, session, at) SELECT ?1, ?2, ?3
                      WHERE NOT EXISTS (SELECT 1 FROM firings WHERE id = ?1)";
        let record = "INSERT OR IGNORE INTO records (key, firing, json)
                      VALUES (?1, (SELECT seq FROM firings WHERE id = ?2), ?3)";
        Ok(Self { firing: transaction.prepare(firing)?, record: transaction.prepare(record)? })
    }

    /// Adds a record to its firing; false when it was there already.
    pub(super) fn add(&mut self, entry: &Entry) -> rusqlite::Result<bool> {
        let JournalRecord { id, session, at, .. } = &entry.record;
        let at = i64::try_from(*at).unwrap_or(i64::MAX);
        self.firing.execute(params![id, session, at])?;
        Ok(self.record.execute(params![entry.key, id, entry.json])? > 0)
    }
}

/// Removes firings that are too old, too many or too large; tells how many.
pub(super) fn retain(
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

/// Opens what is there for reading only; `None` when there is no database.
pub(super) fn open_to_read(folder: &Folder) -> Result<Option<Connection>, Failure> {
    let path = folder.path(FILE);
    if !path.exists() {
        return Ok(None);
    }
    let flags = rusqlite::OpenFlags::SQLITE_OPEN_READ_ONLY;
    let plain = Connection::open_with_flags(&path, flags).and_then(readable);
    if let Ok(connection) = plain {
        return Ok(Some(connection));
    }
    // A folder that cannot be written has no room for the side files that WAL needs.
    let uri = flags | rusqlite::OpenFlags::SQLITE_OPEN_URI;
    let address = format!("file:{}?immutable=1", percent_encoded(&path));
    Ok(Some(Connection::open_with_flags(address, uri).and_then(readable)?))
}

/// Every record of a firing, in the order in which they came.
pub(super) fn records_of(
    connection: &Connection,
    seq: u64,
) -> rusqlite::Result<Vec<(Key, JournalRecord)>> {
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

fn readable(connection: Connection) -> rusqlite::Result<Connection> {
    connection.busy_timeout(PATIENCE)?;
    connection.query_row("SELECT count(*) FROM firings LIMIT 1", [], |_| Ok(()))?;
    Ok(connection)
}

fn climb(connection: &mut Connection, path: &Path) -> Result<(), Failure> {
    let transaction =
        connection.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
    let rung: usize = transaction
        .pragma_query_value(None, "user_version", |row| row.get::<_, i64>(0))
        .map(|version| usize::try_from(version).unwrap_or(usize::MAX))?;
    let Some(above) = LADDER.get(rung..) else {
        let why = "it was written by a newer gambrel; use that one, or move the file away";
        return Err(refusal("opening", path, why).into());
    };
    for step in above {
        transaction.execute_batch(step)?;
    }
    transaction.pragma_update(None, "user_version", LADDER.len() as i64)?;
    transaction.commit()?;
    Ok(())
}

fn used_bytes(connection: &Connection) -> rusqlite::Result<u64> {
    let sql = "SELECT (page_count - freelist_count) * page_size
               FROM pragma_page_count, pragma_freelist_count, pragma_page_size";
    connection.query_row(sql, [], |row| row.get::<_, i64>(0)).map(i64::unsigned_abs)
}

fn percent_encoded(path: &Path) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/-_.".contains(&byte);
    path.as_os_str()
        .as_encoded_bytes()
        .iter()
        .map(|byte| match *byte {
            byte if plain(byte) => char::from(byte).to_string(),
            byte => format!("%{byte:02X}"),
        })
        .collect()
}
