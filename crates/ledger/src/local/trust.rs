//! The trust file: which project hooks the user allowed. A file that is unreadable, or writable by
//! other users, is an error and trusts nothing.

use std::collections::BTreeMap;
use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use gambrel_model::ledger::{LedgerError, TrustEntry};

use super::lock::FileLock;
use super::state_dir::{Durable, StateDir, corrupt_error, io_error, refused_error};
use crate::redact::Redactor;

const TRUST_FILE: &str = "trust.json";
const TRUST_LOCK: &str = "trust.lock";
const OTHERS_MAY_WRITE: u32 = 0o022;
const STICKY: u32 = 0o1000;
const ANYBODY_MAY_WRITE: u32 = 0o002;

/// Reads all entries; empty without a file.
pub(super) fn read_entries(folder: &StateDir) -> Result<BTreeMap<String, TrustEntry>, LedgerError> {
    let Some(file) = folder.open_existing(TRUST_FILE)? else { return Ok(BTreeMap::new()) };
    let path = folder.path_of(TRUST_FILE);
    let about = file.metadata().map_err(|error| io_error("reading", &path, &error))?;
    refuse_if_shared(&path, &about)?;
    let text = folder.read_text(TRUST_FILE, file)?;
    serde_json::from_str(&text).map_err(|error| {
        let why = format!("it is malformed ({error}); nothing is trusted until it is repaired");
        corrupt_error("reading", &path, why)
    })
}

/// Changes the entries under a lock.
pub(super) fn update_entries(
    folder: &StateDir,
    redactor: &Redactor,
    change: &mut dyn FnMut(&mut BTreeMap<String, TrustEntry>),
) -> Result<(), LedgerError> {
    let _held = FileLock::wait(folder, TRUST_LOCK)?;
    let before = read_entries(folder)?;
    let mut entries = before.clone();
    change(&mut entries);
    for entry in entries.values_mut() {
        entry.shown = redactor.redact_text(&entry.shown).into_owned();
    }
    if entries == before {
        return Ok(());
    }
    let bytes = serde_json::to_vec_pretty(&entries)
        .map_err(|error| refused_error("writing", &folder.path_of(TRUST_FILE), error))?;
    folder.replace_file(TRUST_FILE, &bytes, Durable::Yes)
}

/// Refuses a file that another user can change or replace: that user could trust any hook.
fn refuse_if_shared(path: &Path, about: &Metadata) -> Result<(), LedgerError> {
    let shown = path.display();
    if about.mode() & OTHERS_MAY_WRITE != 0 {
        let why = format!("others may write to it; look through it, then run: chmod 600 '{shown}'");
        return Err(corrupt_error("reading", path, why));
    }
    let me = rustix::process::geteuid().as_raw();
    if about.uid() != me && about.uid() != 0 {
        let why = format!("it belongs to user {}, not to you ({me})", about.uid());
        return Err(corrupt_error("reading", path, why));
    }
    let Some(above) = path.parent() else { return Ok(()) };
    let mode = std::fs::metadata(above).map_err(|error| io_error("reading", above, &error))?.mode();
    if mode & ANYBODY_MAY_WRITE != 0 && mode & STICKY == 0 {
        let why = format!("anybody may write there; run: chmod 700 '{}'", above.display());
        return Err(corrupt_error("reading", above, why));
    }
    Ok(())
}
