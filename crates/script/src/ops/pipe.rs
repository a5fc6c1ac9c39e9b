//! A pipe that a thread of its own reads, seen by whoever waits for that thread: on a busy machine it
//! may be slow to come to what is there. Tells that from a pipe that somebody merely holds open.

use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::fcntl_dupfd_cloexec;

/// The same pipe under another number.
pub struct Pipe {
    fd: OwnedFd,
    over: Arc<AtomicBool>,
}

/// For the reader, to tell that it has seen the end.
pub struct End(Arc<AtomicBool>);

impl End {
    /// The end was seen.
    pub fn seen(&self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

impl Pipe {
    /// Of a stream that is about to be read.
    pub fn of(stream: &impl AsFd) -> (Option<Self>, End) {
        let over = Arc::new(AtomicBool::new(false));
        let fd = fcntl_dupfd_cloexec(stream, 0).ok();
        (fd.map(|fd| Self { fd, over: Arc::clone(&over) }), End(over))
    }

    /// Whether there is something, or the end, that its reader has not come to yet.
    pub fn brings_more(&self) -> bool {
        let mut fds = [PollFd::new(&self.fd, PollFlags::IN)];
        let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
        let ready = poll(&mut fds, Some(&at_once)).is_ok_and(|ready| ready > 0);
        ready && !self.over.load(Ordering::SeqCst)
    }
}
