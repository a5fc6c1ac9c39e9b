//! File metadata under Node's field names.

use std::fs::{FileType, Metadata};
use std::os::unix::fs::{FileTypeExt, MetadataExt};

use serde_json::{Value, json};

use super::OpError;
use super::descriptors::resolve_path;
use crate::runtime::HostState;

/// The metadata of `args.path`; of a link itself unless `args.follow`.
pub fn stat_path(state: &HostState, args: Value) -> Result<Value, OpError> {
    let (path, follow) = (resolve_path(state, &args, "path"), args["follow"] == true);
    let found = if follow { path.metadata() } else { path.symlink_metadata() };
    let syscall = if follow { "stat" } else { "lstat" };
    let shown = args["path"].as_str().unwrap_or_default();
    found.map(|meta| metadata_json(&meta)).map_err(|e| OpError::io_error(&e, syscall, shown))
}

/// The metadata of one file as JSON.
pub fn metadata_json(meta: &Metadata) -> Value {
    let ms = |seconds: i64, nanos: i64| seconds as f64 * 1e3 + nanos as f64 / 1e6;
    let born = meta.created().ok().and_then(|at| at.duration_since(std::time::UNIX_EPOCH).ok());
    let changed = ms(meta.ctime(), meta.ctime_nsec());
    json!({
        "kind": file_kind(meta.file_type()),
        "dev": meta.dev(), "ino": meta.ino(), "mode": meta.mode(), "nlink": meta.nlink(),
        "uid": meta.uid(), "gid": meta.gid(), "rdev": meta.rdev(), "size": meta.size(),
        "blksize": meta.blksize(), "blocks": meta.blocks(),
        "atimeMs": ms(meta.atime(), meta.atime_nsec()),
        "mtimeMs": ms(meta.mtime(), meta.mtime_nsec()),
        "ctimeMs": changed,
        "birthtimeMs": born.map_or(changed, |at| at.as_secs_f64() * 1e3),
    })
}

/// The kind of a file in one word.
pub fn file_kind(of: FileType) -> &'static str {
    match () {
        () if of.is_file() => "file",
        () if of.is_dir() => "folder",
        () if of.is_symlink() => "link",
        () if of.is_fifo() => "pipe",
        () if of.is_socket() => "socket",
        () if of.is_char_device() => "characters",
        () if of.is_block_device() => "blocks",
        () => "other",
    }
}
