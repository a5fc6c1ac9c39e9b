//! The spool: one file that every process appends to, rotated if it grows too large. An import
//! renames the spool and then waits for its writers, so that a writer never waits for an import.

use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, BufReader, ErrorKind, Read, Write};
use std::os::unix::fs::MetadataExt;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use gambrel_model::ledger::LedgerError;

use super::lock::{self, FileLock, LockKind};
use super::record_line::{self, RecordLine};
use super::state_dir::{Durable, StateDir, busy_error, io_error};

/// The file that records are appended to.
pub(super) const LIVE_FILE: &str = "spool.jsonl";
/// A full spool before its import.
pub(super) const FULL_FILE: &str = "spool.1.jsonl";
/// The spool during its import. Only the importing process uses it.
pub(super) const IMPORT_FILE: &str = "spool.taking.jsonl";
/// The lock for renaming the live spool.
const RENAME_LOCK: &str = "spool.lock";
/// The number of bytes of full spools that were dropped before their import.
const DROPPED_FILE: &str = "spool.dropped";
/// Maximum wait of a writer. Only a foreign process can hold the lock that long.
const WRITE_LOCK_TIMEOUT: Duration = Duration::from_millis(250);
/// How often a writer opens the spool again if it was renamed before the lock.
const MAX_ATTEMPTS: usize = 64;

/// The writer of the spool. The file stays open between records.
#[derive(Debug, Default)]
pub(super) struct SpoolWriter {
    file: Mutex<Option<SpoolFile>>,
}

/// An open spool, with its inode and device to detect that it was renamed.
#[derive(Debug)]
struct SpoolFile {
    file: File,
    inode: u64,
    device: u64,
}

impl SpoolFile {
    fn new(file: File) -> io::Result<Self> {
        let own = file.metadata()?;
        Ok(Self { inode: own.ino(), device: own.dev(), file })
    }
}

impl SpoolWriter {
    /// Appends whole lines with one write. True if the spool has grown by another `import` bytes,
    /// so that an import is due.
    pub(super) fn append_lines(
        &self,
        folder: &StateDir,
        lines: &[u8],
        cap: u64,
        import: u64,
    ) -> Result<bool, LedgerError> {
        let path = folder.path_of(LIVE_FILE);
        let mut kept = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        for _ in 0..MAX_ATTEMPTS {
            let open = match kept.take() {
                Some(open) => open,
                None => folder
                    .open_private(LIVE_FILE, OpenOptions::new().append(true))
                    .and_then(SpoolFile::new)
                    .map_err(|error| io_error("journalling to", &path, &error))?,
            };
            lock::acquire_lock(&open.file, LockKind::Shared, WRITE_LOCK_TIMEOUT, &path)?;
            let Some(size) = size_if_live(&open, folder) else { continue };
            if size >= cap && rotate_spool(&open, folder)? {
                continue;
            }

            let written = write_once(&open.file, lines);
            lock::release_lock(&open.file);
            *kept = Some(open);
            let grown = size.saturating_add(lines.len() as u64);
            let due = size / import.max(1) != grown / import.max(1);
            return written
                .map(|()| due)
                .map_err(|error| io_error("journalling to", &path, &error));
        }
        Err(busy_error("journalling to", &path, "other processes keep renaming it; try again"))
    }
}

/// Renames a spool for its import; false if it does not exist.
pub(super) fn claim_spool(folder: &StateDir, name: &str) -> Result<bool, LedgerError> {
    let _renaming = FileLock::wait(folder, RENAME_LOCK)?;
    folder.rename_file(name, IMPORT_FILE)
}

/// Subtracts reported bytes from the number of dropped bytes.
pub(super) fn subtract_dropped(folder: &StateDir, bytes: u64) -> Result<(), LedgerError> {
    if bytes == 0 {
        return Ok(());
    }
    let _renaming = FileLock::wait(folder, RENAME_LOCK)?;
    match dropped_bytes(folder)?.saturating_sub(bytes) {
        0 => folder.remove_file(DROPPED_FILE),
        more => folder.replace_file(DROPPED_FILE, more.to_string().as_bytes(), Durable::No),
    }
}

/// Waits for the writers of a renamed spool. Later writers check the name first, so the lock is
/// released at once.
pub(super) fn wait_for_writers(
    file: &File,
    folder: &StateDir,
    name: &str,
) -> Result<(), LedgerError> {
    lock::acquire_lock(file, LockKind::Exclusive, lock::LOCK_TIMEOUT, &folder.path_of(name))?;
    lock::release_lock(file);
    Ok(())
}

/// Passes every intact record to `each`. Returns the number of torn or changed lines.
pub(super) fn read_records<E: From<io::Error>>(
    file: File,
    mut each: impl FnMut(RecordLine) -> Result<(), E>,
) -> Result<u64, E> {
    let mut reader = BufReader::with_capacity(1 << 16, file);
    let mut line = Vec::new();
    let mut corrupt = 0;
    loop {
        line.clear();
        // A torn line may be followed by a whole one without a newline.
        if (&mut reader)
            .take(2 * record_line::MAX_LINE_BYTES as u64)
            .read_until(b'\n', &mut line)?
            == 0
        {
            return Ok(corrupt);
        }
        let text = line.strip_suffix(b"\n").unwrap_or(&line);
        let (entry, lost) = record_line::decode_line(text);
        corrupt += u64::from(lost);
        if let Some(entry) = entry {
            each(entry)?;
        }
    }
}

fn size_if_live(open: &SpoolFile, folder: &StateDir) -> Option<u64> {
    let live = std::fs::metadata(folder.path_of(LIVE_FILE)).ok()?;
    (open.inode == live.ino() && open.device == live.dev()).then_some(live.len())
}

pub(super) fn write_once(mut file: &File, line: &[u8]) -> io::Result<()> {
    loop {
        return match file.write(line) {
            Ok(written) if written == line.len() => Ok(()),
            // Another writer may have appended in the meantime, so the rest cannot follow.
            Ok(written) => {
                let why = format!("only {written} of {} bytes were written", line.len());
                Err(io::Error::new(ErrorKind::StorageFull, why))
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            Err(error) => Err(error),
        };
    }
}

/// Renames a full spool; false if another process does so. An older full spool is dropped, after
/// its bytes are counted.
fn rotate_spool(open: &SpoolFile, folder: &StateDir) -> Result<bool, LedgerError> {
    let path = folder.path_of(LIVE_FILE);
    let renaming = FileLock::try_lock(folder, RENAME_LOCK)
        .map_err(|error| io_error("setting aside", &path, &error))?;
    if renaming.is_none() || size_if_live(open, folder).is_none() {
        return Ok(false);
    }
    if let Ok(older) = std::fs::metadata(folder.path_of(FULL_FILE)) {
        let total = dropped_bytes(folder)?.saturating_add(older.len());
        folder.replace_file(DROPPED_FILE, total.to_string().as_bytes(), Durable::No)?;
    }
    folder.rename_file(LIVE_FILE, FULL_FILE)
}

/// The number of dropped bytes that are not reported yet.
pub(super) fn dropped_bytes(folder: &StateDir) -> Result<u64, LedgerError> {
    let Some(file) = folder.open_existing(DROPPED_FILE)? else { return Ok(0) };
    // An unreadable count still means that something was dropped.
    Ok(folder.read_text(DROPPED_FILE, file)?.trim().parse().unwrap_or(1))
}
