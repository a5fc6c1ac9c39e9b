//! What a hook in a PID namespace needs beside the start itself: the user's ids in there, and why
//! the kernel refused it. How a child is started is in `spawn`.

use std::ffi::CString;
use std::fmt;
use std::io;

use rustix::process::{WaitId, WaitIdOptions, getegid, geteuid, waitid};

use crate::orphans;
use crate::spawn::{Start, spawn};

/// The user's own ids, as the kernel wants them written for a user namespace.
pub(crate) struct IdMaps {
    pub uid: String,
    pub gid: String,
}

impl IdMaps {
    /// Each id as itself.
    pub fn of_process() -> Self {
        let (uid, gid) = (geteuid().as_raw(), getegid().as_raw());
        Self { uid: format!("{uid} {uid} 1"), gid: format!("{gid} {gid} 1") }
    }
}

/// The kernel makes no namespace for a hook.
#[derive(Debug)]
pub(crate) struct Refused(pub io::Error);

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "isolate: the kernel refuses a PID namespace: {}", self.0)?;
        match self.0.raw_os_error() {
            Some(libc::ENOSPC) => f.write_str(
                " (a limit in /proc/sys/user/max_pid_namespaces or max_user_namespaces is reached)",
            ),
            Some(libc::EPERM | libc::EACCES) => {
                f.write_str(" (this system does not allow it to this user)")
            }
            _ => Ok(()),
        }
    }
}

impl std::error::Error for Refused {}

/// What to tell the user, if this is a refusal.
pub(crate) fn refusal(error: &io::Error) -> Option<String> {
    error.get_ref().filter(|inner| inner.is::<Refused>()).map(ToString::to_string)
}

/// Tries whether a program can be started in a PID namespace here, or says why not.
pub fn try_isolation() -> Result<(), String> {
    let words = [c"/bin/sh", c"-c", c":"].map(CString::from);
    let [path, ..] = &words;
    let start = Start {
        path,
        argv: &words,
        env: &[],
        cwd: None,
        streams: &[None, None, None],
        kill_with_parent: true,
        isolate: true,
    };
    // Nobody else may take it for an orphan of a hook, and its exit code with it.
    let _birth = orphans::hold();
    let pid = spawn(&start).map_err(|error| error.to_string())?;
    let wait = || waitid(WaitId::Pid(pid), WaitIdOptions::EXITED);
    match rustix::io::retry_on_intr(wait) {
        Ok(Some(status)) if status.exit_status() == Some(0) => Ok(()),
        _ => Err("isolate: a program in a PID namespace does not end well".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use std::io;

    use super::{Refused, refusal};

    #[test]
    fn only_a_refusal_is_one() {
        let told = |code| io::Error::other(Refused(io::Error::from_raw_os_error(code)));
        for code in [libc::EPERM, libc::ENOSPC, libc::EINVAL, libc::ENOSYS] {
            let reason = refusal(&told(code)).unwrap_or_default();
            let expected = "isolate: the kernel refuses a PID namespace: ";
            assert!(reason.starts_with(expected), "{reason}");
        }
        assert_eq!(refusal(&io::Error::from_raw_os_error(libc::EPERM)), None);
    }
}
