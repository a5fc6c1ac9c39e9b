//! Finding a program as a shell finds it: along the PATH of the child, from the folder of the
//! child. It starts nothing.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::{Access, access};

/// Where programs are looked for when the child has no PATH.
const USUAL: &[u8] = b"/usr/local/bin:/usr/bin:/bin";

/// The program behind a bare name, along a PATH; relative folders in it start at `cwd`.
pub(crate) fn on_path(name: &[u8], path: Option<&[u8]>, cwd: &Path) -> Option<PathBuf> {
    if name.is_empty() {
        return None;
    }
    path.unwrap_or(USUAL)
        .split(|byte| *byte == b':')
        .map(|folder| cwd.join(OsStr::from_bytes(folder)).join(OsStr::from_bytes(name)))
        .find(|file| runnable(file))
}

/// Whether this is a file that we may execute.
pub(crate) fn runnable(file: &Path) -> bool {
    access(file, Access::EXEC_OK).is_ok() && file.is_file()
}
