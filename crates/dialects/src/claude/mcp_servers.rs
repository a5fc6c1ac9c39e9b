//! MCP servers that `mcp_tool` handlers may call: `.mcp.json` of the project and of plugins. The
//! server's definition is part of the hook's hash, so the user trusts both together.

use std::collections::BTreeMap;

use gambrel_document::{Document, DocumentLanguage};
use gambrel_model::{Complaint, ConfigPath, Expect, LoadedFile, Scope, SearchRoots};
use serde_json::Value;

use super::plugin::{self, PluginDataFolders};

/// The tag of `.mcp.json` among the configuration paths.
pub const SERVERS_TAG: &str = "servers";

/// The project's `.mcp.json`.
pub fn project_servers() -> ConfigPath {
    let (path, scope) = (".mcp.json".into(), Scope::Project);
    ConfigPath { path, scope, expect: Expect::File, tag: SERVERS_TAG }
}

/// A handler's type, and how escapes begin that may hide it: those of JSON and of YAML, and an
/// escaped end of a line.
const CALL_MARKS: [&str; 6] = ["mcp_tool", "\\u", "\\U", "\\x", "\\\n", "\\\r"];

/// The project's `.mcp.json`, if a file of hooks may have a handler that calls a tool of a server.
pub fn referenced_servers(found: &LoadedFile) -> Option<ConfigPath> {
    let may_call = CALL_MARKS.iter().any(|mark| found.text.contains(mark));
    (may_call && found.place.tag != SERVERS_TAG).then(project_servers)
}

/// Server definitions by name. The flag is true for servers of the user.
#[derive(Default)]
pub struct McpServers(BTreeMap<(bool, String), Value>);

impl McpServers {
    /// Reads the servers of all files. The first definition of a name counts.
    pub fn from_files(
        found: &[LoadedFile],
        plugins: &PluginDataFolders,
        roots: &SearchRoots,
        complaints: &mut Vec<Complaint>,
    ) -> Self {
        let mut servers = Self::default();
        for file in found.iter().filter(|file| file.place.tag == SERVERS_TAG) {
            let (path, json) = (&file.place.path, DocumentLanguage::Jsonc);
            let parsed = Document::parse_into(path, &file.text, json, complaints);
            let Some(document) = parsed else { continue };
            let plugin = plugin::plugin_of(path, roots);
            let add_folders = |server: &mut Value| {
                if let Some(folder) = &plugin {
                    plugins.add_to_config(server, folder);
                }
            };
            servers.add_servers(file.place.scope, &document, &add_folders, complaints);
        }
        servers
    }

    /// Adds the servers of one file. `add_folders` adds the plugin's folders to a definition.
    fn add_servers(
        &mut self,
        scope: Scope,
        document: &Document<'_>,
        add_folders: &dyn Fn(&mut Value),
        complaints: &mut Vec<Complaint>,
    ) {
        let Some(named) = document.root.get("mcpServers") else { return };
        for (key, server) in named.entries() {
            let name = key.text().unwrap_or_default().to_owned();
            let sound = ["command", "url"].iter().any(|need| server.get(need).is_some());
            if !server.is_map() || !sound {
                let message = format!("the server `{name}` has neither `command` nor `url`");
                complaints.push(
                    Complaint::error(document.span_of(key), message).with_help(
                        "write {\"command\": \"…\", \"args\": [ … ]} or {\"url\": \"…\"}",
                    ),
                );
                continue;
            }
            let mut server = server.to_value();
            add_folders(&mut server);
            self.0.entry((scope.is_own(), name)).or_insert(server);
        }
    }

    /// The server of a name for hooks of a scope. Hooks of the user run without trust, so they
    /// never start a server of a project.
    pub fn get(&self, name: &str, scope: Scope) -> Option<&Value> {
        let of = |own: bool| self.0.get(&(own, name.to_owned()));
        if scope.is_own() { of(true) } else { of(false).or_else(|| of(true)) }
    }

    /// The names of all servers.
    pub fn server_names(&self) -> Vec<&str> {
        self.0.keys().map(|(_, name)| name.as_str()).collect()
    }
}

#[cfg(test)]
mod tests {
    use gambrel_model::HookFormat;

    use super::super::Claude;
    use super::*;

    fn leads_to_servers(text: &str, tag: &'static str) -> bool {
        let place = ConfigPath { path: "/p/file".into(), tag, ..project_servers() };
        let found =
            LoadedFile { place, base: "/p".into(), text: text.to_owned(), entries: Vec::new() };
        let files = Claude.referenced_files(&found, &SearchRoots::default());
        files.iter().any(|file| file.tag == SERVERS_TAG)
    }

    #[test]
    fn every_spelling_of_the_type_leads_to_the_servers() {
        let json = [r#"{"type": "mcp_tool"}"#, r#"{"type": "mcp\u005ftool"}"#];
        let yaml = [
            "- type: mcp_tool",
            r#"- type: "mcp\x5ftool""#,
            r#"- type: "mcp\U0000005ftool""#,
            "- type: \"mcp_\\\n    tool\"",
            "- type: \"mcp_\\\r\n    tool\"",
        ];
        for text in json {
            let document =
                Document::parse(std::path::Path::new("a"), text, DocumentLanguage::Jsonc);
            let word =
                document.ok().and_then(|read| Some(read.root.get("type")?.text()?.to_owned()));
            assert_eq!(word.as_deref(), Some("mcp_tool"), "{text}");
            assert!(leads_to_servers(text, "project"), "{text}");
        }
        for text in yaml {
            let document = Document::parse(std::path::Path::new("a"), text, DocumentLanguage::Yaml);
            let word = document
                .ok()
                .and_then(|read| Some(read.root.items()?.first()?.get("type")?.text()?.to_owned()));
            assert_eq!(word.as_deref(), Some("mcp_tool"), "{text}");
            assert!(leads_to_servers(text, super::super::frontmatter_owner::SKILL), "{text}");
        }
        assert!(!leads_to_servers(r#"{"type": "command", "command": "a \"b\""}"#, "project"));
        assert!(!leads_to_servers("mcp_tool", SERVERS_TAG), "it is that file itself");
    }
}
