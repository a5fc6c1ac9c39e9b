//! Files as wholes, by their paths: read, written, moved, copied, linked, marked.

use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::Duration;

use rustix::fs::{Access, AtFlags, Timespec, Timestamps};
use serde_json::{Value, json};

use super::descriptors::{fill, opened, place, whole};
use super::{OpError, bytes};
use crate::desk::Desk;

/// All of a file as text in UTF-8.
pub fn read_text(desk: &Desk, args: Value) -> Result<Value, OpError> {
    let shown = args["path"].as_str().unwrap_or_default();
    let how = json!({"path": shown, "how": {"read": true}});
    let file = opened(desk, &how).map_err(|e| OpError::io(&e, "open", shown))?;
    let held = whole(&file, desk.settings.memory / 4).map_err(|e| OpError::call(&e, "read"))?;
    Ok(json!(String::from_utf8_lossy(&held)))
}

/// Writes a file as `args.how` says.
pub fn write(desk: &Desk, args: Value) -> Result<Value, OpError> {
    let shown = args["path"].as_str().unwrap_or_default();
    let file = opened(desk, &args).map_err(|e| OpError::io(&e, "open", shown))?;
    let written = fill(&file, &bytes::field(&args, "data"));
    written.map(|()| Value::Null).map_err(|e| OpError::call(&e, "write"))
}

/// Does `args.do` with `args.path`, and with `args.to` where there are two.
pub fn change(desk: &Desk, args: Value) -> Result<Value, OpError> {
    let shown = args["path"].as_str().unwrap_or_default();
    let what = args["do"].as_str().unwrap_or_default();
    let (path, to) = (place(desk, &args, "path"), place(desk, &args, "to"));
    let nothing = |()| Value::Null;
    let text = |path: std::path::PathBuf| json!(path.display().to_string());
    let done = match what {
        "unlink" => fs::remove_file(&path).map(nothing),
        "rmdir" => fs::remove_dir(&path).map(nothing),
        "rename" => fs::rename(&path, &to).map(nothing),
        "copyfile" => copy(&path, &to, args["exclusive"] == true).map(nothing),
        "realpath" => fs::canonicalize(&path).map(text),
        "readlink" => fs::read_link(&path).map(text),
        "link" => fs::hard_link(&path, &to).map(nothing),
        // What a link says is kept as it was written: it counts from the link's own folder.
        "symlink" => std::os::unix::fs::symlink(shown, &to).map(nothing),
        "access" => access(&path, &args).map(nothing),
        "chmod" => {
            let mode = args["mode"].as_u64().and_then(|m| u32::try_from(m).ok());
            fs::set_permissions(&path, fs::Permissions::from_mode(mode.unwrap_or(0o666)))
                .map(nothing)
        }
        "utime" => touch(&path, &args).map(nothing),
        "truncate" => opened(desk, &json!({"path": shown, "how": {"write": true}}))
            .and_then(|file| file.set_len(args["length"].as_u64().unwrap_or_default()))
            .map(nothing),
        _ => return Err(OpError::new(format!("no native named {what}"))),
    };
    done.map_err(|error| OpError::io(&error, what, shown))
}

fn copy(from: &Path, to: &Path, exclusive: bool) -> io::Result<()> {
    // A pipe would be waited for; only what has an end is copied.
    if !from.metadata()?.is_file() {
        let errno = rustix::io::Errno::INVAL;
        return Err(io::Error::from_raw_os_error(errno.raw_os_error()));
    }
    if exclusive {
        fs::OpenOptions::new().write(true).create_new(true).open(to)?;
    }
    fs::copy(from, to).map(|_| ())
}

fn access(path: &Path, args: &Value) -> io::Result<()> {
    let mode = args["mode"].as_u64().and_then(|m| u32::try_from(m).ok()).unwrap_or_default();
    let pairs = [(4, Access::READ_OK), (2, Access::WRITE_OK), (1, Access::EXEC_OK)];
    let wanted = pairs.iter().filter(|(bit, _)| mode & bit != 0);
    let wanted = wanted.fold(Access::EXISTS, |sum, (_, one)| sum | *one);
    Ok(rustix::fs::access(path, wanted)?)
}

fn touch(path: &Path, args: &Value) -> io::Result<()> {
    let at = |name: &str| {
        let seconds = args[name].as_f64().filter(|s| *s >= 0.0).unwrap_or_default();
        let since = Duration::try_from_secs_f64(seconds).unwrap_or_default();
        let tv_sec = since.as_secs().try_into().unwrap_or_default();
        Timespec { tv_sec, tv_nsec: since.subsec_nanos().into() }
    };
    let times = Timestamps { last_access: at("atime"), last_modification: at("mtime") };
    Ok(rustix::fs::utimensat(rustix::fs::CWD, path, &times, AtFlags::empty())?)
}
