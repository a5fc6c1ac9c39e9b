//! The archive: the program with completions, manual and licences.

use std::path::PathBuf;

use super::build::path_text;
use super::release::Release;
use crate::shell;

/// Writes the archive.
pub fn pack(release: &Release) -> anyhow::Result<PathBuf> {
    let archive = release.folder.join(format!("{}.tar.gz", release.name));
    let (from, to) = (path_text(&release.folder), path_text(&archive));
    shell::run("tar", &["--owner=0", "--group=0", "-C", &from, "-czf", &to, &release.name])?;
    release.check_installed(&path_text(&release.content.join("gambrel")), &[])?;
    Ok(archive)
}
