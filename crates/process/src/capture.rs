//! One output stream of a process: everything is counted, the beginning and the end are kept, and
//! the rest goes to a file. Memory is bounded.

use std::collections::VecDeque;
use std::fs;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::time::Instant;

use rustix::io::{Errno, read};

use crate::settings::Settings;
use crate::spill::Spill;
use crate::tee::{Tee, TeeFile};

/// Bytes kept from the beginning of a stream. A stream that may hold an answer keeps more.
const MAX_HEAD_BYTES: usize = 1 << 20;
const MAX_ANSWER_BYTES: usize = 16 << 20;
const MAX_TAIL_BYTES: usize = 64 << 10;
/// Bytes of one read: a pipe's usual capacity.
pub const READ_CHUNK_BYTES: usize = 64 << 10;
/// Reads of one stream before the other processes get their turn.
const MAX_READS_PER_TURN: usize = 16;

/// A stream that was read to its end, kept up to a cap.
#[derive(Debug, Default)]
pub struct CapturedOutput {
    /// What was kept, from the beginning.
    pub bytes: Vec<u8>,
    /// The last part, when the middle was dropped.
    pub tail: Vec<u8>,
    /// How many bytes there were in all.
    pub total: u64,
    /// The file with all of it, if it was too large to keep here.
    pub spill: Option<PathBuf>,
    /// Whether it was too large, or the disk too full, for that file as well.
    pub partial: bool,
}

/// A stream that is being read.
pub struct Capture<'a> {
    fd: Option<OwnedFd>,
    settings: &'a Settings,
    head: Vec<u8>,
    max_head: usize,
    tail: VecDeque<u8>,
    total: u64,
    spill: Option<Spill<'a>>,
    tee: Option<Tee<'a>>,
    error: Option<String>,
}

impl<'a> Capture<'a> {
    /// Captures a pipe that does not block.
    pub fn new(fd: OwnedFd, settings: &'a Settings) -> Self {
        Self::empty(Some(fd), settings)
    }

    fn empty(fd: Option<OwnedFd>, settings: &'a Settings) -> Self {
        Self {
            fd,
            settings,
            head: Vec::new(),
            max_head: MAX_HEAD_BYTES,
            tail: VecDeque::new(),
            total: 0,
            spill: None,
            tee: None,
            error: None,
        }
    }

    /// Captures a pipe from which another process has read `read`; `None` is a closed pipe.
    pub fn resume(fd: Option<OwnedFd>, read: Vec<u8>, settings: &'a Settings) -> Self {
        let (total, tail) = (read.len() as u64, VecDeque::new());
        let max_head = MAX_HEAD_BYTES.max(read.len());
        Self { head: read, max_head, tail, total, ..Self::empty(fd, settings) }
    }

    /// Keeps as much as an answer may have.
    pub fn with_answer(mut self) -> Self {
        self.max_head = MAX_ANSWER_BYTES.max(self.head.len());
        self
    }

    /// Also appends everything that is read from now on to a file. A file that cannot be opened is
    /// an error of the stream.
    pub fn add_tee(&mut self, target: TeeFile<'_>) {
        self.tee = Some(Tee::new(target, self.settings.redact.as_ref()));
    }

    /// When [`Self::flush_tee`] has something to do.
    pub fn tee_flush_at(&self) -> Option<Instant> {
        self.tee.as_ref().and_then(Tee::flush_at)
    }

    /// Writes what the tee kept back long enough.
    pub fn flush_tee(&mut self, now: Instant) {
        if let Some(tee) = &mut self.tee {
            tee.flush_due(now);
        }
    }

    /// Ends the tee, for a process that another one goes on reading.
    pub fn close_tee(&mut self) {
        self.tee.take().and_then(Tee::finish);
    }

    /// The bytes read so far, if all of them are kept here.
    pub fn kept_whole(&self) -> Option<&[u8]> {
        (self.total <= self.head.len() as u64).then_some(&self.head)
    }

