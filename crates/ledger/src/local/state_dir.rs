//! The state folder: private, created by the first write. Small files are replaced as a whole.
//! Independent of the content of the files.

use std::fmt::Display;
use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use gambrel_model::ledger::{LedgerError, LedgerErrorKind, LedgerResult};
use rustix::fs::OFlags;
use serde::Serialize;

/// Maximum size of a small file. A larger one was not written by gambrel.
const MAX_SMALL_FILE_BYTES: u64 = 16 << 20;

#[derive(Debug)]
pub(super) struct StateDir {
    dir: PathBuf,
}

/// Whether a small file is synced to the disk before it replaces the old one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Durable {
    Yes,
    /// The write does not wait for the disk.
    No,
}

impl StateDir {
    pub(super) fn new(dir: PathBuf) -> Self {
        Self { dir }
    }

    pub(super) fn dir(&self) -> &Path {
        &self.dir
    }

    pub(super) fn path_of(&self, name: &str) -> PathBuf {
        self.dir.join(name)
    }

    /// Opens a private file. Creates it and its folders if they are missing.
    pub(super) fn open_private(&self, name: &str, options: &OpenOptions) -> io::Result<File> {
        let path = self.path_of(name);
        let mut options = options.clone();
        options.create(true).mode(0o600).custom_flags(nonblocking_flag());
        match options.open(&path) {
            Err(error) if error.kind() == ErrorKind::NotFound => {
                let above = path.parent().unwrap_or(&self.dir);
                DirBuilder::new().recursive(true).mode(0o700).create(above)?;
                options.open(&path)
            }
            opened => opened,
        }
    }

    /// Opens a regular file for reading; `None` if it does not exist.
    pub(super) fn open_existing(&self, name: &str) -> LedgerResult<Option<File>> {
        let path = self.path_of(name);
        let opened = OpenOptions::new().read(true).custom_flags(nonblocking_flag()).open(&path);
        let file = match opened {
            Ok(file) => file,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(io_error("reading", &path, &error)),
        };

        let about = file.metadata().map_err(|error| io_error("reading", &path, &error))?;
        if about.is_file() {
            return Ok(Some(file));
        }
        Err(corrupt_error("reading", &path, "it is not a regular file"))
    }

    /// Reads the text of a small file.
    pub(super) fn read_text(&self, name: &str, file: File) -> LedgerResult<String> {
        let path = self.path_of(name);
        let mut text = String::new();
        let mut capped = file.take(MAX_SMALL_FILE_BYTES + 1);
        capped.read_to_string(&mut text).map_err(|error| io_error("reading", &path, &error))?;
        if text.len() as u64 > MAX_SMALL_FILE_BYTES {
            return Err(corrupt_error("reading", &path, "it is larger than 16 MiB"));
        }
        Ok(text)
    }

    /// The text of a small file; `None` without a file.
    pub(super) fn read_existing(&self, name: &str) -> LedgerResult<Option<String>> {
        let file = self.open_existing(name)?;
        file.map(|file| self.read_text(name, file)).transpose()
    }

    /// Replaces a small file with a value as JSON.
    pub(super) fn replace_json(
        &self,
        name: &str,
        value: &impl Serialize,
        durable: Durable,
    ) -> LedgerResult {
        let bytes = serde_json::to_vec(value)
            .map_err(|error| refused_error("writing", &self.path_of(name), error))?;
        self.replace_file(name, &bytes, durable)
    }

    /// Replaces the content of a file atomically. The calling function holds the lock of the file.
    pub(super) fn replace_file(&self, name: &str, bytes: &[u8], durable: Durable) -> LedgerResult {
        let path = self.path_of(name);
        let beside = format!("{name}.tmp");
        let written = self.write_beside(&beside, bytes, durable).and_then(|()| {
            std::fs::rename(self.path_of(&beside), &path)?;
            if durable == Durable::Yes { self.sync_folders_of(&path) } else { Ok(()) }
        });
        written.map_err(|error| {
            // Frees the space of the incomplete copy, because the disk may be full.
            let _ = std::fs::remove_file(self.path_of(&beside));
            io_error("writing", &path, &error)
        })
    }

    fn write_beside(&self, name: &str, bytes: &[u8], durable: Durable) -> io::Result<()> {
        let mut file = self.open_private(name, OpenOptions::new().write(true).truncate(true))?;
        file.write_all(bytes)?;
        if durable == Durable::Yes { file.sync_all() } else { Ok(()) }
    }

    /// Syncs the folder of a file, and the state folder, which may be new.
    pub(super) fn sync_folders_of(&self, path: &Path) -> io::Result<()> {
        let own = path.parent().unwrap_or(&self.dir);
        File::open(own)?.sync_all()?;
        if own == self.dir { Ok(()) } else { File::open(&self.dir)?.sync_all() }
    }

    /// Removes a file. A missing file is not an error.
    pub(super) fn remove_file(&self, name: &str) -> LedgerResult {
        match std::fs::remove_file(self.path_of(name)) {
            Err(error) if error.kind() != ErrorKind::NotFound => {
                Err(io_error("removing", &self.path_of(name), &error))
            }
            _ => Ok(()),
        }
    }

    /// Renames a file; false if it does not exist.
    pub(super) fn rename_file(&self, from: &str, to: &str) -> LedgerResult<bool> {
        match std::fs::rename(self.path_of(from), self.path_of(to)) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
            Err(error) => Err(io_error("renaming", &self.path_of(from), &error)),
        }
    }
}

/// An error of the operating system, with the path and help.
pub(super) fn io_error(doing: &str, path: &Path, error: &io::Error) -> LedgerError {
    let help = match error.kind() {
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => "; make room on that disk",
        ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => {
            "; give yourself write access, or name another folder with GAMBREL_STATE_DIR"
        }
        ErrorKind::NotADirectory | ErrorKind::AlreadyExists => {
            "; there is a file in place of the state folder: move it, or set GAMBREL_STATE_DIR"
        }
        _ => "",
    };
    let kind = match error.kind() {
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => LedgerErrorKind::StorageFull,
        // A text that is not UTF-8, a file that ends too early.
        ErrorKind::InvalidData | ErrorKind::UnexpectedEof => LedgerErrorKind::Corrupt,
        _ => LedgerErrorKind::Unavailable,
    };
    ledger_error(kind, doing, path, format!("{error}{help}"))
}

/// An error that the ledger finds itself, with the path.
pub(super) fn ledger_error(
    kind: LedgerErrorKind,
    doing: &str,
    path: &Path,
    why: impl Display,
) -> LedgerError {
    LedgerError::new(kind, format!("{doing} {}", path.display()), why)
}

/// An error about a stored value that cannot be read.
pub(super) fn corrupt_error(doing: &str, path: &Path, why: impl Display) -> LedgerError {
    ledger_error(LedgerErrorKind::Corrupt, doing, path, why)
}

/// An error about another process that keeps the ledger busy.
pub(super) fn busy_error(doing: &str, path: &Path, why: impl Display) -> LedgerError {
    ledger_error(LedgerErrorKind::Unavailable, doing, path, why)
}

/// An error about a value that cannot be stored.
pub(super) fn refused_error(doing: &str, path: &Path, why: impl Display) -> LedgerError {
    ledger_error(LedgerErrorKind::Refused, doing, path, why)
}

/// The flag that keeps a pipe or device in place of a file from blocking.
fn nonblocking_flag() -> i32 {
    OFlags::NONBLOCK.bits().cast_signed()
}
