//! The Claude Code plugin, in a folder that Claude Code accepts as a marketplace. It contains no
//! program: its hooks call the `gambrel` on the PATH.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, ensure};
use serde_json::Value;

use super::build::path_text;
use super::release::{LICENCE_FILES, Release};
use crate::shell;

/// The marketplace in the repository.
const SOURCE_FOLDER: &str = "integrations";
const PLUGIN_FOLDER: &str = "claude-plugin";
/// Two machines build a release, one for each processor. They pack the same bytes, so that each
/// checksum fits each file.
const SAME_BYTES: &[&str] = &[
    "--sort=name",
    "--mtime=@0",
    "--owner=0",
    "--group=0",
    "--numeric-owner",
    "--mode=u=rwX,go=rX",
    "--use-compress-program=gzip --no-name",
];
/// Runs the command of an entry as Claude Code does: on the PATH, with an event on stdin.
const RUN_ENTRY: &str = "cd \"$1\" && export HOME=\"$1\" PATH=\"$2:$PATH\" && \
    gambrel sample claude \"$3\" | sh -c \"$4\"";

/// Writes the package and runs its entries with the program.
pub fn pack(release: &Release) -> anyhow::Result<PathBuf> {
    let name = format!("gambrel-claude-plugin-{}", release.version);
    let folder = release.package_folder(&name)?;
    let source = shell::repository_root().join(SOURCE_FOLDER);
    // `/.` also copies the folder with the list of plugins.
    let from = format!("{}/.", path_text(&source));
    shell::run("cp", &["-R", &from, &path_text(&folder)])?;
    release.copy_files(LICENCE_FILES, &folder)?;

    let package = release.folder.join(format!("{name}.tar.gz"));
    let (from, to) = (path_text(&release.folder), path_text(&package));
    shell::run("tar", &[SAME_BYTES, &["-C", &from, "-cf", &to, &name]].concat())?;
    check_unpacked(release, &package, &name).context("the plugin does not work")?;
    Ok(package)
}

fn check_unpacked(release: &Release, package: &Path, name: &str) -> anyhow::Result<()> {
    let root = tempfile::tempdir()?;
    shell::run("tar", &["-xzf", &path_text(package), "-C", &path_text(root.path())])?;
    let folder = root.path().join(name);
    let list = read_json(&folder.join(".claude-plugin/marketplace.json"))?;
    ensure!(list["plugins"][0]["source"] == format!("./{PLUGIN_FOLDER}"), "no plugin in {list}");

    let plugin = folder.join(PLUGIN_FOLDER);
    let manifest = read_json(&plugin.join(".claude-plugin/plugin.json"))?;
    let version = manifest["version"].as_str().unwrap_or_default();
    ensure!(version == release.version, "the plugin has version {version}");
    let entries = read_entries(&read_json(&plugin.join("hooks/hooks.json"))?);
    ensure!(!entries.is_empty(), "the plugin has no entries");
    let (home, programs) = (path_text(root.path()), path_text(&release.content));
    for (event, command) in entries {
        let args = ["-c", RUN_ENTRY, "sh", &home, &programs, &event, &command];
        shell::read_output("sh", &args).with_context(|| event.clone())?;
    }
    Ok(())
}

fn read_json(file: &Path) -> anyhow::Result<Value> {
    let text = fs::read_to_string(file).with_context(|| path_text(file))?;
    serde_json::from_str(&text).with_context(|| path_text(file))
}

/// The command of each event.
fn read_entries(hooks: &Value) -> BTreeMap<String, String> {
    let events = hooks["hooks"].as_object().into_iter().flatten();
    let entry = |(event, groups): (&String, &Value)| {
        let command = groups[0]["hooks"][0]["command"].as_str()?;
        Some((event.clone(), command.to_owned()))
    };
    events.filter_map(entry).collect()
}
