//! What an installation found in a settings file, kept beside the ledger, so that taking it back
//! leaves what was there. Nothing that a settings file says is kept.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context;
use gambrel::Setup;
use serde_json::{Map, Value, json};

use super::restore;

/// The name of the file in the state folder.
const FILE: &str = "installed.json";

/// What was found in every settings file that gambrel is installed in.
pub struct Installed {
    file: Option<PathBuf>,
    all: Map<String, Value>,
}

impl Installed {
    /// What is known; nothing, where that cannot be read.
    pub fn open(setup: &Setup) -> Self {
        let file = setup.state_dir().map(|folder| folder.join(FILE));
        let text = file.as_ref().and_then(|file| fs::read_to_string(file).ok());
        let all = text.and_then(|text| serde_json::from_str(&text).ok());
        Self { file, all: all.unwrap_or_default() }
    }

    /// Whether we made a settings file.
    pub fn made(&self, settings: &Path) -> bool {
        let found = self.all.get(&key(settings));
        found.is_some_and(|found| found["made"] == json!(true))
    }

    /// Whether a list or map of a settings file was there before us, with nothing in it.
    pub fn was_empty(&self, settings: &Path, name: &str) -> bool {
        let found = self.all.get(&key(settings)).and_then(|found| found["empty"].as_array());
        found.is_some_and(|names| names.iter().any(|known| known == name))
    }

    /// The text that a settings file had before the first installation, if nobody changed the file
    /// since the last one.
    pub fn original(&self, settings: &Path, now: &str) -> Option<String> {
        restore::undo(self.all.get(&key(settings))?.get("restore")?, now)
    }

    /// Adds what an installation found; what an earlier one found stays.
    pub fn remember(&mut self, settings: &Path, found: &Found<'_>) -> anyhow::Result<()> {
        let before = self.all.get(&key(settings)).cloned().unwrap_or_default();
        let mut names = found.empty.to_vec();
        let known = before["empty"].as_array().into_iter().flatten().filter_map(Value::as_str);
        names.extend(known);
        let made = found.made || before["made"] == json!(true);
        let original = self.original(settings, found.before);
        let original = original.as_deref().unwrap_or(found.before);
        let restore = restore::record(original, found.after);
        let entry = json!({"made": made, "empty": names, "restore": restore});
        self.all.insert(key(settings), entry);
        self.write()
    }

    /// We are no longer installed there.
    pub fn forget(&mut self, settings: &Path) -> anyhow::Result<()> {
        match self.all.remove(&key(settings)) {
            Some(_) => self.write(),
            None => Ok(()),
        }
    }

    fn write(&self) -> anyhow::Result<()> {
        let Some(file) = &self.file else { return Ok(()) };
        if let Some(folder) = file.parent() {
            fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
        }
        let text = Value::Object(self.all.clone()).to_string();
        fs::write(file, text).with_context(|| file.display().to_string())
    }
}

/// What one installation found, and what it left.
pub struct Found<'f> {
    /// Whether there was no file.
    pub made: bool,
    /// Lists and maps that were there with nothing in them.
    pub empty: &'f [&'f str],
    /// The file's text before it.
    pub before: &'f str,
    /// The file's text after it.
    pub after: &'f str,
}

fn key(settings: &Path) -> String {
    settings.display().to_string()
}
