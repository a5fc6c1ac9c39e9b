//! The wordings of Node's errors that name no file.

use std::io;

use super::{OpError, name_of};

impl OpError {
    /// `spawn no-such ENOENT`, with the program as its path.
    pub fn spawn(error: &io::Error, syscall: &str, path: &str) -> Self {
        Self { path: Some(path.into()), ..Self::bare(error, syscall) }
    }

    /// `EBADF: bad file descriptor, read`.
    pub fn call(error: &io::Error, syscall: &str) -> Self {
        let (code, words) = name_of(error);
        let mut made = Self::named(error, String::new(), syscall);
        made.message = format!("{code}: {words}, {syscall}");
        made
    }

    /// `kill ESRCH`.
    pub fn bare(error: &io::Error, syscall: &str) -> Self {
        Self::named(error, format!("{syscall} "), syscall)
    }

    fn named(error: &io::Error, before: String, syscall: &str) -> Self {
        let (code, _) = name_of(error);
        Self {
            message: format!("{before}{code}"),
            code: Some(code.into()),
            errno: error.raw_os_error().map(|n| -n),
            syscall: Some(syscall.into()),
            path: None,
        }
    }
}
