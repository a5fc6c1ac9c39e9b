//! Messages and halts that could not be written into the files of their session. Each is a file of
//! its own in a folder of that session, so that writing one needs no lock. The next change of the
//! session takes them in and removes them. It knows files and how they fail, not what is delivered.

use std::collections::BTreeMap;
use std::fs::OpenOptions;
use std::io::{ErrorKind, Write};
use std::time::{SystemTime, UNIX_EPOCH};

use gambrel_model::ledger::{LedgerError, SessionState, Undelivered};
use sha2::{Digest, Sha256};

use super::folder::{Folder, refusal, trouble};
use crate::redact::{Redactor, veil_state};

const FOLDER: &str = "side-entries";
const ENDING: &str = ".json";
/// So many messages may wait in side entries of one session.
const MAX_MESSAGE_COUNT: usize = 200;
/// Halts are stored beyond that, up to this number of files.
const MAX_ENTRY_COUNT: usize = 250;

/// The side entries of one session.
#[derive(Debug)]
pub(super) struct SideEntries {
    folder: String,
}

/// What was read, oldest first.
#[derive(Debug, Default)]
pub(super) struct SideRead {
    /// By the name of its file.
    pub debts: BTreeMap<String, Undelivered>,
    /// What could not be read: nobody knows whether it is a halt.
    pub trouble: Option<LedgerError>,
}

impl SideEntries {
    pub(super) fn of(stem: &str) -> Self {
        Self { folder: format!("{FOLDER}/{stem}") }
    }

    /// Stores one entry. Readers see the whole of it or nothing.
    pub(super) fn write(
        &self,
        folder: &Folder,
        redactor: &Redactor,
        debt: &Undelivered,
    ) -> Result<(), LedgerError> {
        let stem = format!("{}/{}", self.folder, entry_name(debt));
        let (name, unfinished) = (format!("{stem}{ENDING}"), format!("{stem}.tmp"));
        let path = folder.path(&name);
        self.check_room(folder, debt)?;
        let state = SessionState { undelivered: vec![debt.clone()], ..SessionState::default() };
        let bytes = veil_state(&state, redactor)
            .and_then(|value| serde_json::to_vec(&value))
            .map_err(|error| refusal("writing", &path, error))?;
        let options = OpenOptions::new().write(true).create_new(true).clone();
        let written = folder.open(&unfinished, &options).and_then(|mut file| {
            file.write_all(&bytes)?;
            if debt.is_halt() { file.sync_all() } else { Ok(()) }
        });
        let written =
            written.and_then(|()| std::fs::rename(folder.path(&unfinished), folder.path(&name)));
        written.map_err(|error| {
            // What is half written only takes room on a disk that may be full.
            let _ = std::fs::remove_file(folder.path(&unfinished));
            trouble("writing", &path, &error)
        })
    }

    fn check_room(&self, folder: &Folder, debt: &Undelivered) -> Result<(), LedgerError> {
        let max = if debt.is_halt() { MAX_ENTRY_COUNT } else { MAX_MESSAGE_COUNT };
        let count = self.names(folder)?.len();
        if count < max {
            return Ok(());
        }
        let why = format!("{count} entries wait there; end the process that locks the session");
        Err(refusal("writing", &folder.path(&self.folder), why))
    }

    pub(super) fn read(&self, folder: &Folder) -> SideRead {
        let mut read = SideRead::default();
        let names = self.names(folder).unwrap_or_else(|error| {
            read.trouble = Some(error);
            Vec::new()
        });
        for name in names {
            match self.read_one(folder, &name) {
                Ok(Some(debt)) => drop(read.debts.insert(name, debt)),
                // Somebody has just taken it in.
                Ok(None) => {}
                Err(error) => read.trouble = Some(error),
            }
        }
        read
    }

    /// Removes entries that were taken in.
    pub(super) fn remove(&self, folder: &Folder, read: &SideRead) -> Result<(), LedgerError> {
        for name in read.debts.keys() {
            folder.remove(&format!("{}/{name}", self.folder))?;
        }
        if !read.debts.is_empty() {
            // It stays where another process has just written into it.
            let _ = std::fs::remove_dir(folder.path(&self.folder));
        }
        Ok(())
    }

    /// Removes everything, whatever is in it.
    pub(super) fn remove_all(&self, folder: &Folder) -> Result<(), LedgerError> {
        let path = folder.path(&self.folder);
        match std::fs::remove_dir_all(&path) {
            Err(error) if error.kind() != ErrorKind::NotFound => {
                Err(trouble("removing", &path, &error))
            }
            _ => Ok(()),
        }
    }

    /// The folder's path below the state folder.
    pub(super) fn folder(&self) -> &str {
        &self.folder
    }

    /// Names of whole entries. Mostly there is no folder, which costs one look.
    fn names(&self, folder: &Folder) -> Result<Vec<String>, LedgerError> {
        let path = folder.path(&self.folder);
        let trouble = |error: std::io::Error| trouble("reading", &path, &error);
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

    fn read_one(&self, folder: &Folder, name: &str) -> Result<Option<Undelivered>, LedgerError> {
        let name = format!("{}/{name}", self.folder);
        let Some(file) = folder.existing(&name)? else { return Ok(None) };
        let text = folder.text_of(&name, file)?;
        let state: Option<SessionState> = serde_json::from_str(&text).ok();
        let debt = state.and_then(|mut state| state.undelivered.pop());
        let why = "it is not a message of a hook; look into it, then remove it";
        debt.map(Some).ok_or_else(|| refusal("reading", &folder.path(&name), why))
    }
}

/// The stems of all sessions that have side entries.
pub(super) fn stems(folder: &Folder) -> Vec<String> {
    let Ok(entries) = std::fs::read_dir(folder.path(FOLDER)) else { return Vec::new() };
    entries.flatten().filter_map(|entry| entry.file_name().into_string().ok()).collect()
}

/// Sorted by time, and never the same for two entries.
fn entry_name(debt: &Undelivered) -> String {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let hash: [u8; 32] = Sha256::digest(debt.id.as_bytes()).into();
    let short: String = hash.iter().take(8).map(|byte| format!("{byte:02x}")).collect();
    format!("{:016x}-{short}", now.as_micros())
}
