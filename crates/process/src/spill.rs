//! Output too large for memory goes to a private file, up to a cap per stream and a cap for the
//! directory.

use std::fs::{self, DirBuilder, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::SystemTime;

use crate::redact::Redact;
use crate::redacted_file::{MAX_STREAM_BYTES, RedactedFile};

/// The most bytes that the directory may hold.
const MAX_DIR_BYTES: u64 = 1 << 30;
const FILE_EXTENSION: &str = "spill";

/// One stream's file.
pub struct Spill<'a> {
    path: PathBuf,
    file: RedactedFile<'a>,
}

impl<'a> Spill<'a> {
    /// Creates a file in the directory. Creates the directory if needed, and removes its oldest
    /// files when it is full.
    pub fn create(folder: &Path, redact: Option<&'a Redact>) -> io::Result<Self> {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
        prune_oldest(folder, MAX_DIR_BYTES - MAX_STREAM_BYTES);

        let stamp = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("{}-{}-{count}.{FILE_EXTENSION}", stamp.as_nanos(), std::process::id());
        let path = folder.join(name);
        let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path)?;
        Ok(Self { path, file: RedactedFile::new(file, 0, "spill", redact) })
    }

    /// Appends up to the cap. A disk error ends the file, not the process.
    pub fn append(&mut self, bytes: &[u8]) {
        self.file.append(bytes);
    }

    /// The file's path, and why it is incomplete, if it is.
    pub fn finish(self) -> (PathBuf, Option<String>) {
        let broken = self.file.finish();
        if let Some(folder) = self.path.parent() {
            prune_oldest(folder, MAX_DIR_BYTES);
        }
        (self.path, broken)
    }
}

/// Deletes the oldest files until the others fit into `cap`.
fn prune_oldest(folder: &Path, cap: u64) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    let mut files: Vec<(SystemTime, u64, PathBuf)> = entries
        .filter_map(|entry| {
            let entry = entry.ok()?;
            let path = entry.path();
            let ours = path.extension().is_some_and(|ending| ending == FILE_EXTENSION);
            let meta = entry.metadata().ok().filter(|meta| ours && meta.is_file())?;
            Some((meta.modified().ok()?, meta.len(), path))
        })
        .collect();

    files.sort();
    let mut total: u64 = files.iter().map(|(_, length, _)| length).sum();
    for (_, length, path) in files {
        if total <= cap {
            return;
        }
        if fs::remove_file(&path).is_ok() {
            total = total.saturating_sub(length);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Spill, prune_oldest};

    #[test]
    fn prunes_the_oldest_spill_files_only() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("foreign"), [0; 4096]).unwrap();
        let paths: Vec<_> = (0..4)
            .map(|_| {
                let mut spill = Spill::create(folder.path(), None).unwrap();
                spill.append(&[1; 1000]);
                // File times may be coarse; these must differ.
                std::thread::sleep(std::time::Duration::from_millis(20));
                spill.finish().0
            })
            .collect();
        prune_oldest(folder.path(), 2500);
        let kept: Vec<bool> = paths.iter().map(|path| path.exists()).collect();
        assert_eq!(kept, [false, false, true, true]);
        assert!(folder.path().join("foreign").exists());
    }
}
