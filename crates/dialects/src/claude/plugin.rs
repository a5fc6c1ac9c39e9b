//! Plugins: folders from the command line. Their hooks are in `hooks/hooks.json`, in the manifest,
//! or in other files of the plugin that the manifest names.

use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};

use gambrel_document::{Document, DocumentLanguage, DocumentNode, NodeContent};
use gambrel_model::{
    Complaint, ConfigPath, Draft, Expect, LoadedFile, Scope, SearchRoots, SourceSpan,
};
use serde_json::{Value, json};

use super::PLUGIN_DIR_KEY;
use super::config::{SettingsReader, user_folder};

/// The tag of a plugin's hooks file among the configuration paths.
const HOOKS_TAG: &str = "plugin";
/// The tag of a manifest.
pub const MANIFEST_TAG: &str = "manifest";
const SEARCHED_HELP: &str = "looked in hooks/hooks.json, in `hooks` of .claude-plugin/plugin.json, and in \
     the frontmatter of skills/*/SKILL.md and agents/*.md";

/// The folders of all plugins.
pub fn plugin_folders(roots: &SearchRoots) -> Vec<PathBuf> {
    roots.sources_for("plugin").map(|path| roots.root.join(path)).collect()
}

/// The files that may contain a plugin's hooks.
pub fn plugin_config_paths(folder: &Path) -> [ConfigPath; 2] {
    let manifest = folder.join(".claude-plugin/plugin.json");
    [user_file(folder.join("hooks/hooks.json"), HOOKS_TAG), user_file(manifest, MANIFEST_TAG)]
}

fn user_file(path: PathBuf, tag: &'static str) -> ConfigPath {
    ConfigPath { path, scope: Scope::User, expect: Expect::File, tag }
}

/// The folder of the plugin that a file belongs to.
pub fn plugin_of(path: &Path, roots: &SearchRoots) -> Option<PathBuf> {
    let own = plugin_folders(roots).into_iter().filter(|folder| path.starts_with(folder));
    own.max_by_key(|folder| folder.components().count())
}

/// The data folder of each plugin, named by its manifest, else by its folder.
pub struct PluginDataFolders(BTreeMap<PathBuf, Option<PathBuf>>);

impl PluginDataFolders {
    /// Finds the data folders of all plugins.
    pub fn from_files(found: &[LoadedFile], roots: &SearchRoots) -> Self {
        let data = user_folder(roots).map(|user| user.join("plugins/data"));
        let named = |folder: &Path| {
            let own = folder.join(".claude-plugin/plugin.json");
            let manifest = found.iter().find(|file| file.place.path == own)?;
            let document = Document::parse(&own, &manifest.text, DocumentLanguage::Jsonc).ok()?;
            let name = document.root.get("name").and_then(quoted_text)?.to_owned();
            // The name must be one path component.
            let plain = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.');
            (name.chars().all(plain) && !name.starts_with('.') && !name.is_empty()).then_some(name)
        };

        let place = |folder: PathBuf| {
            let usual = || folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let name = named(&folder).unwrap_or_else(usual);
            (folder, data.as_ref().map(|data| data.join(name)))
        };
        Self(plugin_folders(roots).into_iter().map(place).collect())
    }

    /// Adds the plugin's folder and its data folder to a hook's config.
    pub fn add_to_config(&self, config: &mut Value, folder: &Path) {
        config[PLUGIN_DIR_KEY] = json!(folder);
        if let Some(Some(data)) = self.0.get(folder) {
            config["pluginData"] = json!(data);
        }
    }
}

/// The files that a manifest names.
pub fn referenced_files(found: &LoadedFile, roots: &SearchRoots) -> Vec<ConfigPath> {
    let folder = plugin_of(&found.place.path, roots).filter(|_| found.place.tag == MANIFEST_TAG);
    let Some(folder) = folder else { return Vec::new() };
    let Ok(document) = Document::parse(&found.place.path, &found.text, DocumentLanguage::Jsonc)
    else {
        return Vec::new();
    };
    let paths = manifest_entries(&document.root)
        .filter_map(quoted_text)
        .filter_map(|text| join_inside(&folder, text));
    paths.map(|path| user_file(path, HOOKS_TAG)).collect()
}

/// The entries of a manifest's `hooks`: one value, or a list.
fn manifest_entries<'n, 't>(
    root: &'n DocumentNode<'t>,
) -> impl Iterator<Item = &'n DocumentNode<'t>> {
    let hooks = root.get("hooks").filter(|hooks| !hooks.is_null());
    let one = hooks.filter(|hooks| hooks.items().is_none());
    one.into_iter().chain(hooks.and_then(DocumentNode::items).into_iter().flatten())
}

fn quoted_text<'n>(node: &'n DocumentNode<'_>) -> Option<&'n str> {
    match &node.content {
        NodeContent::Scalar { text, bare: false, .. } => Some(text),
        _ => None,
    }
}

/// Joins a path to the plugin's folder; `None` if it leads outside.
fn join_inside(folder: &Path, text: &str) -> Option<PathBuf> {
    let text = text.strip_prefix("${CLAUDE_PLUGIN_ROOT}/").unwrap_or(text);
    let path = Path::new(text);
    let plain = |part| matches!(part, Component::Normal(_) | Component::CurDir);
    let named = path.components().filter(|part| *part != Component::CurDir);
    (!text.is_empty() && path.components().all(plain))
        .then(|| folder.join(named.collect::<PathBuf>()))
}

impl<'r> SettingsReader<'r> {
    /// Reads the hooks inside a manifest. Files that it names are loaded separately.
    pub fn read_manifest(&mut self, drafts: &mut Vec<Draft>) {
        for node in manifest_entries(&self.document.root) {
            match (quoted_text(node), &node.content) {
                (Some(text), _) => self.check_named_file(node, text),
                (None, NodeContent::Map(_)) => {
                    self.read_events(node.get("hooks").unwrap_or(node), drafts)
                }
                (None, _) => {
                    let message = format!("`hooks` names a file or is a map, not {}", node.kind());
                    let help = "write \"hooks\": \"./hooks/more.json\"";
                    self.add_error(node, message, Some(help.into()));
                }
            }
        }
    }

    /// Checks that a file named by a manifest exists inside the plugin.
    fn check_named_file(&mut self, node: &DocumentNode, text: &str) {
        let folder = self.plugin_folder().unwrap_or_default();
        match join_inside(&folder, text) {
            Some(path) if self.shared.files.contains(&path) => {}
            Some(path) => {
                let message = format!("no hooks could be read from {}", path.display());
                self.add_error(node, message, None);
            }
            None => {
                let message = format!("`{text}` is not a file inside the plugin");
                let help = "a path from the plugin's folder: \"./hooks/more.json\"";
                self.add_error(node, message, Some(help.into()));
            }
        }
    }
}

/// Warns of plugins without hooks, unless they have complaints already.
pub fn warn_without_hooks(
    found: &[LoadedFile],
    drafts: &[Draft],
    complaints: &[Complaint],
    roots: &SearchRoots,
) -> Vec<Complaint> {
    let folders = plugin_folders(roots).into_iter();
    let idle = folders.filter(|folder| {
        found.iter().any(|file| file.place.path.starts_with(folder))
            && !drafts.iter().any(|draft| draft.source.spot.path.starts_with(folder))
            && !complaints.iter().any(|complaint| complaint.spot.path.starts_with(folder))
    });
    idle.map(|folder| {
        Complaint::warning(SourceSpan::of_file(&folder), "this plugin has no hooks")
            .with_help(SEARCHED_HELP)
    })
    .collect()
}
