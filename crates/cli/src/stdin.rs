//! The event on stdin: one JSON object, read to its end and no further. A caller that keeps the pipe
//! open, or never writes, does not keep us waiting for ever.

use std::io::Read;
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

/// The most that is read: one byte more than is taken, so that too much is noticed.
const MAX_STDIN_BYTES: usize = 64 * 1024 * 1024 + 1;
/// How long a caller may take to say what happened.
const PATIENCE: Duration = Duration::from_secs(60);

/// How long a caller is given to end the line or the pipe after its event.
const TAIL_WINDOW: Duration = Duration::from_millis(100);

/// Whether the caller has ended its line or closed the pipe: it is writing nothing more.
static ENDED: AtomicBool = AtomicBool::new(false);

/// Reads on until the line or the pipe ends, 100 ms at most. Work starts as soon as the object is
/// complete; a caller that writes its newline later must not find the pipe closed.
pub fn drain_tail() {
    let deadline = Instant::now() + TAIL_WINDOW;
    let mut stdin = std::io::stdin().lock();
    let mut chunk = [0; 512];
    while !ENDED.load(Ordering::Relaxed) && wait(&stdin, deadline).is_ok() {
        match stdin.read(&mut chunk) {
            Ok(count) if count > 0 && !chunk[..count].contains(&b'\n') => {}
            _ => ENDED.store(true, Ordering::Relaxed),
        }
    }
}

/// The event's bytes. Ends with the object, with the pipe, or with the budget.
pub fn event(budget: Option<Duration>) -> anyhow::Result<Vec<u8>> {
    // Some of the budget is left to say that nothing came.
    let deadline = Instant::now() + budget.map_or(PATIENCE, |budget| budget * 3 / 4).min(PATIENCE);
    let mut stdin = std::io::stdin().lock();
    let mut bytes = Vec::new();
    let mut scan = Scan::default();
    let mut chunk = [0; 8 * 1024];
    while bytes.len() < MAX_STDIN_BYTES && !scan.whole {
        wait(&stdin, deadline)?;
        let count = stdin.read(&mut chunk).context("stdin cannot be read")?;
        if count == 0 {
            ENDED.store(true, Ordering::Relaxed);
            break;
        }
        let new = &chunk[..count];
        new.iter().for_each(|byte| scan.take(*byte));
        // Only a newline after the object ends the caller's line.
        if scan.whole && new.ends_with(b"\n") {
            ENDED.store(true, Ordering::Relaxed);
        }
        bytes.extend_from_slice(new);
    }
    bytes.truncate(MAX_STDIN_BYTES);
    Ok(bytes)
}

fn wait(stdin: &impl AsFd, deadline: Instant) -> anyhow::Result<()> {
    let left = deadline.saturating_duration_since(Instant::now());
    let timeout = Timespec {
        tv_sec: i64::try_from(left.as_secs()).unwrap_or(i64::MAX),
        tv_nsec: i64::from(left.subsec_nanos()),
    };
    let mut fds = [PollFd::new(stdin, PollFlags::IN)];
    match poll(&mut fds, Some(&timeout)) {
        Ok(0) => bail!("no event came on stdin in time"),
        Err(Errno::INTR) => wait(stdin, deadline),
        // What is wrong with the descriptor is for the read to say.
        Ok(_) | Err(_) => Ok(()),
    }
}

/// Follows brackets and strings, to know where an object ends.
#[derive(Default)]
struct Scan {
    depth: usize,
    in_string: bool,
    escaped: bool,
    whole: bool,
}

impl Scan {
    fn take(&mut self, byte: u8) {
        match (self.in_string, byte) {
            (true, _) if self.escaped => self.escaped = false,
            (true, b'\\') => self.escaped = true,
            (true, b'"') => self.in_string = false,
            (true, _) => {}
            (false, b'"') => self.in_string = true,
            (false, b'{' | b'[') => self.depth += 1,
            (false, b'}' | b']') => {
                self.depth = self.depth.saturating_sub(1);
                self.whole |= self.depth == 0;
            }
            (false, _) => {}
        }
    }
}
