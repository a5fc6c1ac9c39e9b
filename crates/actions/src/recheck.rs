//! Checks the trusted files of a call again when it has ended, and names the first that changed.

use std::fs;

use gambrel_model::watched::{FileIdentity, WatchedFile, WatchedFiles};

/// The first file or directory that differs from when the files were hashed. Where only copies ran,
/// the files themselves do not matter.
pub(crate) fn changed_file(watched: &WatchedFiles) -> Option<String> {
    let files: &[WatchedFile] = if watched.copies.is_some() { &[] } else { &watched.files };
    let is_same =
        |file: &WatchedFile| current_identity(file).is_some_and(|now| Some(now) == file.identity);
    let is_in_place = |folder: &WatchedFile| match (current_identity(folder), &folder.identity) {
        (Some(now), Some(before)) => !now.is_moved_folder(before),
        _ => false,
    };
    let changed = files.iter().find(|file| !is_same(file));
    let changed = changed.or_else(|| watched.folders.iter().find(|folder| !is_in_place(folder)));
    changed.map(|file| file.path.display().to_string())
}

fn current_identity(file: &WatchedFile) -> Option<FileIdentity> {
    fs::metadata(&file.path).ok().map(|known| FileIdentity::from(&known))
}
