//! The journal on its way: one file that every process appends to, set aside when it grows too
//! large. Who takes it in renames it first and then waits for the writers that are still at it,
//! so nobody ever waits for a reader.

use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, BufReader, ErrorKind, Read, Write};
use std::os::unix::fs::MetadataExt;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use gambrel_model::ledger::LedgerError;

use super::folder::{Durable, Folder, refusal, trouble};
use super::line::{self, Entry};
use super::lock::{self, Held, Kind};

/// Where records are appended.
pub(super) const LIVE: &str = "spool.jsonl";
/// A full spool that nobody has taken in yet.
pub(super) const FULL: &str = "spool.1.jsonl";
/// What is being taken in; belongs to the one process whose turn it is.
pub(super) const TAKING: &str = "spool.taking.jsonl";
/// Held while the live spool is renamed.
const RENAMING: &str = "spool.lock";
/// Counts the bytes of full spools that were dropped untaken.
const DROPPED: &str = "spool.dropped";
/// A writer only ever waits for a stranger's lock.
const PATIENCE: Duration = Duration::from_millis(250);
/// A spool may be renamed between opening and locking it, but hardly many times in a row.
const TRIES: usize = 64;

/// The writing end, kept open between records.
#[derive(Debug, Default)]
pub(super) struct Spool {
    file: Mutex<Option<Kept>>,
}

/// An open spool and what it was when it was opened: a renamed one is known by that.
#[derive(Debug)]
struct Kept {
    file: File,
    inode: u64,
    device: u64,
}

impl Kept {
    fn new(file: File) -> io::Result<Self> {
        let own = file.metadata()?;
        Ok(Self { inode: own.ino(), device: own.dev(), file })
    }
}

impl Spool {
    /// Appends whole lines with one write. True when the spool has grown by another `import`
    /// bytes, so that it is time to import it.
    pub(super) fn append(
        &self,
        folder: &Folder,
        lines: &[u8],
        cap: u64,
        import: u64,
    ) -> Result<bool, LedgerError> {
        let path = folder.path(LIVE);
        let mut kept = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        for _ in 0..TRIES {
            let open = match kept.take() {
                Some(open) => open,
                None => folder
                    .open(LIVE, OpenOptions::new().append(true))
                    .and_then(Kept::new)
                    .map_err(|error| trouble("journalling to", &path, &error))?,
            };
            lock::acquire(&open.file, Kind::Shared, PATIENCE, &path)?;
            let Some(size) = size_if_live(&open, folder) else { continue };
            if size >= cap && set_aside(&open, folder)? {
                continue;
            }
            let written = write_once(&open.file, lines);
            lock::release(&open.file);
            *kept = Some(open);
            let grown = size.saturating_add(lines.len() as u64);
            let due = size / import.max(1) != grown / import.max(1);
            return written.map(|()| due).map_err(|error| trouble("journalling to", &path, &error));
        }
        Err(refusal("journalling to", &path, "it was renamed again and again"))
    }
}

/// Takes a spool away under the name `TAKING`, while no writer renames it; false when there is
/// none.
pub(super) fn claim(folder: &Folder, name: &str) -> Result<bool, LedgerError> {
    let _renaming = Held::wait(folder, RENAMING)?;
    folder.rename(name, TAKING)
}

/// Takes bytes off the count of those that were dropped, once somebody knows of them.
pub(super) fn forget_dropped(folder: &Folder, bytes: u64) -> Result<(), LedgerError> {
    if bytes == 0 {
        return Ok(());
    }
    let _renaming = Held::wait(folder, RENAMING)?;
    match dropped(folder)?.saturating_sub(bytes) {
        0 => folder.remove(DROPPED),
        more => folder.replace(DROPPED, more.to_string().as_bytes(), Durable::No),
    }
}

/// Waits until no writer is in the midst of a line of this renamed spool. Later ones find that
/// it was renamed before they write, so the lock need not be kept.
pub(super) fn settle(file: &File, folder: &Folder, name: &str) -> Result<(), LedgerError> {
    lock::acquire(file, Kind::Exclusive, lock::PATIENCE, &folder.path(name))?;
    lock::release(file);
    Ok(())
}

/// Hands every whole record to `each`; returns how many lines were torn or changed.
pub(super) fn read<E: From<io::Error>>(
    file: File,
    mut each: impl FnMut(Entry) -> Result<(), E>,
) -> Result<u64, E> {
    let mut reader = BufReader::with_capacity(1 << 16, file);
    let mut line = Vec::new();
    let mut corrupt = 0;
    loop {
        line.clear();
        // Room for a torn line with a whole one glued to it.
        if (&mut reader).take(2 * line::LONGEST as u64).read_until(b'\n', &mut line)? == 0 {
            return Ok(corrupt);
        }
        let text = line.strip_suffix(b"\n").unwrap_or(&line);
        let (entry, lost) = line::decode(text);
        corrupt += u64::from(lost);
        if let Some(entry) = entry {
            each(entry)?;
        }
    }
}

fn size_if_live(open: &Kept, folder: &Folder) -> Option<u64> {
    let live = std::fs::metadata(folder.path(LIVE)).ok()?;
    (open.inode == live.ino() && open.device == live.dev()).then_some(live.len())
}

fn write_once(mut file: &File, line: &[u8]) -> io::Result<()> {
    loop {
        return match file.write(line) {
            Ok(written) if written == line.len() => Ok(()),
            // The rest may not follow: another writer's line may already stand there.
            Ok(written) => {
                let why = format!("only {written} of {} bytes were written", line.len());
                Err(io::Error::new(ErrorKind::StorageFull, why))
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            Err(error) => Err(error),
        };
    }
}

/// Renames a full spool; false when somebody else is at it. An older full one is dropped, and
/// counted first, so that it is never dropped in silence.
fn set_aside(open: &Kept, folder: &Folder) -> Result<bool, LedgerError> {
    let path = folder.path(LIVE);
    let renaming =
        Held::at_once(folder, RENAMING).map_err(|error| trouble("setting aside", &path, &error))?;
    if renaming.is_none() || size_if_live(open, folder).is_none() {
        return Ok(false);
    }
    if let Ok(older) = std::fs::metadata(folder.path(FULL)) {
        let total = dropped(folder)?.saturating_add(older.len());
        folder.replace(DROPPED, total.to_string().as_bytes(), Durable::No)?;
    }
    folder.rename(LIVE, FULL)
}

/// How many bytes were dropped that nobody knows of.
pub(super) fn dropped(folder: &Folder) -> Result<u64, LedgerError> {
    let Some(file) = folder.existing(DROPPED)? else { return Ok(0) };
    // A count that cannot be read still says that something was dropped.
    Ok(folder.text_of(DROPPED, file)?.trim().parse().unwrap_or(1))
}
