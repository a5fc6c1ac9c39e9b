//! Watches a pipe that another thread reads. Distinguishes unread data from a pipe that a process
//! merely keeps open.

use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::fcntl_dupfd_cloexec;

/// A second descriptor of the pipe.
pub struct WatchedPipe {
    fd: OwnedFd,
    read_to_end: Arc<AtomicBool>,
}

/// The reader marks here that it has read to the end.
pub struct PipeEnd(Arc<AtomicBool>);

impl PipeEnd {
    /// Marks the end as read.
    pub fn mark_read(&self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

impl WatchedPipe {
    /// Watches a stream before a thread reads it.
    pub fn watch_stream(stream: &impl AsFd) -> (Option<Self>, PipeEnd) {
        let read_to_end = Arc::new(AtomicBool::new(false));
        let fd = fcntl_dupfd_cloexec(stream, 0).ok();
        (fd.map(|fd| Self { fd, read_to_end: Arc::clone(&read_to_end) }), PipeEnd(read_to_end))
    }

    /// Whether the pipe has data, or its end, that the reader has not read yet.
    pub fn has_unread(&self) -> bool {
        let mut fds = [PollFd::new(&self.fd, PollFlags::IN)];
        let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
        let ready = poll(&mut fds, Some(&at_once)).is_ok_and(|ready| ready > 0);
        ready && !self.read_to_end.load(Ordering::SeqCst)
    }
}
