//! Side files of a call: written whole and readable by the user alone, before the call starts.

use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use gambrel_model::call::SideFile;

use crate::error::{ActionError, ActionResult};

/// Writes all side files; the error names the one that failed. A lasting file is optional: its
/// failure becomes a remark.
pub(crate) fn write_side_files(files: &[SideFile]) -> ActionResult<Vec<String>> {
    let mut remarks = Vec::new();
    for file in files {
        let refused = |source| ActionError::SideFile { path: file.path.clone(), source };
        match write_side_file(file).map_err(refused) {
            Err(why) if file.lasting => remarks.push(why.to_string()),
            done => done?,
        }
    }
    Ok(remarks)
}

/// Removes the temporary files. A file that is already gone is fine.
pub(crate) fn remove_temporary(files: &[SideFile]) {
    for file in files.iter().filter(|file| file.temporary) {
        let _ = fs::remove_file(&file.path);
    }
}

fn write_side_file(file: &SideFile) -> io::Result<()> {
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

    let written = write_new_file(&draft, text.as_bytes()).and_then(|()| match file.lasting {
        true => link_unless_exists(&draft, &file.path),
        false => fs::rename(&draft, &file.path),
    });
    if written.is_err() || file.lasting {
        let _ = fs::remove_file(&draft);
    }
    written
}

/// Gives the file its name unless another process was faster; that one's file is not overwritten.
fn link_unless_exists(draft: &Path, path: &Path) -> io::Result<()> {
    match fs::hard_link(draft, path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        done => done,
    }
}

fn write_new_file(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
    file.write_all(bytes)
}
