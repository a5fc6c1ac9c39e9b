//! What an installation found in a settings file, kept beside the ledger, so that taking it back
//! leaves what was there. Only names are kept, nothing that a settings file says.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context;
use gambrel::Setup;
use serde_json::{Map, Value, json};

/// The name of the file in the state folder.
const FILE: &str = "installed.json";

/// What was found in every settings file that we are installed in.
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

    /// Adds what an installation found; what an earlier one found stays.
    pub fn remember(&mut self, settings: &Path, made: bool, empty: &[&str]) -> anyhow::Result<()> {
        let mut names = empty.to_vec();
        let before = self.all.get(&key(settings)).cloned().unwrap_or_default();
        let known = before["empty"].as_array().into_iter().flatten().filter_map(Value::as_str);
        names.extend(known);
        let made = made || before["made"] == json!(true);
        if made || !names.is_empty() {
            self.all.insert(key(settings), json!({"made": made, "empty": names}));
            self.write()?;
        }
        Ok(())
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

fn key(settings: &Path) -> String {
    settings.display().to_string()
}
