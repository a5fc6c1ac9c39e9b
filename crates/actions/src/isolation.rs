//! What a hook in namespaces of its own needs beside the start itself: the user's ids in there, and
//! why the kernel refused it. How a child is started is in `spawn`.

use std::ffi::{CStr, CString};
use std::fmt;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use gambrel_model::watched::{VerifiedCopies, VerifiedCopy};
use rustix::process::{WaitId, WaitIdOptions, getegid, geteuid, waitid};

use crate::orphans;
use crate::private_view::PrivateView;
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

/// What the kernel can refuse to a hook that is not started without it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// A PID namespace.
    Isolation,
    /// A mount namespace.
    MountNamespace,
    /// The hashed files in there.
    PrivateView,
}

/// The kernel refuses what a hook is not started without.
#[derive(Debug)]
pub(crate) struct Refused(pub Refusal, pub io::Error);

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = match self.0 {
            Refusal::Isolation => "isolate: the kernel refuses a PID namespace",
            Refusal::MountNamespace => "verified_exec: the kernel refuses a mount namespace",
            Refusal::PrivateView => {
                "verified_exec: the kernel refuses to put the hashed files in place"
            }
        };
        write!(f, "{what}: {}", self.1)?;
        match self.1.raw_os_error() {
            Some(libc::ENOSPC) => f.write_str(
                " (a limit in /proc/sys/user, such as max_pid_namespaces, max_mnt_namespaces or \
                 max_user_namespaces, is reached)",
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
    let failed = "isolate: a program in a PID namespace does not end well";
    try_start(true, None).map_err(|why| why.unwrap_or_else(|| failed.to_owned()))
}

/// Tries whether nothing but hashed bytes can be executed here, or says why not: a program must see
/// other bytes than those of this file.
pub fn try_verified_exec(file: &Path) -> Result<(), String> {
    let refused = |error: io::Error| format!("verified_exec: {}: {error}", file.display());
    let file = std::fs::canonicalize(file).map_err(refused)?;
    let root = file.parent().unwrap_or(Path::new("/")).to_owned();
    let copy = VerifiedCopy { path: file, mode: 0o755, bytes: b"#!/bin/sh\nexit 0\n".to_vec() };
    let view = PrivateView::plan(&VerifiedCopies { root, files: vec![copy.clone()] })?;
    let path = CString::new(copy.path.as_os_str().as_bytes());
    let path = path.map_err(|error| refused(error.into()))?;
    let failed = "verified_exec: a program does not see the hashed bytes";
    let tried = try_start(false, Some((&view, &path)));
    tried.map_err(|why| why.unwrap_or_else(|| failed.to_owned()))
}

/// Starts a program that does nothing and waits for it. `None` is a bad end without a reason.
fn try_start(isolate: bool, seen: Option<(&PrivateView, &CStr)>) -> Result<(), Option<String>> {
    let script = seen.map_or(c"/dev/null", |(_, path)| path);
    let words = [c"/bin/sh", script].map(CString::from);
    let [path, ..] = &words;
    let start = Start {
        path,
        argv: &words,
        env: &[],
        cwd: None,
        streams: &[None, None, None],
        kill_with_parent: true,
        isolate,
        view: seen.map(|(view, _)| view),
    };
    // Nobody else may take it for an orphan of a hook, and its exit code with it.
    let _birth = orphans::hold();
    let pid = spawn(&start).map_err(|error| Some(error.to_string()))?;
    let wait = || waitid(WaitId::Pid(pid), WaitIdOptions::EXITED);
    match rustix::io::retry_on_intr(wait) {
        Ok(Some(status)) if status.exit_status() == Some(0) => Ok(()),
        _ => Err(None),
    }
}

#[cfg(test)]
mod tests {
    use std::io;

    use super::{Refusal, Refused, refusal};

    #[test]
    fn only_a_refusal_is_one() {
        let told = |code| {
            io::Error::other(Refused(Refusal::Isolation, io::Error::from_raw_os_error(code)))
        };
        for code in [libc::EPERM, libc::ENOSPC, libc::EINVAL, libc::ENOSYS] {
            let reason = refusal(&told(code)).unwrap_or_default();
            let expected = "isolate: the kernel refuses a PID namespace: ";
            assert!(reason.starts_with(expected), "{reason}");
        }
        assert_eq!(refusal(&io::Error::from_raw_os_error(libc::EPERM)), None);
    }
}
