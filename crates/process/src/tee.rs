//! A copy of stdout in a file of the caller, appended while the process runs.

use std::fs::OpenOptions;
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::time::{Duration, Instant};

use crate::redact::Redact;
use crate::redacted_file::RedactedFile;

/// How long a line is kept back: a secret of several lines usually arrives within this time.
const FLUSH_DELAY: Duration = Duration::from_millis(100);

/// The file of one process.
pub(crate) struct Tee<'a> {
    file: RedactedFile<'a>,
    /// When bytes that were kept back are written.
    flush_at: Option<Instant>,
}

impl<'a> Tee<'a> {
    /// Opens or creates the file. It grows to the cap of a stream at most.
    pub fn open(path: &Path, redact: Option<&'a Redact>) -> io::Result<Self> {
        let file = OpenOptions::new().append(true).create(true).mode(0o600).open(path)?;
        let written = file.metadata()?.len();
        Ok(Self { file: RedactedFile::new(file, written, "tee", redact), flush_at: None })
    }

    /// Appends bytes that have just arrived.
    pub fn append(&mut self, bytes: &[u8]) {
        self.file.append(bytes);
        self.flush_at = Some(Instant::now() + FLUSH_DELAY);
    }

    /// When [`Self::flush_due`] has something to do.
    pub fn flush_at(&self) -> Option<Instant> {
        self.flush_at
    }

    /// Writes the lines that were kept back long enough.
    pub fn flush_due(&mut self, now: Instant) {
        if self.flush_at.is_some_and(|at| at <= now) {
            self.flush_at = None;
            self.file.flush_lines();
        }
    }

    /// Writes the rest. Returns why the file is incomplete, if it is.
    pub fn finish(self) -> Option<String> {
        self.file.finish()
    }
}
