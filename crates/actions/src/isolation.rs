//! Namespaces of a hook: the id maps of a user namespace, the messages for a refusal by the kernel,
//! and trial starts. `posix_spawn` starts the process.

use std::ffi::{CStr, CString};
use std::fmt;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use gambrel_model::watched::{VerifiedCopies, VerifiedCopy};
use rustix::process::{WaitId, WaitIdOptions, getegid, geteuid, waitid};

use crate::orphans;
use crate::posix_spawn::{SpawnRequest, spawn_process};
use crate::private_view::PrivateView;

/// The user's own ids, in the kernel's format for a user namespace.
pub(crate) struct IdMaps {
    pub uid: String,
    pub gid: String,
}

impl IdMaps {
    /// Maps each id to itself.
    pub fn from_process() -> Self {
        let (uid, gid) = (geteuid().as_raw(), getegid().as_raw());
        Self { uid: format!("{uid} {uid} 1"), gid: format!("{gid} {gid} 1") }
    }
}

/// A feature that the kernel can refuse. A hook that needs it does not start without it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum KernelRefusal {
    /// A PID namespace.
    Isolation,
    /// A mount namespace.
    MountNamespace,
    /// The hashed files in the mount namespace.
    PrivateView,
}

/// The kernel refused a feature that a hook needs.
#[derive(Debug)]
pub(crate) struct KernelRefusalError(pub KernelRefusal, pub io::Error);

impl fmt::Display for KernelRefusalError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = match self.0 {
            KernelRefusal::Isolation => "isolate: the kernel refuses a PID namespace",
            KernelRefusal::MountNamespace => "verified_exec: the kernel refuses a mount namespace",
            KernelRefusal::PrivateView => {
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

impl std::error::Error for KernelRefusalError {}

/// The message for the user, if this is a refusal.
pub(crate) fn refusal_message(error: &io::Error) -> Option<String> {
    error.get_ref().filter(|inner| inner.is::<KernelRefusalError>()).map(ToString::to_string)
}

/// Tests whether a program can start in a PID namespace here, or returns why not.
pub fn try_isolation() -> Result<(), String> {
    let failed = "isolate: a program in a PID namespace does not exit with 0";
    start_trial(true, None).map_err(|why| why.unwrap_or_else(|| failed.to_owned()))
}

/// Tests whether a program sees hashed bytes in place of this file, or returns why not.
pub fn try_verified_exec(file: &Path) -> Result<(), String> {
    let refused = |error: io::Error| format!("verified_exec: {}: {error}", file.display());
    let file = std::fs::canonicalize(file).map_err(refused)?;
    let root = file.parent().unwrap_or(Path::new("/")).to_owned();

    let copy = VerifiedCopy { path: file, mode: 0o755, bytes: b"#!/bin/sh\nexit 0\n".to_vec() };
    let view = PrivateView::plan(&VerifiedCopies { root, files: vec![copy.clone()] })?;
    let path = CString::new(copy.path.as_os_str().as_bytes());
    let path = path.map_err(|error| refused(error.into()))?;

    let failed = "verified_exec: a program does not see the hashed bytes";
    let tried = start_trial(false, Some((&view, &path)));
    tried.map_err(|why| why.unwrap_or_else(|| failed.to_owned()))
}

/// Starts a program that does nothing and waits for it. `None` is a failure without a reason.
fn start_trial(isolate: bool, view: Option<(&PrivateView, &CStr)>) -> Result<(), Option<String>> {
    let script = view.map_or(c"/dev/null", |(_, path)| path);
    let words = [c"/bin/sh", script].map(CString::from);
    let [path, ..] = &words;
    let request = SpawnRequest {
        path,
        argv: &words,
        env: &[],
        cwd: None,
        streams: &[None, None, None],
        kill_with_parent: true,
        isolate,
        view: view.map(|(view, _)| view),
    };
    // Keeps other threads from taking it for an orphan and reaping it.
    let _birth = orphans::lock_spawns();
    let pid = spawn_process(&request).map_err(|error| Some(error.to_string()))?;
    let wait = || waitid(WaitId::Pid(pid), WaitIdOptions::EXITED);
    match rustix::io::retry_on_intr(wait) {
        Ok(Some(status)) if status.exit_status() == Some(0) => Ok(()),
        _ => Err(None),
    }
}

#[cfg(test)]
mod tests {
    use std::io;

    use super::{KernelRefusal, KernelRefusalError, refusal_message};

    #[test]
    fn recognizes_refusals_only() {
        let refused = |code| {
            io::Error::other(KernelRefusalError(
                KernelRefusal::Isolation,
                io::Error::from_raw_os_error(code),
            ))
        };
        for code in [libc::EPERM, libc::ENOSPC, libc::EINVAL, libc::ENOSYS] {
            let reason = refusal_message(&refused(code)).unwrap_or_default();
            let expected = "isolate: the kernel refuses a PID namespace: ";
            assert!(reason.starts_with(expected), "{reason}");
        }
        assert_eq!(refusal_message(&io::Error::from_raw_os_error(libc::EPERM)), None);
    }
}
