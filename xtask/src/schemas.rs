//! The JSON Schemas in `schemas/`: written from the dialect's own tables, and compared with them.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use anyhow::Context;
use gambrel_dialects::claude::schema::{self, Way};

use crate::shell;

/// Writes every schema, and removes those that nothing stands behind any more.
pub fn run() -> anyhow::Result<()> {
    let folder = folder();
    fs::create_dir_all(&folder)?;
    let fresh = fresh();
    for name in there()?.keys().filter(|name| !fresh.contains_key(*name)) {
        fs::remove_file(folder.join(name)).with_context(|| name.clone())?;
    }
    for (name, text) in &fresh {
        fs::write(folder.join(name), text).with_context(|| name.clone())?;
    }
    eprintln!("schemas: {} written", fresh.len());
    Ok(())
}

/// What is not as it would be written now.
pub fn stale() -> anyhow::Result<Vec<String>> {
    let (fresh, there) = (fresh(), there()?);
    let changed = fresh.iter().filter(|(name, text)| there.get(*name) != Some(*text));
    let orphans = there.keys().filter(|name| !fresh.contains_key(*name));
    let names = changed.map(|(name, _)| name).chain(orphans);
    Ok(names.map(|name| format!("schemas/claude/{name}: stale; run cargo xtask schemas")).collect())
}

fn folder() -> PathBuf {
    shell::root().join("schemas/claude")
}

fn fresh() -> BTreeMap<String, String> {
    let each = schema::names().flat_map(|event| Way::ALL.map(|way| (event, way)));
    let files = each.filter_map(|(event, way)| {
        let text = format!("{:#}\n", schema::one(event, way)?);
        Some((format!("{event}.{}.json", way.word()), text))
    });
    files.collect()
}

fn there() -> anyhow::Result<BTreeMap<String, String>> {
    if !folder().is_dir() {
        return Ok(BTreeMap::new());
    }
    let mut files = BTreeMap::new();
    for entry in fs::read_dir(folder())? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if name.ends_with(".json") {
            let text = fs::read_to_string(&path).with_context(|| name.clone())?;
            files.insert(name, text);
        }
    }
    Ok(files)
}
