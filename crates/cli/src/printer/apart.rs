//! Standard output belongs to the reply. While hooks run inside this process, what they write to it
//! under whatever name goes elsewhere.

use std::fs::OpenOptions;
use std::os::fd::{AsFd, OwnedFd};

use rustix::fs::fstat;
use rustix::io::{fcntl_dupfd_cloexec, retry_on_intr};
use rustix::stdio::dup2_stdout;

/// The numbers below are taken.
const FREE: i32 = 3;

/// Runs what may let hooks run in this process.
pub fn apart<T>(work: impl FnOnce() -> T) -> T {
    let kept = set_aside();
    let made = work();
    if let Some(kept) = kept {
        // Otherwise the reply would go to stderr, and the exit code would say that all went well.
        if let Err(error) = retry_on_intr(|| dup2_stdout(&kept)) {
            super::note_lost(&error.into());
        }
    }
    made
}

/// The real standard output, with another in its place: that for people, unless both are one.
fn set_aside() -> Option<OwnedFd> {
    let (out, err) = (std::io::stdout(), std::io::stderr());
    let kept = fcntl_dupfd_cloexec(&out, FREE).ok()?;
    let place = |fd: &dyn AsFd| fstat(fd.as_fd()).map(|stat| (stat.st_dev, stat.st_ino)).ok();
    let same = place(&out) == place(&err);
    let nowhere = || OpenOptions::new().write(true).open("/dev/null").ok();
    let put = match same {
        true => dup2_stdout(nowhere()?),
        false => dup2_stdout(&err),
    };
    put.is_ok().then_some(kept)
}
