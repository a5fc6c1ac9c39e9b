//! Copies of small trusted files, named by their hash, so that gambrel can show what changed since.
//! Trust itself does not depend on them.

use std::collections::BTreeSet;
use std::path::PathBuf;

use gambrel_model::ledger::LedgerError;

use super::LocalLedger;
use super::state_dir::Durable;

const TEXTS_DIR: &str = "trusted-text";
/// Maximum size of a copied file.
const MAX_TEXT_BYTES: usize = 64 << 10;
/// Maximum size of all copies together.
const MAX_TOTAL_BYTES: u64 = 16 << 20;

impl LocalLedger {
    /// Stores the text of files by their hashes. Removes copies that are not in use first.
    pub(super) fn store_trusted_texts(
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
            let is_kept = self.folder.path_of(&name).exists();
            if is_kept || text.len() > MAX_TEXT_BYTES || total > MAX_TOTAL_BYTES {
                continue;
            }
            self.folder.replace_file(&name, text.as_bytes(), Durable::No)?;
        }
        Ok(())
    }

    /// Reads the copy of a trusted file.
    pub(super) fn read_trusted_text(&self, digest: &str) -> Option<String> {
        let name = file_name(digest)?;
        let file = self.folder.open_existing(&name).ok()??;
        self.folder.read_text(&name, file).ok()
    }

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
fn file_name(digest: &str) -> Option<String> {
    let is_hash = digest.len() == 64 && digest.bytes().all(|byte| byte.is_ascii_hexdigit());
    let path: PathBuf = [TEXTS_DIR, digest].iter().collect();
    is_hash.then(|| path.display().to_string())
}
