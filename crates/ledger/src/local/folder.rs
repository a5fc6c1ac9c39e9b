//! The state folder: private, made at the first write, its small files replaced as a whole.
//! Knows files and how they fail, not what is in them.

use std::fmt::Display;
use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use gambrel_model::ledger::LedgerError;
use rustix::fs::OFlags;

/// A small file beyond this is not one of ours.
const LARGEST_SMALL_FILE: u64 = 16 << 20;

#[derive(Debug)]
pub(super) struct Folder {
    dir: PathBuf,
}

/// Whether a small file is on the disk before it takes the old one's place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Durable {
    Yes,
    /// Nobody waits for the disk.
    No,
}

impl Folder {
    pub(super) fn new(dir: PathBuf) -> Self {
        Self { dir }
    }

    pub(super) fn dir(&self) -> &Path {
        &self.dir
    }

    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.dir.join(name)
    }

    /// Opens a file for us alone, making it and the folders above it where they are missing.
    pub(super) fn open(&self, name: &str, options: &OpenOptions) -> io::Result<File> {
        let path = self.path(name);
        let mut options = options.clone();
        options.create(true).mode(0o600).custom_flags(never_blocking());
        match options.open(&path) {
            Err(error) if error.kind() == ErrorKind::NotFound => {
                let above = path.parent().unwrap_or(&self.dir);
                DirBuilder::new().recursive(true).mode(0o700).create(above)?;
                options.open(&path)
            }
            opened => opened,
        }
    }

    /// Opens a regular file for reading; `None` when there is none.
    pub(super) fn existing(&self, name: &str) -> Result<Option<File>, LedgerError> {
        let path = self.path(name);
        let opened = OpenOptions::new().read(true).custom_flags(never_blocking()).open(&path);
        let file = match opened {
            Ok(file) => file,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(trouble("reading", &path, &error)),
        };
        let about = file.metadata().map_err(|error| trouble("reading", &path, &error))?;
        if about.is_file() {
            return Ok(Some(file));
        }
        Err(refusal("reading", &path, "it is not a regular file"))
    }

    /// The whole of a small file's text.
    pub(super) fn text_of(&self, name: &str, file: File) -> Result<String, LedgerError> {
        let path = self.path(name);
        let mut text = String::new();
        let mut capped = file.take(LARGEST_SMALL_FILE + 1);
        capped.read_to_string(&mut text).map_err(|error| trouble("reading", &path, &error))?;
        if text.len() as u64 > LARGEST_SMALL_FILE {
            return Err(refusal("reading", &path, "it is larger than 16 MiB"));
        }
        Ok(text)
    }

    /// Puts `bytes` in the place of the file: readers see the old or the new, never a part.
    /// The caller holds the lock of that file.
    pub(super) fn replace(
        &self,
        name: &str,
        bytes: &[u8],
        durable: Durable,
    ) -> Result<(), LedgerError> {
        let path = self.path(name);
        let beside = format!("{name}.tmp");
        let written = self.write_beside(&beside, bytes, durable).and_then(|()| {
            std::fs::rename(self.path(&beside), &path)?;
            if durable == Durable::Yes { self.sync_folders_of(&path) } else { Ok(()) }
        });
        written.map_err(|error| {
            // The half-written copy only takes room on a disk that may be full.
            let _ = std::fs::remove_file(self.path(&beside));
            trouble("writing", &path, &error)
        })
    }

    fn write_beside(&self, name: &str, bytes: &[u8], durable: Durable) -> io::Result<()> {
        let mut file = self.open(name, OpenOptions::new().write(true).truncate(true))?;
        file.write_all(bytes)?;
        if durable == Durable::Yes { file.sync_all() } else { Ok(()) }
    }

    /// The folder of the file, and the one that this folder may just have been made in.
    fn sync_folders_of(&self, path: &Path) -> io::Result<()> {
        let own = path.parent().unwrap_or(&self.dir);
        File::open(own)?.sync_all()?;
        if own == self.dir { Ok(()) } else { File::open(&self.dir)?.sync_all() }
    }

    /// Removes a file; one that is not there is no trouble.
    pub(super) fn remove(&self, name: &str) -> Result<(), LedgerError> {
        match std::fs::remove_file(self.path(name)) {
            Err(error) if error.kind() != ErrorKind::NotFound => {
                Err(trouble("removing", &self.path(name), &error))
            }
            _ => Ok(()),
        }
    }

    /// Renames a file; false when it is not there.
    pub(super) fn rename(&self, from: &str, to: &str) -> Result<bool, LedgerError> {
        match std::fs::rename(self.path(from), self.path(to)) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
            Err(error) => Err(trouble("renaming", &self.path(from), &error)),
        }
    }
}

/// The world's refusal, with the file it is about and what may help.
pub(super) fn trouble(doing: &str, path: &Path, error: &io::Error) -> LedgerError {
    let help = match error.kind() {
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => "; make room on that disk",
        ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => {
            "; give yourself write access, or name another folder with GAMBREL_STATE_DIR"
        }
        ErrorKind::NotADirectory | ErrorKind::AlreadyExists => {
            "; a file stands where the state folder should be: move it, or set GAMBREL_STATE_DIR"
        }
        _ => "",
    };
    refusal(doing, path, format!("{error}{help}"))
}

/// The same for what we refuse ourselves.
pub(super) fn refusal(doing: &str, path: &Path, why: impl Display) -> LedgerError {
    LedgerError { doing: format!("{doing} {}", path.display()), why: why.to_string() }
}

/// A pipe or device that somebody put in a file's place must not stop us.
fn never_blocking() -> i32 {
    OFlags::NONBLOCK.bits().cast_signed()
}
