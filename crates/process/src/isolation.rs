//! Namespaces of a process: the id maps of a user namespace, the messages for a refusal by the kernel,
//! and trial starts. `posix_spawn` starts the process.

use std::ffi::{CStr, CString};
use std::fmt;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::process::{getegid, geteuid};

use crate::orphans;
use crate::posix_spawn::{SpawnRequest, spawn_process, wait_for_exit};
use crate::private_view::{PrivateView, ViewFile};

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

/// A feature that the kernel can refuse. A process that needs it does not start without it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KernelRefusal {
    /// A PID namespace.
    Isolation,
    /// A mount namespace.
    MountNamespace,
    /// The hashed files in the mount namespace.
    PrivateView,
}

/// The kernel refused a feature that a process needs.
#[derive(Debug)]
pub struct KernelRefusalError(pub KernelRefusal, pub io::Error);

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

/// Why a trial start failed.
#[derive(Debug, thiserror::Error)]
pub enum TrialError {
    /// The program in the PID namespace failed.
    #[error("isolate: a program in a PID namespace does not exit with 0")]
    NotIsolated,
    /// The program saw other bytes.
    #[error("verified_exec: a program does not see the hashed bytes")]
    NotVerified,
    /// The file cannot be used.
    #[error("verified_exec: {}: {source}", file.display())]
    File {
        /// The file.
        file: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The program could not start.
    #[error(transparent)]
    Start(#[from] io::Error),
}

/// Tests whether a program can start in a PID namespace here.
pub fn try_isolation() -> Result<(), TrialError> {
    if start_trial(true, None)? { Ok(()) } else { Err(TrialError::NotIsolated) }
}

/// Tests whether a program sees hashed bytes in place of this file.
pub fn try_verified_exec(file: &Path) -> Result<(), TrialError> {
    let refused = |source: io::Error| TrialError::File { file: file.to_owned(), source };
    let file = std::fs::canonicalize(file).map_err(refused)?;
    let root = file.parent().unwrap_or(Path::new("/"));

    let shown = ViewFile { path: &file, mode: 0o755, bytes: b"#!/bin/sh\nexit 0\n" };
    let view = PrivateView::plan(root, &[shown]).map_err(refused)?;
    let path = CString::new(file.as_os_str().as_bytes());
    let path = path.map_err(|error| refused(error.into()))?;
    if start_trial(false, Some((&view, &path)))? { Ok(()) } else { Err(TrialError::NotVerified) }
}

/// Starts a program that does nothing, and waits for it. True if it exited with 0.
fn start_trial(isolate: bool, view: Option<(&PrivateView, &CStr)>) -> io::Result<bool> {
    let script = view.map_or(c"/dev/null", |(_, path)| path);
    let words = [c"/bin/sh", script].map(CString::from);
    let [path, ..] = &words;
    let request = SpawnRequest {
        path,
        argv: &words,
        streams: &[None, None, None],
        kill_with_parent: true,
        isolate,
        view: view.map(|(view, _)| view),
        ..SpawnRequest::default()
    };
    // Keeps other threads from taking it for an orphan and reaping it.
    let _birth = orphans::lock_spawns();
    let status = wait_for_exit(spawn_process(&request)?);
    Ok(status.is_some_and(|status| status.exit_status() == Some(0)))
}

#[cfg(test)]
mod tests {
    use std::io;

    use super::{KernelRefusal, KernelRefusalError};

    #[test]
    fn recognizes_refusals_only() {
        for code in [libc::EPERM, libc::ENOSPC, libc::EINVAL, libc::ENOSYS] {
            let os_error = io::Error::from_raw_os_error(code);
            let refused = KernelRefusalError(KernelRefusal::Isolation, os_error);
            let found = io::Error::other(refused).downcast::<KernelRefusalError>();
            let reason = found.unwrap().to_string();
            let expected = "isolate: the kernel refuses a PID namespace: ";
            assert!(reason.starts_with(expected), "{reason}");
        }
        let plain = io::Error::from_raw_os_error(libc::EPERM);
        assert!(plain.downcast::<KernelRefusalError>().is_err());
    }
}
