//! The trust file: which project hooks the user allowed. A file that is unreadable, or writable by
//! other users, is an error and trusts nothing. Beside it are copies of small trusted files, named by
//! their hash, so that gambrel can show what changed since. Trust itself does not depend on them.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use gambrel_model::ledger::{LedgerResult, TrustEntries, TrustStore};

use super::LocalLedger;
use super::lock::FileLock;
use super::state_dir::{Durable, corrupt_error, io_error, refused_error};

const TRUST_FILE: &str = "trust.json";
const TRUST_LOCK: &str = "trust.lock";
const OTHERS_MAY_WRITE: u32 = 0o022;
const STICKY: u32 = 0o1000;
const ANYBODY_MAY_WRITE: u32 = 0o002;
const TEXTS_DIR: &str = "trusted-text";
/// Maximum size of a copied file.
const MAX_TEXT_BYTES: usize = 64 << 10;
/// Maximum size of all copies together.
const MAX_TOTAL_BYTES: u64 = 16 << 20;

impl TrustStore for LocalLedger {
    /// Reads all entries; empty without a file.
    fn trust_entries(&self) -> LedgerResult<TrustEntries> {
        let Some(file) = self.folder.open_existing(TRUST_FILE)? else { return Ok(BTreeMap::new()) };
        let path = self.folder.path_of(TRUST_FILE);
        let about = file.metadata().map_err(|error| io_error("reading", &path, &error))?;
        refuse_if_shared(&path, &about)?;
        let text = self.folder.read_text(TRUST_FILE, file)?;
        serde_json::from_str(&text).map_err(|error| {
            let why = format!("it is malformed ({error}); nothing is trusted until it is repaired");
            corrupt_error("reading", &path, why)
        })
    }

    /// Changes the entries under a lock.
    fn update_trust(&self, change: &mut dyn FnMut(&mut TrustEntries)) -> LedgerResult {
        let _held = FileLock::wait(&self.folder, TRUST_LOCK)?;
        let before = self.trust_entries()?;
        let mut entries = before.clone();
        change(&mut entries);
        for entry in entries.values_mut() {
            entry.shown = self.redactor.redact_text(&entry.shown).into_owned();
        }
        if entries == before {
            return Ok(());
        }
        let bytes = serde_json::to_vec_pretty(&entries)
            .map_err(|error| refused_error("writing", &self.folder.path_of(TRUST_FILE), error))?;
        self.folder.replace_file(TRUST_FILE, &bytes, Durable::Yes)
    }

    /// Stores the text of files by their hashes. Removes copies that are not in use first.
    fn keep_trusted_texts(&self, texts: &[(&str, &[u8])], in_use: &BTreeSet<&str>) -> LedgerResult {
        let mut total = self.drop_unused_texts(in_use);
        for (digest, bytes) in texts {
            let Some(name) = text_file(digest) else { continue };
            let Ok(text) = std::str::from_utf8(bytes) else { continue };
            let text = self.redactor.redact_text(text);
            total += text.len() as u64;
            let is_kept = self.folder.path_of(&name).exists();
            if is_kept || text.len() > MAX_TEXT_BYTES || total > MAX_TOTAL_BYTES {
                continue;
            }
            self.folder.replace_file(&name, text.as_bytes(), Durable::No)?;
        }
        Ok(())
    }

    fn trusted_text(&self, digest: &str) -> Option<String> {
        self.folder.read_existing(&text_file(digest)?).ok()?
    }
}

impl LocalLedger {
    /// Removes copies that are not in use. Returns the bytes of the others.
    fn drop_unused_texts(&self, in_use: &BTreeSet<&str>) -> u64 {
        let entries =
            std::fs::read_dir(self.folder.path_of(TEXTS_DIR)).into_iter().flatten().flatten();
        let mut total = 0;
        for entry in entries {
            let name = entry.file_name();
            let named = name.to_str().is_some_and(|name| in_use.contains(name));
            if named {
                total += entry.metadata().map_or(0, |about| about.len());
            } else {
                let _gone = std::fs::remove_file(entry.path());
            }
        }
        total
    }
}

/// The file name of a copy; `None` if the digest is not a hash.
fn text_file(digest: &str) -> Option<String> {
    let is_hash = digest.len() == 64 && digest.bytes().all(|byte| byte.is_ascii_hexdigit());
    let path: PathBuf = [TEXTS_DIR, digest].iter().collect();
    is_hash.then(|| path.display().to_string())
}

/// Refuses a file that another user can change or replace: that user could trust any hook.
fn refuse_if_shared(path: &Path, about: &Metadata) -> LedgerResult {
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
