//! Folders: listed, made, taken away with what is in them.

use std::collections::VecDeque;
use std::fs;
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::descriptors::place;
use super::{OpError, bytes, stat};
use crate::desk::Desk;

const MAX_ENTRIES: usize = 100_000;
const LETTERS: &[u8; 62] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";

/// What is in `args.path`: `[name, kind, folder]`, the folder relative to the path.
pub fn list(desk: &Desk, args: Value) -> Result<Value, OpError> {
    let shown = args["path"].as_str().unwrap_or_default();
    let root = place(desk, &args, "path");
    let mut found = Vec::new();
    let mut folders = VecDeque::from([PathBuf::new()]);
    while let Some(folder) = folders.pop_front() {
        let mut own =
            entries(&root.join(&folder)).map_err(|e| OpError::io(&e, "scandir", shown))?;
        own.sort();
        for (name, kind) in own {
            if kind == "folder" && args["recursive"] == true {
                folders.push_back(folder.join(&name));
            }
            found.push(json!([name, kind, folder.display().to_string()]));
        }
        if found.len() > MAX_ENTRIES {
            return Err(OpError::new("the folder has more than 100000 entries").code("E2BIG"));
        }
    }
    Ok(Value::Array(found))
}

fn entries(folder: &Path) -> io::Result<Vec<(String, &'static str)>> {
    let one = |entry: io::Result<fs::DirEntry>| {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        Ok((name, stat::kind(entry.file_type()?)))
    };
    fs::read_dir(folder)?.take(MAX_ENTRIES + 1).map(one).collect()
}

/// Makes a folder; with `args.recursive` its parents too, and then tells the first that was made.
pub fn make(desk: &Desk, args: Value) -> Result<Value, OpError> {
    let shown = args["path"].as_str().unwrap_or_default();
    let path = place(desk, &args, "path");
    let mode = args["mode"].as_u64().and_then(|m| u32::try_from(m).ok()).unwrap_or(0o777);
    // The system library takes the parents of an empty path for made.
    let recursive = args["recursive"] == true && !shown.is_empty();
    let given = Path::new(shown).ancestors().filter(|p| !p.as_os_str().is_empty());
    let absent = |p: &&Path| recursive && !desk.surround().cwd.join(p).exists();
    let first = given.take_while(absent).last();
    let made = fs::DirBuilder::new().mode(mode).recursive(recursive).create(&path);
    made.map_err(|e| OpError::io(&e, "mkdir", shown))?;
    Ok(json!(first.map(|p| p.display().to_string())))
}

/// Makes a folder whose name begins with `args.path` and ends in six letters of chance.
pub fn make_temporary(desk: &Desk, args: Value) -> Result<Value, OpError> {
    let shown = args["path"].as_str().unwrap_or_default();
    let mut failed = io::Error::from(io::ErrorKind::AlreadyExists);
    for _ in 0..16 {
        let name = format!("{shown}{}", chance()?);
        let path = desk.surround().cwd.join(&name);
        match fs::DirBuilder::new().mode(0o700).create(path) {
            Ok(()) => return Ok(json!(name)),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => failed = error,
            Err(error) => {
                return Err(OpError::io(&error, "mkdtemp", &format!("{shown}{}", "X".repeat(6))));
            }
        }
    }
    Err(OpError::io(&failed, "mkdtemp", &format!("{shown}{}", "X".repeat(6))))
}

fn chance() -> Result<String, OpError> {
    let mut six = [0; 6];
    getrandom::fill(&mut six).map_err(|e| OpError::new(format!("no random bytes: {e}")))?;
    let letter = |b: &u8| LETTERS.get(usize::from(*b) % LETTERS.len()).copied().unwrap_or(b'x');
    Ok(bytes::packed(&six.iter().map(letter).collect::<Vec<_>>()))
}

/// Takes away a file, or a folder if `args.recursive`; `args.force` minds no absence.
pub fn remove(desk: &Desk, args: Value) -> Result<Value, OpError> {
    let shown = args["path"].as_str().unwrap_or_default();
    let path = place(desk, &args, "path");
    let folder = match path.symlink_metadata() {
        Ok(meta) => meta.is_dir(),
        Err(e) if e.kind() == io::ErrorKind::NotFound && args["force"] == true => {
            return Ok(Value::Null);
        }
        Err(e) => return Err(OpError::io(&e, "lstat", shown)),
    };
    if folder && args["recursive"] != true {
        let message = format!("Path is a directory: rm returned EISDIR (is a directory) {shown}");
        return Err(OpError::new(message).code("ERR_FS_EISDIR"));
    }
    let gone = if folder { fs::remove_dir_all(&path) } else { fs::remove_file(&path) };
    gone.map(|()| Value::Null).map_err(|e| OpError::io(&e, "rm", shown))
}
