//! A copy of stdout in a file of the caller, appended while the process runs.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::redact::Redact;
use crate::redacted_file::RedactedFile;

/// How long a line is kept back: a secret of several lines usually arrives within this time.
const FLUSH_DELAY: Duration = Duration::from_millis(100);

/// Where a copy of stdout goes. The file is created at the first byte.
#[derive(Debug, Clone, Copy)]
pub struct TeeFile<'a> {
    /// The file.
    pub path: &'a Path,
    /// The file that is used instead if the first one exists at the first byte.
    pub if_taken: Option<&'a Path>,
}

/// The file of one process or agent.
pub struct Tee<'a> {
    file: TeeState<'a>,
    /// When bytes that were kept back are written.
    flush_at: Option<Instant>,
}

enum TeeState<'a> {
    Waiting { path: PathBuf, if_taken: Option<PathBuf>, redact: Option<&'a Redact> },
    Open(RedactedFile<'a>),
    Failed(String),
}

impl<'a> Tee<'a> {
    /// A copy that is not open yet. The file grows to the cap of a stream at most.
    pub fn new(target: TeeFile<'_>, redact: Option<&'a Redact>) -> Self {
        let (path, if_taken) = (target.path.to_owned(), target.if_taken.map(Path::to_owned));
        Self { file: TeeState::Waiting { path, if_taken, redact }, flush_at: None }
    }

    /// Appends bytes that have just arrived.
    pub fn append(&mut self, bytes: &[u8]) {
        if let TeeState::Waiting { path, if_taken, redact } = &self.file {
            self.file = match open_file(path, if_taken.as_deref()) {
                Ok((file, length)) => {
                    TeeState::Open(RedactedFile::new(file, length, "tee", *redact))
                }
                Err(error) => TeeState::Failed(format!("tee: {}: {error}", path.display())),
            };
        }
        if let TeeState::Open(file) = &mut self.file {
            file.append(bytes);
            self.flush_at = Some(Instant::now() + FLUSH_DELAY);
        }
    }

    /// When [`Self::flush_due`] has something to do.
    pub fn flush_at(&self) -> Option<Instant> {
        self.flush_at
    }

    /// Writes the lines that were kept back long enough.
    pub fn flush_due(&mut self, now: Instant) {
        if self.flush_at.is_some_and(|at| at <= now) {
            self.flush_at = None;
            if let TeeState::Open(file) = &mut self.file {
                file.flush_lines();
            }
        }
    }

    /// Writes the rest. Returns why the file is incomplete, if it is.
    pub fn finish(self) -> Option<String> {
        match self.file {
            TeeState::Waiting { .. } => None,
            TeeState::Open(file) => file.finish(),
            TeeState::Failed(why) => Some(why),
        }
    }
}

/// Opens the file for appending, and returns its length.
fn open_file(path: &Path, if_taken: Option<&Path>) -> io::Result<(File, u64)> {
    let mut options = OpenOptions::new();
    options.append(true).mode(0o600);
    let file = match if_taken {
        None => options.create(true).open(path)?,
        Some(other) => match options.clone().create_new(true).open(path) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                options.create(true).open(other)?
            }
            opened => opened?,
        },
    };
    let length = file.metadata()?.len();
    Ok((file, length))
}
