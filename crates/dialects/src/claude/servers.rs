//! MCP servers that `mcp_tool` handlers may call: `.mcp.json` of the project and of plugins. What
//! a server is started from becomes part of the hook, so that it is trusted together with it.

use std::collections::BTreeMap;

use gambrel_model::{Complaint, LoadedFile, Scope, SearchRoots};
use serde_json::Value;

use super::plugin::{self, Plugins};
use crate::document::{Content, Document, Language};

/// The tag of such a file among the places.
pub const TAG: &str = "servers";

/// Servers by name, of one file each.
#[derive(Default)]
pub struct Servers(BTreeMap<(bool, String), Value>);

impl Servers {
    /// What all files name; the first to name a server defines it.
    pub fn of(
        found: &[LoadedFile],
        plugins: &Plugins,
        roots: &SearchRoots,
        complaints: &mut Vec<Complaint>,
    ) -> Self {
        let mut servers = Self::default();
        for file in found.iter().filter(|file| file.place.tag == TAG) {
            match Document::parse(&file.place.path, &file.text, Language::Jsonc) {
                Ok(mut document) => {
                    complaints.append(&mut document.complaints);
                    let plugin = plugin::of(&file.place.path, roots);
                    let note = |server: &mut Value| {
                        if let Some(folder) = &plugin {
                            plugins.note(server, folder);
                        }
                    };
                    servers.take(file.place.scope, &document, &note, complaints);
                }
                Err(complaint) => complaints.push(complaint),
            }
        }
        servers
    }

    /// `note` adds to a definition what it may name beside the environment.
    fn take(
        &mut self,
        scope: Scope,
        document: &Document<'_>,
        note: &dyn Fn(&mut Value),
        complaints: &mut Vec<Complaint>,
    ) {
        let Some(named) = document.root.get("mcpServers") else { return };
        for (key, server) in named.entries() {
            let name = key.text().unwrap_or_default().to_owned();
            let sound = ["command", "url"].iter().any(|need| server.get(need).is_some());
            if !matches!(server.content, Content::Map(_)) || !sound {
                let message = format!("the server `{name}` has neither `command` nor `url`");
                complaints.push(
                    Complaint::error(document.spot_of(key), message).with_help(
                        "write {\"command\": \"…\", \"args\": [ … ]} or {\"url\": \"…\"}",
                    ),
                );
                continue;
            }
            let mut server = server.to_value();
            note(&mut server);
            self.0.entry((scope.is_own(), name)).or_insert(server);
        }
    }

    /// The server of a name for hooks of a scope. The user's own hooks run without trust, so they
    /// start nothing that a project defines.
    pub fn get(&self, name: &str, scope: Scope) -> Option<&Value> {
        let of = |own: bool| self.0.get(&(own, name.to_owned()));
        if scope.is_own() { of(true) } else { of(false).or_else(|| of(true)) }
    }

    /// All names.
    pub fn names(&self) -> Vec<&str> {
        self.0.keys().map(|(_, name)| name.as_str()).collect()
    }
}
