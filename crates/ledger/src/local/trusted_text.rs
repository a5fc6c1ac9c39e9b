//! Copies of small files as they were when a person trusted them, so that a later look can show
//! what changed. Named by the hash of the file; without them only the difference is missing.

use std::collections::BTreeSet;
use std::path::PathBuf;

use gambrel_model::ledger::LedgerError;

use super::LocalLedger;
use super::folder::Durable;

const FOLDER: &str = "trusted-text";
/// A larger file is not copied.
const MAX_TEXT_BYTES: usize = 64 << 10;
/// All copies together.
const MAX_TOTAL_BYTES: u64 = 16 << 20;

impl LocalLedger {
    /// Keeps the text of files by their hashes. What no record names any more goes first.
    pub fn keep_trusted_texts(
        &self,
        texts: &[(&str, &[u8])],
        in_use: &BTreeSet<&str>,
    ) -> Result<(), LedgerError> {
        let mut total = self.drop_unused_texts(in_use);
        for (digest, bytes) in texts {
            let Some(name) = file_name(digest) else { continue };
            let Ok(text) = std::str::from_utf8(bytes) else { continue };
            let text = self.redactor.redact_text(text);
            total += text.len() as u64;
            let is_kept = self.folder.path(&name).exists();
            if is_kept || text.len() > MAX_TEXT_BYTES || total > MAX_TOTAL_BYTES {
                continue;
            }
            self.folder.replace(&name, text.as_bytes(), Durable::No)?;
        }
        Ok(())
    }

    /// The text of a file that was trusted, without secrets.
    pub fn trusted_text(&self, digest: &str) -> Option<String> {
        let name = file_name(digest)?;
        let file = self.folder.existing(&name).ok()??;
        self.folder.text_of(&name, file).ok()
    }

    /// A text as it would be kept: without secrets.
    pub fn redacted(&self, text: &str) -> String {
        self.redactor.redact_text(text).into_owned()
    }

    /// Removes copies that no record names. Returns the bytes that stay.
    fn drop_unused_texts(&self, in_use: &BTreeSet<&str>) -> u64 {
        let entries = std::fs::read_dir(self.folder.path(FOLDER)).into_iter().flatten().flatten();
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

/// Only a hash is a name here.
fn file_name(digest: &str) -> Option<String> {
    let is_hash = digest.len() == 64 && digest.bytes().all(|byte| byte.is_ascii_hexdigit());
    let path: PathBuf = [FOLDER, digest].iter().collect();
    is_hash.then(|| path.display().to_string())
}
