//! What every package of a build contains: the program, its manual, completions and licences.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, ensure};

use super::build::{CodeAddress, StaticBuild, path_text};
use crate::shell;

/// Files of the repository that every package contains.
pub const LICENCE_FILES: &[&str] = &["LICENSE-APACHE", "LICENSE-MIT"];
/// The crates of the program with their licences.
pub const THIRD_PARTY_FILE: &str = "THIRD-PARTY.md";
/// The text that package registries show.
pub const PACKAGE_README: &str = "packaging/README.md";
pub const DESCRIPTION: &str = "Run one set of hooks in every coding agent";
pub const LICENCE: &str = "MIT OR Apache-2.0";

/// A tested program and the files that accompany it.
pub struct Release {
    /// Where packages are written.
    pub folder: PathBuf,
    /// Folder with the files of the archive.
    pub content: PathBuf,
    /// The name of the archive, without its ending.
    pub name: String,
    pub version: String,
}

/// The names of a processor in the registries.
pub struct ProcessorNames {
    pub npm: &'static str,
    pub debian: &'static str,
}

impl Release {
    /// Gathers the files in a folder.
    pub fn new(folder: &Path, program: &Path, build: &StaticBuild) -> anyhow::Result<Self> {
        let run = |words: &[&str]| shell::read_output(&path_text(program), words);
        let printed = run(&["--version"])?;
        let version = printed.split_whitespace().nth(1).context("gambrel printed no version")?;
        let suffix = if build.address == CodeAddress::Random { "-pie" } else { "" };
        let name = format!("gambrel-{version}-{}{suffix}", build.target);
        let content = create_empty_folder(&folder.join(&name))?;
        fs::copy(program, content.join("gambrel"))?;

        fs::create_dir(content.join("completions"))?;
        for shell_name in ["bash", "zsh", "fish"] {
            let file = content.join(format!("completions/gambrel.{shell_name}"));
            fs::write(file, run(&["completions", shell_name])?)?;
        }
        fs::write(content.join("gambrel.1"), run(&["man"])?)?;
        for file in LICENCE_FILES.iter().chain(&["README.md", "CHANGELOG.md"]) {
            fs::copy(shell::repository_root().join(file), content.join(file))?;
        }
        fs::write(content.join(THIRD_PARTY_FILE), list_third_parties()?)?;
        let (folder, version) = (folder.to_owned(), version.to_owned());
        Ok(Self { folder, content, name, version })
    }

    /// Copies files of the archive into a folder.
    pub fn copy_files(&self, files: &[&str], into: &Path) -> anyhow::Result<()> {
        for file in files {
            fs::copy(self.content.join(file), into.join(file))?;
        }
        Ok(())
    }

    /// An empty folder for the files of a package.
    pub fn package_folder(&self, kind: &str) -> anyhow::Result<PathBuf> {
        create_empty_folder(&self.folder.join(kind))
    }

    /// Fails if an installed program does not start or is another version.
    pub fn check_installed(&self, program: &str, args: &[&str]) -> anyhow::Result<()> {
        let printed = shell::read_offline(program, &[args, &["--version"]].concat())?;
        let expected = format!("gambrel {}", self.version);
        ensure!(printed.trim() == expected, "{program} printed {printed:?}, expected {expected:?}");
        Ok(())
    }

    /// Writes the checksum of a package beside it.
    pub fn write_checksum(&self, package: &Path) -> anyhow::Result<()> {
        let sum = shell::read_output("sha256sum", &[&path_text(package)])?;
        let sum = sum.split_whitespace().next().context("sha256sum printed nothing")?;
        let name = package.file_name().unwrap_or_default().to_string_lossy().into_owned();
        fs::write(self.folder.join(format!("{name}.sha256")), format!("{sum}  {name}\n"))?;
        Ok(())
    }
}

/// The names of this machine's processor.
pub fn processor_names() -> anyhow::Result<ProcessorNames> {
    match std::env::consts::ARCH {
        "x86_64" => Ok(ProcessorNames { npm: "x64", debian: "amd64" }),
        "aarch64" => Ok(ProcessorNames { npm: "arm64", debian: "arm64" }),
        other => anyhow::bail!("no package names for the processor {other}"),
    }
}

fn create_empty_folder(folder: &Path) -> anyhow::Result<PathBuf> {
    if folder.exists() {
        fs::remove_dir_all(folder)?;
    }
    fs::create_dir_all(folder)?;
    Ok(folder.to_owned())
}

/// The crates that are part of the program, with their licences.
fn list_third_parties() -> anyhow::Result<String> {
    let tree = ["tree", "--package", "gambrel-cli", "--edges", "normal", "--prefix", "none"];
    let format = ["--format", "{p}\t{l}"];
    let listed = shell::read_output("cargo", &[&tree[..], &format[..]].concat())?;
    let mut licences = BTreeMap::new();
    for line in listed.lines().filter(|line| !line.contains("(/")) {
        let (name, licence) = line.split_once('\t').context("cargo tree printed no licence")?;
        licences.insert(name.trim_end_matches(" (*)").to_owned(), licence.replace(" (*)", ""));
    }
    let head = "# Third-party crates\n\nThe program contains these crates.\n\n| crate | licence |\n|---|---|\n";
    let rows = licences.iter().map(|(name, licence)| format!("| {name} | {licence} |\n"));
    Ok(std::iter::once(head.to_owned()).chain(rows).collect())
}
