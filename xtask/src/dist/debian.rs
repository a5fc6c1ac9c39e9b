//! The Debian package: program, manual and completions in the folders of the system.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context;

use super::build::path_text;
use super::release::{
    DESCRIPTION, LICENCE, LICENCE_FILES, Release, THIRD_PARTY_FILE, processor_names,
};
use crate::{machine, shell};

const PACKER: machine::RequiredProgram = machine::RequiredProgram {
    program: "dpkg-deb",
    package: "dpkg",
    without: "the Debian package",
};
const MAINTAINER: &str = "gambrel maintainers <maintainers@gambrel.invalid>";
/// Files of the archive, and where the system expects them.
const SYSTEM_FILES: &[(&str, &str)] = &[
    ("gambrel", "usr/bin/gambrel"),
    ("gambrel.1", "usr/share/man/man1/gambrel.1"),
    ("completions/gambrel.bash", "usr/share/bash-completion/completions/gambrel"),
    ("completions/gambrel.zsh", "usr/share/zsh/vendor-completions/_gambrel"),
    ("completions/gambrel.fish", "usr/share/fish/vendor_completions.d/gambrel.fish"),
];
const DOCUMENT_FOLDER: &str = "usr/share/doc/gambrel";

/// Writes the package, unpacks it and starts the program.
pub fn pack(release: &Release) -> anyhow::Result<PathBuf> {
    machine::install_missing(&[PACKER])?;
    let folder = release.package_folder("debian")?;
    for (from, to) in SYSTEM_FILES {
        let to = folder.join(to);
        fs::create_dir_all(to.parent().unwrap_or(&folder))?;
        fs::copy(release.content.join(from), to)?;
    }
    compress(&folder.join("usr/share/man/man1/gambrel.1"))?;
    add_documents(release, &folder)?;

    fs::create_dir(folder.join("DEBIAN"))?;
    let processor = processor_names()?.debian;
    fs::write(folder.join("DEBIAN/control"), describe_package(release, processor))?;
    let package = release.folder.join(format!("gambrel_{}_{processor}.deb", release.version));
    let (from, to) = (path_text(&folder), path_text(&package));
    shell::run("dpkg-deb", &["--root-owner-group", "--build", &from, &to])?;
    check_unpacked(release, &package).context("the Debian package does not work")?;
    Ok(package)
}

fn add_documents(release: &Release, folder: &Path) -> anyhow::Result<()> {
    let documents = folder.join(DOCUMENT_FOLDER);
    fs::create_dir_all(&documents)?;
    release.copy_files(&[THIRD_PARTY_FILE, "CHANGELOG.md"], &documents)?;
    compress(&documents.join("CHANGELOG.md"))?;
    let mut copyright =
        format!("gambrel is licensed under {LICENCE}. Crates: {THIRD_PARTY_FILE}.\n");
    for file in LICENCE_FILES {
        copyright += &format!("\n{}", fs::read_to_string(release.content.join(file))?);
    }
    Ok(fs::write(documents.join("copyright"), copyright)?)
}

/// Debian's rules want compressed manuals and changelogs, without a time inside.
fn compress(file: &Path) -> anyhow::Result<()> {
    shell::run("gzip", &["--best", "--no-name", &path_text(file)])
}

fn describe_package(release: &Release, processor: &str) -> String {
    format!(
        "Package: gambrel\n\
         Version: {}\n\
         Architecture: {processor}\n\
         Maintainer: {MAINTAINER}\n\
         Section: devel\n\
         Priority: optional\n\
         Description: {DESCRIPTION}\n \
         Coding agents run scripts at set points: before a tool call, when a task is\n \
         done, on an error. gambrel reads the hook formats of five products and runs\n \
         their hooks in all of them.\n",
        release.version
    )
}

fn check_unpacked(release: &Release, package: &Path) -> anyhow::Result<()> {
    let root = tempfile::tempdir()?;
    shell::run("dpkg-deb", &["--extract", &path_text(package), &path_text(root.path())])?;
    release.check_installed(&path_text(&root.path().join("usr/bin/gambrel")), &[])
}
