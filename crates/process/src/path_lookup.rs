//! Finds a program as a shell does: along the child's PATH, from the child's directory.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::{Access, access};

/// The search path when the child has no PATH.
const DEFAULT_PATH: &[u8] = b"/usr/local/bin:/usr/bin:/bin";

/// The program with a bare name, along a PATH; relative directories in it start at `cwd`.
pub fn find_on_path(name: &[u8], path: Option<&[u8]>, cwd: &Path) -> Option<PathBuf> {
    if name.is_empty() {
        return None;
    }
    path.unwrap_or(DEFAULT_PATH)
        .split(|byte| *byte == b':')
        .map(|folder| cwd.join(OsStr::from_bytes(folder)).join(OsStr::from_bytes(name)))
        .find(|file| is_executable(file))
}

/// Whether this is a file that the user may execute.
pub fn is_executable(file: &Path) -> bool {
    access(file, Access::EXEC_OK).is_ok() && file.is_file()
}
