//! Lists, creates and removes directories.

use std::collections::VecDeque;
use std::fs;
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::descriptors::resolve_path;
use super::{OpError, bytes, stat};
use crate::runtime::HostState;

const MAX_ENTRIES: usize = 100_000;
const SUFFIX_CHARS: &[u8; 62] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";

/// The entries of `args.path` as `[name, kind, directory]`, the directory relative to the path.
pub fn list_dir(state: &HostState, args: Value) -> Result<Value, OpError> {
    let shown = args["path"].as_str().unwrap_or_default();
    let root = resolve_path(state, &args, "path");
    let mut found = Vec::new();

    let mut folders = VecDeque::from([PathBuf::new()]);
    while let Some(folder) = folders.pop_front() {
        let mut own = read_entries(&root.join(&folder))
            .map_err(|e| OpError::io_error(&e, "scandir", shown))?;
        own.sort();
        for (name, kind) in own {
            if kind == "folder" && args["recursive"] == true {
                folders.push_back(folder.join(&name));
            }
            found.push(json!([name, kind, folder.display().to_string()]));
        }
        if found.len() > MAX_ENTRIES {
            return Err(
                OpError::new("the directory has more than 100000 entries").with_code("E2BIG")
            );
        }
    }
    Ok(Value::Array(found))
}

fn read_entries(folder: &Path) -> io::Result<Vec<(String, &'static str)>> {
    let to_entry = |entry: io::Result<fs::DirEntry>| {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        Ok((name, stat::file_kind(entry.file_type()?)))
    };
    fs::read_dir(folder)?.take(MAX_ENTRIES + 1).map(to_entry).collect()
}

/// Creates a directory. With `args.recursive` also its parents; returns the first that was created.
pub fn make_dir(state: &HostState, args: Value) -> Result<Value, OpError> {
    let shown = args["path"].as_str().unwrap_or_default();
    let path = resolve_path(state, &args, "path");
    let mode = args["mode"].as_u64().and_then(|m| u32::try_from(m).ok()).unwrap_or(0o777);

    // The standard library accepts an empty path in recursive mode; Node does not.
    let recursive = args["recursive"] == true && !shown.is_empty();
    let given = Path::new(shown).ancestors().filter(|p| !p.as_os_str().is_empty());
    let absent = |p: &&Path| recursive && !state.call_env().cwd.join(p).exists();
    let first = given.take_while(absent).last();

    let made = fs::DirBuilder::new().mode(mode).recursive(recursive).create(&path);
    made.map_err(|e| OpError::io_error(&e, "mkdir", shown))?;
    Ok(json!(first.map(|p| p.display().to_string())))
}

/// Creates a directory whose name is `args.path` and six random characters.
pub fn make_temp_dir(state: &HostState, args: Value) -> Result<Value, OpError> {
    let shown = args["path"].as_str().unwrap_or_default();
    let mut failed = io::Error::from(io::ErrorKind::AlreadyExists);
    for _ in 0..16 {
        let name = format!("{shown}{}", random_suffix()?);
        let path = state.call_env().cwd.join(&name);
        match fs::DirBuilder::new().mode(0o700).create(path) {
            Ok(()) => return Ok(json!(name)),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => failed = error,
            Err(error) => {
                return Err(OpError::io_error(
                    &error,
                    "mkdtemp",
                    &format!("{shown}{}", "X".repeat(6)),
                ));
            }
        }
    }
    Err(OpError::io_error(&failed, "mkdtemp", &format!("{shown}{}", "X".repeat(6))))
}

fn random_suffix() -> Result<String, OpError> {
    let mut six = [0; 6];
    getrandom::fill(&mut six).map_err(|e| OpError::new(format!("cannot get random bytes: {e}")))?;
    let pick_char =
        |b: &u8| SUFFIX_CHARS.get(usize::from(*b) % SUFFIX_CHARS.len()).copied().unwrap_or(b'x');
    Ok(bytes::pack_bytes(&six.iter().map(pick_char).collect::<Vec<_>>()))
}

/// Removes a file, or a directory if `args.recursive`. `args.force` ignores a missing path.
pub fn remove_path(state: &HostState, args: Value) -> Result<Value, OpError> {
    let shown = args["path"].as_str().unwrap_or_default();
    let path = resolve_path(state, &args, "path");
    let folder = match path.symlink_metadata() {
        Ok(meta) => meta.is_dir(),
        Err(e) if e.kind() == io::ErrorKind::NotFound && args["force"] == true => {
            return Ok(Value::Null);
        }
        Err(e) => return Err(OpError::io_error(&e, "lstat", shown)),
    };

    if folder && args["recursive"] != true {
        let message = format!("Path is a directory: rm returned EISDIR (is a directory) {shown}");
        return Err(OpError::new(message).with_code("ERR_FS_EISDIR"));
    }

    let gone = if folder { fs::remove_dir_all(&path) } else { fs::remove_file(&path) };
    gone.map(|()| Value::Null).map_err(|e| OpError::io_error(&e, "rm", shown))
}
