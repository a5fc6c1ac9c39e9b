//! The JSON Schemas in `schemas/`: writes them from the dialect's tables, and finds stale ones.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use anyhow::Context;
use gambrel_dialects::claude::schema::{self, Direction};

use crate::shell;

/// Writes every schema and removes obsolete ones.
pub fn run() -> anyhow::Result<()> {
    let folder = schema_folder();
    fs::create_dir_all(&folder)?;
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

/// Schemas that differ from the dialect's tables.
pub fn find_stale() -> anyhow::Result<Vec<String>> {
    let (fresh, there) = (generate_schemas(), read_schemas()?);
    let changed = fresh.iter().filter(|(name, text)| there.get(*name) != Some(*text));
    let orphans = there.keys().filter(|name| !fresh.contains_key(*name));
    let names = changed.map(|(name, _)| name).chain(orphans);
    Ok(names.map(|name| format!("schemas/claude/{name}: stale; run cargo xtask schemas")).collect())
}

fn schema_folder() -> PathBuf {
    shell::repository_root().join("schemas/claude")
}

fn generate_schemas() -> BTreeMap<String, String> {
    let each = schema::event_names().flat_map(|event| Direction::ALL.map(|way| (event, way)));
    let files = each.filter_map(|(event, way)| {
        let text = format!("{:#}\n", schema::event_schema(event, way)?);
        Some((format!("{event}.{}.json", way.name()), text))
    });
    files.collect()
}

fn read_schemas() -> anyhow::Result<BTreeMap<String, String>> {
    if !schema_folder().is_dir() {
        return Ok(BTreeMap::new());
    }
    let mut files = BTreeMap::new();
    for entry in fs::read_dir(schema_folder())? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if name.ends_with(".json") {
            let text = fs::read_to_string(&path).with_context(|| name.clone())?;
            files.insert(name, text);
        }
    }
    Ok(files)
}
