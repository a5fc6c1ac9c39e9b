//! The files that a call needs beside it: written whole, readable by the user alone, before
//! anything starts. It knows nothing of what is in them.

use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use gambrel_model::call::SideFile;

/// Writes all of them; the error says which one could not be written. A lasting one is only
/// offered: where it cannot be, that is remarked on.
pub(crate) fn write(files: &[SideFile]) -> Result<Vec<String>, String> {
    let mut remarks = Vec::new();
    for file in files {
        let refused = |error| format!("could not write {}: {error}", file.path.display());
        match place(file).map_err(refused) {
            Err(why) if file.lasting => remarks.push(why),
            done => done?,
        }
    }
    Ok(remarks)
}

/// Removes the temporary ones. One that is gone already is no news.
pub(crate) fn remove_temporary(files: &[SideFile]) {
    for file in files.iter().filter(|file| file.temporary) {
        let _ = fs::remove_file(&file.path);
    }
}

fn place(file: &SideFile) -> io::Result<()> {
    let Some(text) = &file.text else {
        return DirBuilder::new().recursive(true).mode(0o700).create(&file.path);
    };
    if file.lasting && file.path.is_file() {
        return Ok(());
    }
    let folder = file.path.parent().filter(|parent| !parent.as_os_str().is_empty());
    let folder = folder.unwrap_or(Path::new("."));
    DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    let draft = folder.join(format!(".gambrel-{}-{count}.tmp", std::process::id()));
    let written = write_new(&draft, text.as_bytes()).and_then(|()| match file.lasting {
        true => stay(&draft, &file.path),
        false => fs::rename(&draft, &file.path),
    });
    if written.is_err() || file.lasting {
        let _ = fs::remove_file(&draft);
    }
    written
}

/// Under its name unless another process was faster: what that one has is not overwritten.
fn stay(draft: &Path, path: &Path) -> io::Result<()> {
    match fs::hard_link(draft, path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        done => done,
    }
}

fn write_new(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
    file.write_all(bytes)
}
