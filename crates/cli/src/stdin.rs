//! Reads the event from stdin: one JSON object and nothing after it. A caller that keeps the pipe
//! open, or never writes, cannot block gambrel forever.

use std::io::Read;
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

/// One byte more than an event may have, so that a larger one is noticed.
const MAX_STDIN_BYTES: usize = 64 * 1024 * 1024 + 1;
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

    let mut stdin = std::io::stdin().lock();
    let mut chunk = [0; 512];
    while !INPUT_ENDED.load(Ordering::Relaxed) && wait_readable(&stdin, deadline).is_ok() {
        match stdin.read(&mut chunk) {
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

    let mut stdin = std::io::stdin().lock();
    let mut bytes = Vec::new();
    let mut scan = EventScan::default();
    let mut chunk = [0; 8 * 1024];
    while bytes.len() < MAX_STDIN_BYTES && !scan.is_complete {
        wait_readable(&stdin, deadline)?;
        let count = stdin.read(&mut chunk).context("cannot read stdin")?;
        if count == 0 {
            INPUT_ENDED.store(true, Ordering::Relaxed);
            break;
        }

        let new = &chunk[..count];
        new.iter().for_each(|byte| scan.push_byte(*byte));
        // Only a newline after the object ends the caller's line.
        if scan.is_complete && new.ends_with(b"\n") {
            INPUT_ENDED.store(true, Ordering::Relaxed);
        }
        bytes.extend_from_slice(new);
    }

    bytes.truncate(MAX_STDIN_BYTES);
    Ok(bytes)
}

fn wait_readable(stdin: &impl AsFd, deadline: Instant) -> anyhow::Result<()> {
    let left = deadline.saturating_duration_since(Instant::now());
    let timeout = Timespec {
        tv_sec: i64::try_from(left.as_secs()).unwrap_or(i64::MAX),
        tv_nsec: i64::from(left.subsec_nanos()),
    };

    let mut fds = [PollFd::new(stdin, PollFlags::IN)];
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