    /// The pipe, while it is open.
    pub fn fd(&self) -> Option<&OwnedFd> {
        self.fd.as_ref()
    }

    /// Whether a process may still write to it.
    pub fn is_open(&self) -> bool {
        self.fd.is_some()
    }

    /// Stops reading.
    pub fn close(&mut self) {
        self.fd = None;
    }

    /// Reads the available bytes; `hung_up` means that no process can write any more.
    pub fn read_available(&mut self, scratch: &mut Vec<u8>, hung_up: bool) {
        for _ in 0..MAX_READS_PER_TURN {
            let Some(fd) = &self.fd else { return };
            scratch.clear();
            match read(fd, rustix::buffer::spare_capacity(scratch)) {
                Ok(0) => self.close(),
                Ok(count) => {
                    self.keep_bytes(scratch);
                    if count < scratch.capacity() {
                        if hung_up {
                            self.close();
                        }
                        return;
                    }
                }
                Err(Errno::AGAIN) => return,
                Err(Errno::INTR) => {}
                Err(error) => {
                    self.error = Some(format!("output: {error}"));
                    self.close();
                }
            }
        }
    }

    /// The captured stream, and an error if there was one.
    pub fn finish(self) -> (CapturedOutput, Option<String>) {
        let mut bytes = self.head;
        let mut tail: Vec<u8> = self.tail.into();
        let (mut spill, mut partial) = (None, false);
        let mut error = self.error.or(self.tee.and_then(Tee::finish));
        if let Some(file) = self.spill {
            let (path, spill_error) = file.finish();
            (spill, partial) = (Some(path), spill_error.is_some());
            error = error.or(spill_error);
        }

        if self.total <= (bytes.len() + tail.len()) as u64 {
            bytes.append(&mut tail);
            // Nothing was left out, so the file is not needed.
            if let Some(path) = spill.take() {
                let _ = fs::remove_file(path);
            }
        }
        (
            CapturedOutput {
                bytes,
                tail,
                total: self.total,
                partial: partial && spill.is_some(),
                spill,
            },
            error,
        )
    }

    fn keep_bytes(&mut self, bytes: &[u8]) {
        self.total += bytes.len() as u64;
        if let Some(tee) = &mut self.tee {
            tee.append(bytes);
        }
        let free_bytes = self.max_head - self.head.len();
        let (first, rest) = bytes.split_at(free_bytes.min(bytes.len()));
        if self.head.capacity() - self.head.len() < first.len() {
            // Grows by half: doubling would end at twice the cap.
            let more = (self.head.len() / 2).max(first.len());
            self.head.reserve_exact(more.min(free_bytes));
        }
        self.head.extend_from_slice(first);

        if rest.is_empty() {
            return;
        }
        if self.tail.is_empty() {
            self.open_spill();
        }
        if let Some(spill) = &mut self.spill {
            spill.append(rest);
        }

        let last = rest.get(rest.len().saturating_sub(MAX_TAIL_BYTES)..).unwrap_or(rest);
        let over = (self.tail.len() + last.len()).saturating_sub(MAX_TAIL_BYTES);
        self.tail.drain(..over.min(self.tail.len()));
        self.tail.extend(last);
    }

    /// Creates the spill file when the head is full, writes the head to it, and enlarges the pipe.
    fn open_spill(&mut self) {
        if let Some(fd) = &self.fd {
            // A hint only: the user's pipe memory may be used up.
            let _ = rustix::pipe::fcntl_setpipe_size(fd, MAX_HEAD_BYTES);
        }

        let Settings { spill_dir, redact, .. } = self.settings;
        match spill_dir.as_deref().map(|folder| Spill::create(folder, redact.as_ref())) {
            Some(Ok(mut spill)) => {
                spill.append(&self.head);
                self.spill = Some(spill);
            }
            Some(Err(error)) => self.error = Some(format!("spill: {error}")),
            None => {}
        }
    }
}
