//! What a person said of project hooks. A file that others may write, or that cannot be read,
//! is an error and never an answer.

use std::collections::BTreeMap;
use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use gambrel_model::ledger::{LedgerError, TrustEntry};

use super::folder::{Durable, Folder, refusal, trouble};
use super::lock::Held;
use crate::redact::Redactor;

const FILE: &str = "trust.json";
const LOCK: &str = "trust.lock";
const OTHERS_MAY_WRITE: u32 = 0o022;
const STICKY: u32 = 0o1000;
const ANYBODY_MAY_WRITE: u32 = 0o002;

/// Every entry; none when there is no file.
pub(super) fn read(folder: &Folder) -> Result<BTreeMap<String, TrustEntry>, LedgerError> {
    let Some(file) = folder.existing(FILE)? else { return Ok(BTreeMap::new()) };
    let path = folder.path(FILE);
    let about = file.metadata().map_err(|error| trouble("reading", &path, &error))?;
    refuse_if_shared(&path, &about)?;
    let text = folder.text_of(FILE, file)?;
    serde_json::from_str(&text).map_err(|error| {
        let why = format!("it is malformed ({error}); nothing is trusted until it is repaired");
        refusal("reading", &path, why)
    })
}

/// Changes the entries while nobody else does.
pub(super) fn amend(
    folder: &Folder,
    redactor: &Redactor,
    change: &mut dyn FnMut(&mut BTreeMap<String, TrustEntry>),
) -> Result<(), LedgerError> {
    let _held = Held::wait(folder, LOCK)?;
    let before = read(folder)?;
    let mut entries = before.clone();
    change(&mut entries);
    for entry in entries.values_mut() {
        entry.shown = redactor.redact_text(&entry.shown).into_owned();
    }
    if entries == before {
        return Ok(());
    }
    let bytes = serde_json::to_vec_pretty(&entries)
        .map_err(|error| refusal("writing", &folder.path(FILE), error))?;
    folder.replace(FILE, &bytes, Durable::Yes)
}

/// Who may write the file, or put another in its place, could trust his own hooks in our name.
fn refuse_if_shared(path: &Path, about: &Metadata) -> Result<(), LedgerError> {
    let shown = path.display();
    if about.mode() & OTHERS_MAY_WRITE != 0 {
        let why = format!("others may write to it; look through it, then run: chmod 600 '{shown}'");
        return Err(refusal("reading", path, why));
    }
    let me = rustix::process::geteuid().as_raw();
    if about.uid() != me && about.uid() != 0 {
        let why = format!("it belongs to user {}, not to you ({me})", about.uid());
        return Err(refusal("reading", path, why));
    }
    let Some(above) = path.parent() else { return Ok(()) };
    let mode = std::fs::metadata(above).map_err(|error| trouble("reading", above, &error))?.mode();
    if mode & ANYBODY_MAY_WRITE != 0 && mode & STICKY == 0 {
        let why = format!("anybody may write there; run: chmod 700 '{}'", above.display());
        return Err(refusal("reading", above, why));
    }
    Ok(())
}
