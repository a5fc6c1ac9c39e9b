//! One output stream of a child: counted for ever, kept up to a cap, the rest in a file. Memory
//! is bounded whatever the child writes.

use std::collections::VecDeque;
use std::fs;
use std::os::fd::OwnedFd;

use gambrel_model::outcome::Captured;
use rustix::io::{Errno, read};

use crate::settings::Settings;
use crate::spill::Spill;

/// What is kept of a stream from its beginning: of one that may hold an answer, as much as is read as
/// one.
const MAX_HEAD_BYTES: usize = 1 << 20;
const MAX_ANSWER_BYTES: usize = 16 << 20;
const TAIL: usize = 64 << 10;
/// One read takes a pipe's usual capacity.
pub(crate) const CHUNK: usize = 64 << 10;
/// How much one stream may be read before the other children get their turn.
const TURN: usize = 16;

/// A stream that is being read.
pub(crate) struct Capture<'a> {
    fd: Option<OwnedFd>,
    settings: &'a Settings,
    head: Vec<u8>,
    max_head: usize,
    tail: VecDeque<u8>,
    total: u64,
    spill: Option<Spill<'a>>,
    trouble: Option<String>,
}

impl<'a> Capture<'a> {
    /// Of a pipe that does not block.
    pub fn new(fd: OwnedFd, settings: &'a Settings) -> Self {
        Self {
            fd: Some(fd),
            settings,
            head: Vec::new(),
            max_head: MAX_HEAD_BYTES,
            tail: VecDeque::new(),
            total: 0,
            spill: None,
            trouble: None,
        }
    }

    /// Of a pipe from which somebody else has read this much, or which is closed.
    pub fn resume(fd: Option<OwnedFd>, read: Vec<u8>, settings: &'a Settings) -> Self {
        let (total, tail) = (read.len() as u64, VecDeque::new());
        let max_head = MAX_HEAD_BYTES.max(read.len());
        Self { fd, settings, head: read, max_head, tail, total, spill: None, trouble: None }
    }

    /// The same for a stream that may hold an answer.
    pub fn with_answer(mut self) -> Self {
        self.max_head = MAX_ANSWER_BYTES.max(self.head.len());
        self
    }

    /// Everything that was read so far, if all of it is kept here.
    pub fn whole(&self) -> Option<&[u8]> {
        (self.total <= self.head.len() as u64).then_some(&self.head)
    }

    /// The pipe, while it is open.
    pub fn fd(&self) -> Option<&OwnedFd> {
        self.fd.as_ref()
    }

    /// Whether somebody may still write to it.
    pub fn is_open(&self) -> bool {
        self.fd.is_some()
    }

    /// Stops reading.
    pub fn close(&mut self) {
        self.fd = None;
    }

    /// Reads what is there; `hung_up` says that nobody can write any more.
    pub fn pull(&mut self, scratch: &mut Vec<u8>, hung_up: bool) {
        for _ in 0..TURN {
            let Some(fd) = &self.fd else { return };
            scratch.clear();
            match read(fd, rustix::buffer::spare_capacity(scratch)) {
                Ok(0) => self.close(),
                Ok(count) => {
                    self.take(scratch);
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
                    self.trouble = Some(format!("output: {error}"));
                    self.close();
                }
            }
        }
    }

    /// What came, and what went wrong on the way.
    pub fn finish(self) -> (Captured, Option<String>) {
        let mut bytes = self.head;
        let mut tail: Vec<u8> = self.tail.into();
        let (mut spill, mut trouble, mut partial) = (None, self.trouble, false);
        if let Some(file) = self.spill {
            let (path, broken) = file.finish();
            (spill, partial) = (Some(path), broken.is_some());
            trouble = trouble.or(broken);
        }
        if self.total <= (bytes.len() + tail.len()) as u64 {
            bytes.append(&mut tail);
            // Nothing was left out, so nobody needs the file.
            if let Some(path) = spill.take() {
                let _ = fs::remove_file(path);
            }
        }
        (
            Captured { bytes, tail, total: self.total, partial: partial && spill.is_some(), spill },
            trouble,
        )
    }

    fn take(&mut self, bytes: &[u8]) {
        self.total += bytes.len() as u64;
        let room = self.max_head - self.head.len();
        let (first, rest) = bytes.split_at(room.min(bytes.len()));
        if self.head.capacity() - self.head.len() < first.len() {
            // By halves: doubling would take twice the cap at the end.
            let more = (self.head.len() / 2).max(first.len());
            self.head.reserve_exact(more.min(room));
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
        let last = rest.get(rest.len().saturating_sub(TAIL)..).unwrap_or(rest);
        let over = (self.tail.len() + last.len()).saturating_sub(TAIL);
        self.tail.drain(..over.min(self.tail.len()));
        self.tail.extend(last);
    }

    /// The first time that the head is full: the file gets the head, and the pipe gets larger.
    fn open_spill(&mut self) {
        if let Some(fd) = &self.fd {
            // A hint only: the user's share of pipe memory may be used up.
            let _ = rustix::pipe::fcntl_setpipe_size(fd, MAX_HEAD_BYTES);
        }
        let Settings { spill_dir, veil, .. } = self.settings;
        match spill_dir.as_deref().map(|folder| Spill::create(folder, veil.as_ref())) {
            Some(Ok(mut spill)) => {
                spill.append(&self.head);
                self.spill = Some(spill);
            }
            Some(Err(error)) => self.trouble = Some(format!("spill: {error}")),
            None => {}
        }
    }
}
