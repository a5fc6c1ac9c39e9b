//! Messages of Node's errors that name no file.

use std::io;

use super::{OpError, error_name};

impl OpError {
    /// `spawn no-such ENOENT`, with the program as its path.
    pub fn spawn_error(error: &io::Error, syscall: &str, path: &str) -> Self {
        Self { path: Some(path.into()), ..Self::bare_error(error, syscall) }
    }

    /// `EBADF: bad file descriptor, read`.
    pub fn call_error(error: &io::Error, syscall: &str) -> Self {
        let (code, text) = error_name(error);
        let mut made = Self::from_errno(error, String::new(), syscall);
        made.message = format!("{code}: {text}, {syscall}");
        made
    }

    /// `kill ESRCH`.
    pub fn bare_error(error: &io::Error, syscall: &str) -> Self {
        Self::from_errno(error, format!("{syscall} "), syscall)
    }

    fn from_errno(error: &io::Error, before: String, syscall: &str) -> Self {
        let (code, _) = error_name(error);
        Self {
            message: format!("{before}{code}"),
            code: Some(code.into()),
            errno: error.raw_os_error().map(|n| -n),
            syscall: Some(syscall.into()),
            path: None,
        }
    }
}
