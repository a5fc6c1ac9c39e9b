//! The npm package: `npx gambrel` starts the program itself, not a launcher in JavaScript.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context;
use serde_json::json;

use super::build::path_text;
use super::release::{
    DESCRIPTION, LICENCE, LICENCE_FILES, PACKAGE_README, Release, THIRD_PARTY_FILE, processor_names,
};
use crate::shell;

/// Writes the package and installs it without a network.
pub fn pack(release: &Release) -> anyhow::Result<PathBuf> {
    let folder = release.package_folder("npm")?;
    fs::create_dir(folder.join("bin"))?;
    fs::copy(release.content.join("gambrel"), folder.join("bin/gambrel"))?;
    release.copy_files(LICENCE_FILES, &folder)?;
    release.copy_files(&[THIRD_PARTY_FILE], &folder)?;
    fs::copy(shell::repository_root().join(PACKAGE_README), folder.join("README.md"))?;
    fs::write(folder.join("package.json"), describe_package(release)?)?;

    let (from, to) = (path_text(&folder), path_text(&release.folder));
    let args = ["pack", &from, "--pack-destination", &to, "--silent"];
    let name = shell::read_output("npm", &args)?;
    let package = release.folder.join(name.trim());
    check_install(release, &package).context("the npm package cannot be installed")?;
    Ok(package)
}

/// One package name has one program, so every processor but the first has a name of its own.
fn describe_package(release: &Release) -> anyhow::Result<String> {
    let processor = processor_names()?.npm;
    let name = if processor == "x64" { "gambrel" } else { "gambrel-linux-arm64" };
    let package = json!({
        "name": name,
        "version": release.version,
        "description": DESCRIPTION,
        "license": LICENCE,
        "keywords": ["hooks", "coding-agent", "claude-code"],
        "bin": { "gambrel": "bin/gambrel" },
        "os": ["linux"],
        "cpu": [processor],
        "files": ["bin", "LICENSE-*", THIRD_PARTY_FILE],
    });
    Ok(format!("{package:#}\n"))
}

fn check_install(release: &Release, package: &Path) -> anyhow::Result<()> {
    let project = tempfile::tempdir()?;
    let prefix = path_text(project.path());
    let install = ["install", "--offline", "--no-audit", "--no-fund", "--silent", "--prefix"];
    shell::run_offline("npm", &[&install[..], &[&prefix, &path_text(package)]].concat())?;
    release.check_installed("npx", &["--offline", "--prefix", &prefix, "gambrel"])
}
