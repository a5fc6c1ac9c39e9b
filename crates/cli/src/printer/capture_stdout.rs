//! Keeps stdout for the reply. While modules run inside this process, their writes to stdout go to
//! stderr or to /dev/null.

use std::fs::OpenOptions;
use std::os::fd::{AsFd, OwnedFd};

use rustix::fs::fstat;
use rustix::io::{fcntl_dupfd_cloexec, retry_on_intr};
use rustix::stdio::dup2_stdout;

/// The first descriptor above stdin, stdout and stderr.
const FIRST_FREE_FD: i32 = 3;

/// Runs `work` with stdout redirected.
pub fn with_stdout_redirected<T>(work: impl FnOnce() -> T) -> T {
    let kept = redirect_stdout();
    let made = work();

    if let Some(kept) = kept {
        // Without this record the reply would go to stderr and the exit code would be 0.
        if let Err(error) = retry_on_intr(|| dup2_stdout(&kept)) {
            super::record_write_error(&error.into());
        }
    }
    made
}

/// Duplicates stdout and replaces it by stderr, or by /dev/null if both are the same file.
fn redirect_stdout() -> Option<OwnedFd> {
    let (out, err) = (std::io::stdout(), std::io::stderr());
    let kept = fcntl_dupfd_cloexec(&out, FIRST_FREE_FD).ok()?;

    let place = |fd: &dyn AsFd| fstat(fd.as_fd()).map(|stat| (stat.st_dev, stat.st_ino)).ok();
    let same = place(&out) == place(&err);
    let nowhere = || OpenOptions::new().write(true).open("/dev/null").ok();

    let put = if same { dup2_stdout(nowhere()?) } else { dup2_stdout(&err) };
    put.is_ok().then_some(kept)
}
