//! Operations on whole files by path: read, write, move, copy, link, change metadata.

use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::Duration;

use rustix::fs::{Access, AtFlags, Timespec, Timestamps};
use serde_json::{Value, json};

use super::descriptors::{open_nonblocking, read_fully, resolve_path, write_fully};
use super::{OpError, bytes};
use crate::runtime::HostState;

/// The content of a file as UTF-8 text.
pub fn read_text_file(state: &HostState, args: Value) -> Result<Value, OpError> {
    let shown = args["path"].as_str().unwrap_or_default();
    let how = json!({"path": shown, "how": {"read": true}});
    let file = open_nonblocking(state, &how).map_err(|e| OpError::io_error(&e, "open", shown))?;
    let content = read_fully(&file, state.settings.memory_bytes / 4)
        .map_err(|e| OpError::call_error(&e, "read"))?;
    Ok(json!(String::from_utf8_lossy(&content)))
}

/// Writes a file with the open flags in `args.how`.
pub fn write_file(state: &HostState, args: Value) -> Result<Value, OpError> {
    let shown = args["path"].as_str().unwrap_or_default();
    let file = open_nonblocking(state, &args).map_err(|e| OpError::io_error(&e, "open", shown))?;
    let written = write_fully(&file, &bytes::bytes_field(&args, "data"));
    written.map(|()| Value::Null).map_err(|e| OpError::call_error(&e, "write"))
}

/// Runs the system call `args.do` on `args.path`, and on `args.to` if it takes two paths.
pub fn change_file(state: &HostState, args: Value) -> Result<Value, OpError> {
    let shown = args["path"].as_str().unwrap_or_default();
    let what = args["do"].as_str().unwrap_or_default();
    let (path, to) = (resolve_path(state, &args, "path"), resolve_path(state, &args, "to"));

    let nothing = |()| Value::Null;
    let text = |path: std::path::PathBuf| json!(path.display().to_string());

    let done = match what {
        "unlink" => fs::remove_file(&path).map(nothing),
        "rmdir" => fs::remove_dir(&path).map(nothing),
        "rename" => fs::rename(&path, &to).map(nothing),
        "copyfile" => copy_file(&path, &to, args["exclusive"] == true).map(nothing),
        "realpath" => fs::canonicalize(&path).map(text),
        "readlink" => fs::read_link(&path).map(text),
        "link" => fs::hard_link(&path, &to).map(nothing),
        // A link's target stays as written: it is relative to the link's directory.
        "symlink" => std::os::unix::fs::symlink(shown, &to).map(nothing),
        "access" => check_access(&path, &args).map(nothing),
        "chmod" => {
            let mode = args["mode"].as_u64().and_then(|m| u32::try_from(m).ok());
            fs::set_permissions(&path, fs::Permissions::from_mode(mode.unwrap_or(0o666)))
                .map(nothing)
        }
        "utime" => set_times(&path, &args).map(nothing),
        "truncate" => open_nonblocking(state, &json!({"path": shown, "how": {"write": true}}))
            .and_then(|file| file.set_len(args["length"].as_u64().unwrap_or_default()))
            .map(nothing),
        _ => return Err(OpError::new(format!("unknown file operation `{what}`"))),
    };
    done.map_err(|error| OpError::io_error(&error, what, shown))
}

fn copy_file(from: &Path, to: &Path, exclusive: bool) -> io::Result<()> {
    // Reading a pipe would block, so only regular files are copied.
    if !from.metadata()?.is_file() {
        let errno = rustix::io::Errno::INVAL;
        return Err(io::Error::from_raw_os_error(errno.raw_os_error()));
    }
    if exclusive {
        fs::OpenOptions::new().write(true).create_new(true).open(to)?;
    }
    fs::copy(from, to).map(|_| ())
}

fn check_access(path: &Path, args: &Value) -> io::Result<()> {
    let mode = args["mode"].as_u64().and_then(|m| u32::try_from(m).ok()).unwrap_or_default();
    let pairs = [(4, Access::READ_OK), (2, Access::WRITE_OK), (1, Access::EXEC_OK)];
    let wanted = pairs.iter().filter(|(bit, _)| mode & bit != 0);
    let wanted = wanted.fold(Access::EXISTS, |sum, (_, one)| sum | *one);
    Ok(rustix::fs::access(path, wanted)?)
}

fn set_times(path: &Path, args: &Value) -> io::Result<()> {
    let at = |name: &str| {
        let seconds = args[name].as_f64().filter(|s| *s >= 0.0).unwrap_or_default();
        let since = Duration::try_from_secs_f64(seconds).unwrap_or_default();
        let tv_sec = since.as_secs().try_into().unwrap_or_default();
        Timespec { tv_sec, tv_nsec: since.subsec_nanos().into() }
    };
    let times = Timestamps { last_access: at("atime"), last_modification: at("mtime") };
    Ok(rustix::fs::utimensat(rustix::fs::CWD, path, &times, AtFlags::empty())?)
}
