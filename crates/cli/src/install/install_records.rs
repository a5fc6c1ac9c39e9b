//! Records the state of settings files before `install`, so that `uninstall` can restore them.
//! Stores no content of a settings file.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context;
use gambrel::Setup;
use serde_json::{Map, Value, json};

use super::restore;

/// Name of the file in the state folder.
const RECORDS_FILE: &str = "installed.json";

/// One record per settings file that gambrel is installed in.
pub struct InstallRecords {
    file: Option<PathBuf>,
    records: Map<String, Value>,
}

impl InstallRecords {
    /// Reads the records. An unreadable file counts as empty.
    pub fn open(setup: &Setup) -> Self {
        let file = setup.state_dir().map(|folder| folder.join(RECORDS_FILE));
        let text = file.as_ref().and_then(|file| fs::read_to_string(file).ok());
        let all = text.and_then(|text| serde_json::from_str(&text).ok());
        Self { file, records: all.unwrap_or_default() }
    }

    /// Whether `install` created the settings file.
    pub fn was_created(&self, settings: &Path) -> bool {
        let found = self.records.get(&settings_key(settings));
        found.is_some_and(|found| found["made"] == json!(true))
    }

    /// Whether a list or map existed before `install` and was empty.
    pub fn was_empty(&self, settings: &Path, name: &str) -> bool {
        let found =
            self.records.get(&settings_key(settings)).and_then(|found| found["empty"].as_array());
        found.is_some_and(|names| names.iter().any(|known| known == name))
    }

    /// The text of the settings file before the first `install`, if it did not change since the
    /// last one.
    pub fn original_text(&self, settings: &Path, now: &str) -> Option<String> {
        restore::restore_text(self.records.get(&settings_key(settings))?.get("restore")?, now)
    }

    /// Adds the findings of one `install` to those of earlier ones.
    pub fn record_install(
        &mut self,
        settings: &Path,
        found: &SettingsChange<'_>,
    ) -> anyhow::Result<()> {
        let before = self.records.get(&settings_key(settings)).cloned().unwrap_or_default();
        let mut names = found.empty.to_vec();
        let known = before["empty"].as_array().into_iter().flatten().filter_map(Value::as_str);
        names.extend(known);

        let created = found.created || before["made"] == json!(true);
        let original = self.original_text(settings, found.before);
        let original = original.as_deref().unwrap_or(found.before);

        let restore = restore::describe_original(original, found.after);
        let entry = json!({"made": created, "empty": names, "restore": restore});
        self.records.insert(settings_key(settings), entry);
        self.write_records()
    }

    /// Removes the record of a settings file.
    pub fn remove_record(&mut self, settings: &Path) -> anyhow::Result<()> {
        match self.records.remove(&settings_key(settings)) {
            Some(_) => self.write_records(),
            None => Ok(()),
        }
    }

    fn write_records(&self) -> anyhow::Result<()> {
        let Some(file) = &self.file else { return Ok(()) };
        if let Some(folder) = file.parent() {
            fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
        }
        let text = Value::Object(self.records.clone()).to_string();
        fs::write(file, text).with_context(|| file.display().to_string())
    }
}

/// A settings file before and after one `install`.
pub struct SettingsChange<'f> {
    /// Whether the file did not exist.
    pub created: bool,
    /// Lists and maps that existed and were empty.
    pub empty: &'f [&'f str],
    /// The text before `install`.
    pub before: &'f str,
    /// The text after `install`.
    pub after: &'f str,
}

fn settings_key(settings: &Path) -> String {
    settings.display().to_string()
}
