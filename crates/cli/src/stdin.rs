//! Reads the event from stdin: one JSON object and nothing after it. A caller that keeps the pipe
//! open, or never writes, cannot block gambrel forever.

use std::os::fd::BorrowedFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use memchr::arch::all::memchr::Two;
use rustix::buffer::spare_capacity;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::{Errno, read, retry_on_intr};
use rustix::pipe::fcntl_setpipe_size;
use rustix::stdio::stdin;

/// One byte more than an event may have, so that a larger one is noticed.
const MAX_STDIN_BYTES: usize = 64 * 1024 * 1024 + 1;
/// Room for most events. More is added in place.
const FIRST_READ_BYTES: usize = 4 << 10;
/// What a pipe holds unless it is made larger.
const DEFAULT_PIPE_BYTES: usize = 64 << 10;
/// What a pipe holds for a large event. A user who is not root may have pipes of this size.
const LARGE_PIPE_BYTES: usize = 1 << 20;
/// Time limit for the caller to write its event.
const STDIN_TIMEOUT: Duration = Duration::from_secs(60);

/// Time for the caller to end the line or close the pipe after its event.
const TAIL_WINDOW: Duration = Duration::from_millis(100);

/// Whether the caller ended its line or closed the pipe.
static INPUT_ENDED: AtomicBool = AtomicBool::new(false);

/// Reads on until the line or the pipe ends, 100 ms at most. Work starts as soon as the object is
/// complete; a caller that writes its newline later must not find the pipe closed.
pub fn drain_tail() {
    let deadline = Instant::now() + TAIL_WINDOW;
    let stdin = stdin();
    let mut chunk = [0; 512];
    while !INPUT_ENDED.load(Ordering::Relaxed) && wait_readable(stdin, deadline).is_ok() {
        match retry_on_intr(|| read(stdin, &mut chunk)) {
            Ok(count) if count > 0 && !chunk[..count].contains(&b'\n') => {}
            _ => INPUT_ENDED.store(true, Ordering::Relaxed),
        }
    }
}

/// Reads the bytes of the event. Stops at the end of the object, of the pipe or of the budget.
pub fn read_event(budget: Option<Duration>) -> anyhow::Result<Vec<u8>> {
    // A quarter of the budget is left for the reply.
    let deadline =
        Instant::now() + budget.map_or(STDIN_TIMEOUT, |budget| budget * 3 / 4).min(STDIN_TIMEOUT);

    let stdin = stdin();
    let mut bytes = Vec::with_capacity(FIRST_READ_BYTES);
    let mut scan = EventScan::default();
    while bytes.len() < MAX_STDIN_BYTES && !scan.is_complete {
        wait_readable(stdin, deadline)?;
        let known = bytes.len();
        if known == bytes.capacity() {
            bytes.reserve(known);
            if known == DEFAULT_PIPE_BYTES {
                // The kernel may refuse. Then the event comes in smaller parts.
                let _refused = fcntl_setpipe_size(stdin, LARGE_PIPE_BYTES);
            }
        }
        let count = retry_on_intr(|| read(stdin, spare_capacity(&mut bytes)));
        if count.context("cannot read stdin")? == 0 {
            INPUT_ENDED.store(true, Ordering::Relaxed);
            break;
        }

        let new = &bytes[known..];
        scan.push_bytes(new);
        // Only a newline after the object ends the caller's line.
        if scan.is_complete && new.ends_with(b"\n") {
            INPUT_ENDED.store(true, Ordering::Relaxed);
        }
    }

    bytes.truncate(MAX_STDIN_BYTES);
    Ok(bytes)
}

fn wait_readable(stdin: BorrowedFd<'_>, deadline: Instant) -> anyhow::Result<()> {
    let left = deadline.saturating_duration_since(Instant::now());
    let timeout = Timespec {
        tv_sec: i64::try_from(left.as_secs()).unwrap_or(i64::MAX),
        tv_nsec: i64::from(left.subsec_nanos()),
    };

    let mut fds = [PollFd::new(&stdin, PollFlags::IN)];
    match poll(&mut fds, Some(&timeout)) {
        Ok(0) => bail!("no event came on stdin in time"),
        Err(Errno::INTR) => wait_readable(stdin, deadline),
        // The following read reports errors of the descriptor.
        Ok(_) | Err(_) => Ok(()),
    }
}

/// Tracks brackets and strings to find the end of the object.
#[derive(Default)]
struct EventScan {
    depth: usize,
    in_string: bool,
    escaped: bool,
    is_complete: bool,
}

impl EventScan {
    /// Stops at the end of the object.
    fn push_bytes(&mut self, mut bytes: &[u8]) {
        // Compares several bytes at once, without asking the processor for its features.
        let string_end = Two::new(b'"', b'\\');
        while !self.is_complete {
            // Most bytes of a large event are inside a string.
            if self.in_string && !self.escaped {
                let Some(at) = string_end.find(bytes) else { return };
                bytes = &bytes[at..];
            }
            let Some((first, rest)) = bytes.split_first() else { return };
            self.push_byte(*first);
            bytes = rest;
        }
    }

    fn push_byte(&mut self, byte: u8) {
        match (self.in_string, byte) {
            (true, _) if self.escaped => self.escaped = false,
            (true, b'\\') => self.escaped = true,
            (true, b'"') => self.in_string = false,
            (true, _) => {}
            (false, b'"') => self.in_string = true,
            (false, b'{' | b'[') => self.depth += 1,
            (false, b'}' | b']') => {
                self.depth = self.depth.saturating_sub(1);
                self.is_complete |= self.depth == 0;
            }
            (false, _) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::EventScan;

    /// The number of bytes until the object is complete, by single bytes.
    fn complete_after(bytes: &[u8]) -> Option<usize> {
        let mut scan = EventScan::default();
        bytes.iter().position(|byte| {
            scan.push_byte(*byte);
            scan.is_complete
        })
    }

    proptest! {
        #[test]
        fn chunks_end_where_single_bytes_end(
            text in r#"[\[\]{}"\\a: é]{0,60}"#,
            cut in 0_usize..60,
        ) {
            let bytes = text.as_bytes();
            let (first, second) = bytes.split_at(cut.min(bytes.len()));
            let mut scan = EventScan::default();
            scan.push_bytes(first);
            scan.push_bytes(second);
            prop_assert_eq!(scan.is_complete, complete_after(bytes).is_some());
        }
    }
}
