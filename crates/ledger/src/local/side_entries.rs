//! Messages and halts that could not be written into the files of their session. Each has its own
//! file in a folder of that session, so that writing one needs no lock. The next change of the
//! session merges and removes them.

use std::collections::BTreeMap;
use std::fs::OpenOptions;
use std::io::{ErrorKind, Write};
use std::time::{SystemTime, UNIX_EPOCH};

use gambrel_model::ledger::{LedgerError, LedgerResult, SessionState, Undelivered};
use gambrel_model::to_hex;

use super::state_dir::{StateDir, busy_error, corrupt_error, io_error, refused_error};
use crate::redact::{Redactor, redact_state};

const SIDE_ENTRIES_DIR: &str = "side-entries";
const ENDING: &str = ".json";
/// Maximum number of side entries of one session for messages.
const MAX_MESSAGE_COUNT: usize = 200;
/// Maximum number of side entries of one session for halts.
const MAX_ENTRY_COUNT: usize = 250;

/// The side entries of one session.
#[derive(Debug)]
pub(super) struct SideEntries {
    folder: String,
}

/// The side entries that were read, oldest first.
#[derive(Debug, Default)]
pub(super) struct SideRead {
    /// The entries by file name.
    pub entries: BTreeMap<String, Undelivered>,
    /// An error if an entry could not be read. It may be a halt.
    pub trouble: Option<LedgerError>,
}

impl SideEntries {
    pub(super) fn new(stem: &str) -> Self {
        Self { folder: format!("{SIDE_ENTRIES_DIR}/{stem}") }
    }

    /// Stores one entry atomically.
    pub(super) fn write_entry(
        &self,
        folder: &StateDir,
        redactor: &Redactor,
        entry: &Undelivered,
    ) -> LedgerResult {
        let stem = format!("{}/{}", self.folder, entry_name(entry));
        let (name, unfinished) = (format!("{stem}{ENDING}"), format!("{stem}.tmp"));
        let path = folder.path_of(&name);
        self.check_entry_count(folder, entry)?;

        let state = SessionState { undelivered: vec![entry.clone()], ..SessionState::default() };
        let bytes = redact_state(&state, redactor)
            .and_then(|value| serde_json::to_vec(&value))
            .map_err(|error| refused_error("writing", &path, error))?;

        let options = OpenOptions::new().write(true).create_new(true).clone();
        let written = folder.open_private(&unfinished, &options).and_then(|mut file| {
            file.write_all(&bytes)?;
            if entry.is_halt() { file.sync_all() } else { Ok(()) }
        });
        let written = written
            .and_then(|()| std::fs::rename(folder.path_of(&unfinished), folder.path_of(&name)));
        written.map_err(|error| {
            // Frees the space of the incomplete file, because the disk may be full.
            let _ = std::fs::remove_file(folder.path_of(&unfinished));
            io_error("writing", &path, &error)
        })
    }

    fn check_entry_count(&self, folder: &StateDir, entry: &Undelivered) -> LedgerResult {
        let max = if entry.is_halt() { MAX_ENTRY_COUNT } else { MAX_MESSAGE_COUNT };
        let count = self.entry_names(folder)?.len();
        if count < max {
            return Ok(());
        }
        let why = format!("{count} entries wait there; end the process that locks the session");
        Err(busy_error("writing", &folder.path_of(&self.folder), why))
    }

    pub(super) fn read_entries(&self, folder: &StateDir) -> SideRead {
        let mut read = SideRead::default();
        let names = self.entry_names(folder).unwrap_or_else(|error| {
            read.trouble = Some(error);
            Vec::new()
        });
        for name in names {
            match self.read_entry(folder, &name) {
                Ok(Some(entry)) => drop(read.entries.insert(name, entry)),
                // Another process has just merged it.
                Ok(None) => {}
                Err(error) => read.trouble = Some(error),
            }
        }
        read
    }

    /// Removes entries that were merged.
    pub(super) fn remove_merged(&self, folder: &StateDir, read: &SideRead) -> LedgerResult {
        for name in read.entries.keys() {
            folder.remove_file(&format!("{}/{name}", self.folder))?;
        }
        if !read.entries.is_empty() {
            // Fails if another process has just added an entry.
            let _ = std::fs::remove_dir(folder.path_of(&self.folder));
        }
        Ok(())
    }

    /// Removes the folder with all its content.
    pub(super) fn remove_all(&self, folder: &StateDir) -> LedgerResult {
        let path = folder.path_of(&self.folder);
        match std::fs::remove_dir_all(&path) {
            Err(error) if error.kind() != ErrorKind::NotFound => {
                Err(io_error("removing", &path, &error))
            }
            _ => Ok(()),
        }
    }

    /// The folder's path below the state folder.
    pub(super) fn folder(&self) -> &str {
        &self.folder
    }

    /// The names of complete entries. Mostly the folder does not exist.
    fn entry_names(&self, folder: &StateDir) -> LedgerResult<Vec<String>> {
        let path = folder.path_of(&self.folder);
        let trouble = |error: std::io::Error| io_error("reading", &path, &error);
        let entries = match std::fs::read_dir(&path) {
            Ok(entries) => entries,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(trouble(error)),
        };
        let mut names = Vec::new();
        for entry in entries {
            let name = entry.map_err(trouble)?.file_name().to_string_lossy().into_owned();
            if name.ends_with(ENDING) {
                names.push(name);
            }
        }
        Ok(names)
    }

    fn read_entry(&self, folder: &StateDir, name: &str) -> LedgerResult<Option<Undelivered>> {
        let name = format!("{}/{name}", self.folder);
        let Some(file) = folder.open_existing(&name)? else { return Ok(None) };
        let text = folder.read_text(&name, file)?;
        let state: Option<SessionState> = serde_json::from_str(&text).ok();
        let entry = state.and_then(|mut state| state.undelivered.pop());
        let why = "it is not a message of a hook; look into it, then remove it";
        entry.map(Some).ok_or_else(|| corrupt_error("reading", &folder.path_of(&name), why))
    }
}

/// The file name stems of all sessions with side entries.
pub(super) fn session_stems(folder: &StateDir) -> Vec<String> {
    let Ok(entries) = std::fs::read_dir(folder.path_of(SIDE_ENTRIES_DIR)) else {
        return Vec::new();
    };
    entries.flatten().filter_map(|entry| entry.file_name().into_string().ok()).collect()
}

/// A unique file name of an entry, sorted by time.
fn entry_name(entry: &Undelivered) -> String {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let hash = gambrel_model::sha256(&entry.id);
    let short = to_hex(&hash[..8]);
    format!("{:016x}-{short}", now.as_micros())
}
