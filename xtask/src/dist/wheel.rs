//! The Python wheel: `uvx gambrel` and `pip install gambrel` put the program itself on the PATH.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context;
use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use sha2::{Digest, Sha256};

use super::build::path_text;
use super::release::{
    DESCRIPTION, LICENCE, LICENCE_FILES, PACKAGE_README, Release, THIRD_PARTY_FILE,
};
use crate::shell;

/// An exact version, so that the check is repeatable.
const UV: &str = "uv==0.13.8";
/// The program is static, so every C library is right.
const PLATFORMS: [&str; 2] = ["manylinux_2_17", "musllinux_1_1"];

/// Writes the wheel, installs it without a network, and runs it with `uvx`.
pub fn pack(release: &Release) -> anyhow::Result<PathBuf> {
    let wheel = build(release)?;
    check_uvx(release, &path_text(&wheel)).context("uvx cannot run the wheel")?;
    Ok(wheel)
}

/// Writes the wheel and installs it without a network.
pub fn build(release: &Release) -> anyhow::Result<PathBuf> {
    let folder = release.package_folder("wheel")?;
    let base = format!("gambrel-{}", release.version);
    let (scripts, about) = (format!("{base}.data/scripts"), format!("{base}.dist-info"));
    let licences = folder.join(&about).join("licenses");
    fs::create_dir_all(folder.join(&scripts))?;
    fs::create_dir_all(&licences)?;
    fs::copy(release.content.join("gambrel"), folder.join(&scripts).join("gambrel"))?;
    release.copy_files(LICENCE_FILES, &licences)?;
    release.copy_files(&[THIRD_PARTY_FILE], &licences)?;
    fs::write(folder.join(&about).join("METADATA"), describe_package(release)?)?;
    let tags = platform_tags();
    fs::write(folder.join(&about).join("WHEEL"), describe_wheel(&tags))?;
    let record = format!("{about}/RECORD");
    fs::write(folder.join(&record), list_files(&folder, &record)?)?;

    let name = format!("{base}-py3-none-{}.whl", tags.join("."));
    let wheel = release.folder.join(name);
    write_zip(&folder, &wheel, [&format!("{base}.data"), &about])?;
    check_install(release, &wheel).context("the wheel cannot be installed")?;
    Ok(wheel)
}

fn platform_tags() -> Vec<String> {
    PLATFORMS.iter().map(|platform| format!("{platform}_{}", std::env::consts::ARCH)).collect()
}

fn describe_package(release: &Release) -> anyhow::Result<String> {
    let mut metadata = format!(
        "Metadata-Version: 2.4\nName: gambrel\nVersion: {}\nSummary: {DESCRIPTION}\n\
         License-Expression: {LICENCE}\n",
        release.version
    );
    for file in LICENCE_FILES.iter().chain(&[THIRD_PARTY_FILE]) {
        metadata += &format!("License-File: {file}\n");
    }
    metadata += "Classifier: Environment :: Console\n\
                 Classifier: Operating System :: POSIX :: Linux\n\
                 Requires-Python: >=3.8\n\
                 Description-Content-Type: text/markdown\n\n";
    metadata += &fs::read_to_string(shell::repository_root().join(PACKAGE_README))?;
    Ok(metadata)
}

fn describe_wheel(tags: &[String]) -> String {
    let head = "Wheel-Version: 1.0\nGenerator: gambrel xtask\nRoot-Is-Purelib: false\n".to_owned();
    tags.iter().fold(head, |text, tag| text + &format!("Tag: py3-none-{tag}\n"))
}

/// Every file with its hash and size. The list itself has neither.
fn list_files(folder: &Path, record: &str) -> anyhow::Result<String> {
    let mut lines = String::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        for entry in fs::read_dir(next)? {
            let path = entry?.path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let bytes = fs::read(&path)?;
            let hash = BASE64_URL_SAFE_NO_PAD.encode(Sha256::digest(&bytes));
            let name = path.strip_prefix(folder)?.display();
            lines += &format!("{name},sha256={hash},{}\n", bytes.len());
        }
    }
    Ok(lines + &format!("{record},,\n"))
}

fn write_zip(folder: &Path, wheel: &Path, entries: [&String; 2]) -> anyhow::Result<()> {
    if wheel.exists() {
        fs::remove_file(wheel)?;
    }
    let (from, to, [data, about]) = (path_text(folder), path_text(wheel), entries);
    let script = "cd \"$1\" && shift && exec python3 -m zipfile -c \"$@\"";
    shell::run("sh", &["-c", script, "sh", &from, &to, data, about])
}

fn check_install(release: &Release, wheel: &Path) -> anyhow::Result<()> {
    let target = tempfile::tempdir()?;
    let (wheel, into) = (path_text(wheel), path_text(target.path()));
    let install = ["-m", "pip", "install", "--quiet", "--no-index", "--target"];
    shell::run_offline("python3", &[&install[..], &[&into, &wheel]].concat())?;
    release.check_installed(&path_text(&target.path().join("bin/gambrel")), &[])
}

/// Runs the wheel with `uvx`.
fn check_uvx(release: &Release, wheel: &str) -> anyhow::Result<()> {
    let folder = path_text(&shell::repository_root().join("target/tools/uv"));
    let uvx = format!("{folder}/bin/uvx");
    if !Path::new(&uvx).is_file() {
        let args = ["-m", "pip", "install", "--quiet", "--upgrade", "--target", &folder, UV];
        shell::run("python3", &args)?;
    }
    let cache = tempfile::tempdir()?;
    let cache = path_text(cache.path());
    let args = ["--offline", "--no-config", "--cache-dir", &cache, "--from", wheel, "gambrel"];
    release.check_installed(&uvx, &args)
}
