//! The entry of `gambrel mcp` in the project's `.mcp.json`. Everything else in the file stays.

use std::path::PathBuf;

use anyhow::{Context, bail};
use gambrel::Gambrel;
use jsonc_parser::cst::{CstInputValue, CstObjectProp};
use serde_json::{Map, Value};

use super::entry::string_value;
use super::install_records::{InstallRecords, SettingsChange};
use super::{BYTE_ORDER_MARK, SettingsEdit, remove_emptied, warn_unrecorded};
use crate::args::UsageError;
use crate::open;

const FILE_NAME: &str = ".mcp.json";
const SERVERS_KEY: &str = "mcpServers";
/// The name of the server, and the program that it calls.
const SERVER_NAME: &str = "gambrel";
/// The argument of the program.
const SERVER_COMMAND: &str = "mcp";

/// The file with the entry, not written yet.
pub struct ServerEdit {
    file: SettingsEdit,
    had_empty_servers: bool,
    /// Whether the entry is new.
    pub is_added: bool,
}

impl ServerEdit {
    /// Adds the entry in memory. `program` is what entries of this installation call.
    pub fn prepare(gambrel: &Gambrel, program: &str) -> anyhow::Result<Self> {
        if program != SERVER_NAME {
            bail!(UsageError(format!(
                "`gambrel` is not on PATH, and {FILE_NAME} is shared: put it on PATH"
            )));
        }
        let file = open_file(gambrel)?;
        let path = file.path.display().to_string();
        let top = file.root.object_value_or_create();
        let top = top.with_context(|| format!("{path}: not a JSON object"))?;
        let known = top.object_value(SERVERS_KEY);
        let had_empty_servers = known.is_some_and(|servers| servers.properties().is_empty());
        let servers = top.object_value_or_create(SERVERS_KEY);
        let servers = servers.with_context(|| format!("{path}: `{SERVERS_KEY}` is no object"))?;
        let is_added = match servers.get(SERVER_NAME) {
            None => true,
            Some(found) if is_own(&found) => false,
            Some(_) => bail!(
                "{path}: the server `{SERVER_NAME}` does not call `gambrel mcp`: rename it first"
            ),
        };
        if is_added {
            let text = |text: &str| CstInputValue::String(text.to_owned());
            let entry = vec![
                ("command".to_owned(), text(SERVER_NAME)),
                ("args".to_owned(), CstInputValue::Array(vec![text(SERVER_COMMAND)])),
            ];
            servers.append(SERVER_NAME, CstInputValue::Object(entry));
            servers.ensure_multiline();
        }
        Ok(Self { file, had_empty_servers, is_added })
    }

    /// Writes the file if the entry is new. Returns its path.
    pub fn write(&self, gambrel: &Gambrel) -> anyhow::Result<PathBuf> {
        if self.is_added {
            let created = !self.file.path.exists();
            let after = self.file.write_changes()?;
            let empty: Vec<&str> =
                self.had_empty_servers.then_some(SERVERS_KEY).into_iter().collect();
            let before = self.file.before.as_str();
            let found = SettingsChange { created, empty: &empty, before, after: &after };
            let mut records = InstallRecords::open(gambrel.setup());
            warn_unrecorded(records.record_install(&self.file.path, &found));
        }
        Ok(self.file.path.clone())
    }
}

/// Removes the entry. Returns the path of the file if it had one.
pub fn remove_server(gambrel: &Gambrel) -> anyhow::Result<Option<PathBuf>> {
    let file = open_file(gambrel)?;
    let servers = file.root.object_value().and_then(|top| top.get(SERVERS_KEY));
    let map = servers.as_ref().and_then(CstObjectProp::object_value);
    let own = map.as_ref().and_then(|map| map.get(SERVER_NAME)).filter(is_own);
    let (Some(servers), Some(map), Some(own)) = (servers, map, own) else { return Ok(None) };

    let mut records = InstallRecords::open(gambrel.setup());
    let is_created = records.was_created(&file.path);
    match records.original_text(&file.path, &file.before) {
        Some(original) if is_created && original.is_empty() => file.remove_file()?,
        Some(original) => file.replace_file(&original)?,
        None => {
            own.remove();
            if map.properties().is_empty() {
                let keeps = records.was_empty(&file.path, SERVERS_KEY);
                let empty = CstInputValue::Object(Vec::new());
                remove_emptied(servers, &map.children(), empty, keeps);
            }
            match is_created && file.is_bare() {
                true => file.remove_file()?,
                false => drop(file.write_changes()?),
            }
        }
    }
    warn_unrecorded(records.remove_record(&file.path));
    Ok(Some(file.path))
}

/// Opens the file. Agents read it as plain JSON, without comments.
fn open_file(gambrel: &Gambrel) -> anyhow::Result<SettingsEdit> {
    let file = SettingsEdit::open(open::project_folder(gambrel.setup()).join(FILE_NAME))?;
    let text = file.before.strip_prefix(BYTE_ORDER_MARK).unwrap_or(&file.before);
    if !text.trim().is_empty() {
        serde_json::from_str::<Map<String, Value>>(text)
            .with_context(|| format!("{}: not a JSON object", file.path.display()))?;
    }
    Ok(file)
}

/// Whether a server is `gambrel mcp`.
fn is_own(server: &CstObjectProp) -> bool {
    let Some(server) = server.object_value() else { return false };
    let program = string_value(&server, "command").unwrap_or_default();
    let args = server.array_value("args").map(|args| args.elements()).unwrap_or_default();
    let first = args.first().and_then(|arg| arg.as_string_lit()?.decoded_value().ok());
    program.rsplit('/').next() == Some(SERVER_NAME) && first.as_deref() == Some(SERVER_COMMAND)
}
