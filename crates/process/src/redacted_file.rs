//! A file that receives one output stream, redacted and up to a cap.

use std::fs::File;
use std::io::Write;

use crate::redact::{Redact, RedactingWriter};

/// The most bytes of one stream that go to a file.
pub(crate) const MAX_STREAM_BYTES: u64 = 64 << 20;

/// One stream's file. All bytes are redacted first, if there is a redact function.
pub(crate) struct RedactedFile<'a> {
    file: CappedFile,
    writer: Option<RedactingWriter<'a>>,
}

/// The file on disk.
struct CappedFile {
    file: File,
    written: u64,
    /// What it is for, in messages.
    label: &'static str,
    broken: Option<String>,
}

impl<'a> RedactedFile<'a> {
    /// Writes to an open file that has `written` bytes already.
    pub fn new(file: File, written: u64, label: &'static str, redact: Option<&'a Redact>) -> Self {
        let file = CappedFile { file, written, label, broken: None };
        Self { file, writer: redact.map(RedactingWriter::new) }
    }

    /// Appends up to the cap. A disk error ends the file, not the process.
    pub fn append(&mut self, bytes: &[u8]) {
        let file = &mut self.file;
        if file.broken.is_some() {
            return;
        }

        let Some(writer) = &mut self.writer else { return file.append(bytes) };
        if writer.push_bytes(bytes, &mut |clean| file.append(clean)).is_err() {
            file.broken = Some(format!("{}: cut at a secret that does not end", file.label));
        }
    }

    /// Writes the whole lines that are kept back for a secret that may go on.
    pub fn flush_lines(&mut self) {
        if let Some(writer) = &mut self.writer {
            writer.flush_lines(&mut |clean| self.file.append(clean));
        }
    }

    /// Writes the rest. Returns why the file is incomplete, if it is.
    pub fn finish(mut self) -> Option<String> {
        if let Some(writer) = self.writer.take().filter(|_| self.file.broken.is_none()) {
            self.file.append(&writer.finish());
        }
        self.file.broken
    }
}

impl CappedFile {
    fn append(&mut self, bytes: &[u8]) {
        if self.broken.is_some() {
            return;
        }
        let free_bytes = MAX_STREAM_BYTES.saturating_sub(self.written);
        let free_bytes = usize::try_from(free_bytes).unwrap_or(usize::MAX);
        let part = bytes.get(..free_bytes).unwrap_or(bytes);
        match self.file.write_all(part) {
            Ok(()) => self.written += part.len() as u64,
            Err(error) => self.broken = Some(format!("{}: {error}", self.label)),
        }
        if part.len() < bytes.len() {
            let cap = MAX_STREAM_BYTES >> 20;
            self.broken = Some(format!("{}: cut at {cap} MiB", self.label));
        }
    }
}
