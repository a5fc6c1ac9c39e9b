//! The JSON Schemas in `schemas/`: writes them from the tables of dialects and runner, and finds
//! stale ones.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context;
use gambrel_dialects::claude::schema::{self, Direction};
use gambrel_dialects::unified::schema::{file_schema, hook_definitions};
use gambrel_runner::{pipeline_schema, stage_schema};

use crate::shell;

/// The folders of schemas, from the folder `schemas`.
const FOLDERS: [&str; 2] = ["", "claude"];

/// Writes every schema and removes obsolete ones.
pub fn run() -> anyhow::Result<()> {
    let folder = schema_folder();
    fs::create_dir_all(folder.join("claude"))?;
    let fresh = generate_schemas();
    for name in read_schemas()?.keys().filter(|name| !fresh.contains_key(*name)) {
        fs::remove_file(folder.join(name)).with_context(|| name.clone())?;
    }

    for (name, text) in &fresh {
        fs::write(folder.join(name), text).with_context(|| name.clone())?;
    }
    eprintln!("schemas: {} written", fresh.len());
    Ok(())
}

/// Schemas that differ from the tables.
pub fn find_stale() -> anyhow::Result<Vec<String>> {
    let (fresh, there) = (generate_schemas(), read_schemas()?);
    let changed = fresh.iter().filter(|(name, text)| there.get(*name) != Some(*text));
    let orphans = there.keys().filter(|name| !fresh.contains_key(*name));
    let names = changed.map(|(name, _)| name).chain(orphans);
    Ok(names.map(|name| format!("schemas/{name}: stale; run cargo xtask schemas")).collect())
}

fn schema_folder() -> PathBuf {
    shell::repository_root().join("schemas")
}

/// Every schema by its path in `schemas/`.
fn generate_schemas() -> BTreeMap<String, String> {
    let each = schema::event_names().flat_map(|event| Direction::ALL.map(|way| (event, way)));
    let events = each.filter_map(|(event, way)| {
        let schema = schema::event_schema(event, way)?;
        Some((format!("claude/{event}.{}.json", way.name()), schema))
    });
    let files = [
        ("unified.json", file_schema()),
        ("pipeline.json", pipeline_schema(hook_definitions())),
        ("stage.json", stage_schema(hook_definitions())),
    ];
    let files = files.into_iter().map(|(name, schema)| (name.to_owned(), schema));
    events.chain(files).map(|(name, schema)| (name, format!("{schema:#}\n"))).collect()
}

fn read_schemas() -> anyhow::Result<BTreeMap<String, String>> {
    let mut files = BTreeMap::new();
    for name in FOLDERS {
        let folder = schema_folder().join(name);
        if folder.is_dir() {
            read_folder(&folder, &mut files)?;
        }
    }
    Ok(files)
}

fn read_folder(folder: &Path, files: &mut BTreeMap<String, String>) -> anyhow::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let name = path.strip_prefix(schema_folder())?.to_string_lossy().into_owned();
        if name.ends_with(".json") {
            let text = fs::read_to_string(&path).with_context(|| name.clone())?;
            files.insert(name, text);
        }
    }
    Ok(())
}
