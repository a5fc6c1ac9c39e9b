//! Output that is too large to keep in memory goes to a private file, up to a cap per stream and
//! a cap for the whole folder. It knows nothing of what the output means.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::SystemTime;

use crate::veil::{Veil, Veiled};

/// The most of one stream that goes to a file.
const STREAM_CAP: u64 = 64 << 20;
/// The most that the folder may hold.
const FOLDER_CAP: u64 = 1 << 30;
const ENDING: &str = "spill";

/// One stream's file. Nothing reaches it but through the veil, if there is one.
pub(crate) struct Spill<'a> {
    page: Page,
    veiled: Option<Veiled<'a>>,
}

/// The file itself.
struct Page {
    path: PathBuf,
    file: File,
    written: u64,
    broken: Option<String>,
}

impl<'a> Spill<'a> {
    /// A new file in the folder, which is made and, when full, relieved of its oldest files.
    pub fn create(folder: &Path, veil: Option<&'a Veil>) -> io::Result<Self> {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
        prune(folder, FOLDER_CAP - STREAM_CAP);
        let stamp = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("{}-{}-{count}.{ENDING}", stamp.as_nanos(), std::process::id());
        let path = folder.join(name);
        let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path)?;
        let page = Page { path, file, written: 0, broken: None };
        Ok(Self { page, veiled: veil.map(Veiled::new) })
    }

    /// Appends, up to the cap; a failing disk ends the file, not the hook.
    pub fn append(&mut self, bytes: &[u8]) {
        let page = &mut self.page;
        if page.broken.is_some() {
            return;
        }
        let Some(veiled) = &mut self.veiled else { return page.append(bytes) };
        if veiled.push(bytes, &mut |clean| page.append(clean)).is_err() {
            page.broken = Some("spill: cut where a secret did not end".to_owned());
        }
    }

    /// Where it is, and what went wrong with it.
    pub fn finish(mut self) -> (PathBuf, Option<String>) {
        if let Some(veiled) = self.veiled.take().filter(|_| self.page.broken.is_none()) {
            self.page.append(&veiled.finish());
        }
        if let Some(folder) = self.page.path.parent() {
            prune(folder, FOLDER_CAP);
        }
        (self.page.path, self.page.broken)
    }
}

impl Page {
    fn append(&mut self, bytes: &[u8]) {
        if self.broken.is_some() {
            return;
        }
        let room = usize::try_from(STREAM_CAP - self.written).unwrap_or(usize::MAX);
        let part = bytes.get(..room).unwrap_or(bytes);
        match self.file.write_all(part) {
            Ok(()) => self.written += part.len() as u64,
            Err(error) => self.broken = Some(format!("spill: {error}")),
        }
        if part.len() < bytes.len() {
            self.broken = Some(format!("spill: cut at {} MiB", STREAM_CAP >> 20));
        }
    }
}

/// Deletes the oldest files until the others fit into `cap`.
fn prune(folder: &Path, cap: u64) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    let mut files: Vec<(SystemTime, u64, PathBuf)> = entries
        .filter_map(|entry| {
            let entry = entry.ok()?;
            let path = entry.path();
            let ours = path.extension().is_some_and(|ending| ending == ENDING);
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
    use super::{Spill, prune};

    #[test]
    fn the_oldest_files_go_first_and_only_ours() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("foreign"), [0; 4096]).unwrap();
        let paths: Vec<_> = (0..4)
            .map(|_| {
                let mut spill = Spill::create(folder.path(), None).unwrap();
                spill.append(&[1; 1000]);
                // Times of files may be coarse; theirs must differ.
                std::thread::sleep(std::time::Duration::from_millis(20));
                spill.finish().0
            })
            .collect();
        prune(folder.path(), 2500);
        let kept: Vec<bool> = paths.iter().map(|path| path.exists()).collect();
        assert_eq!(kept, [false, false, true, true]);
        assert!(folder.path().join("foreign").exists());
    }
}
