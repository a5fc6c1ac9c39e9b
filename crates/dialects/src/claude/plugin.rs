//! Plugins: folders that the command line names. Their hooks stand in a file of their own, in
//! their manifest, or in files inside the plugin that the manifest names.

use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};

use gambrel_model::{
    Complaint, ConfigPath, Draft, Expect, LoadedFile, Scope, SearchRoots, SourceSpan,
};
use serde_json::{Value, json};

use super::config::{Reading, user_folder};
use crate::document::{Content, Document, Language, Node};

/// The tag of a file with hooks among the places.
const HOOKS: &str = "plugin";
/// The tag of a manifest.
pub const MANIFEST: &str = "manifest";
const LOOKED: &str = "looked in hooks/hooks.json, in `hooks` of .claude-plugin/plugin.json, and in \
     the frontmatter of skills/*/SKILL.md and agents/*.md";

/// Every plugin's folder.
pub fn folders(roots: &SearchRoots) -> Vec<PathBuf> {
    roots.sources_for("plugin").map(|path| roots.root.join(path)).collect()
}

/// Where a plugin's hooks may be.
pub fn places(folder: &Path) -> [ConfigPath; 2] {
    let manifest = folder.join(".claude-plugin/plugin.json");
    [place(folder.join("hooks/hooks.json"), HOOKS), place(manifest, MANIFEST)]
}

fn place(path: PathBuf, tag: &'static str) -> ConfigPath {
    ConfigPath { path, scope: Scope::User, expect: Expect::File, tag }
}

/// The plugin that a file belongs to.
pub fn of(path: &Path, roots: &SearchRoots) -> Option<PathBuf> {
    let own = folders(roots).into_iter().filter(|folder| path.starts_with(folder));
    own.max_by_key(|folder| folder.components().count())
}

/// Where each plugin keeps its data: under the name in its manifest, else its folder's.
pub struct Plugins(BTreeMap<PathBuf, Option<PathBuf>>);

impl Plugins {
    /// Of the plugins that are named.
    pub fn of(found: &[LoadedFile], roots: &SearchRoots) -> Self {
        let data = user_folder(roots).map(|user| user.join("plugins/data"));
        let named = |folder: &Path| {
            let own = folder.join(".claude-plugin/plugin.json");
            let manifest = found.iter().find(|file| file.place.path == own)?;
            let document = Document::parse(&own, &manifest.text, Language::Jsonc).ok()?;
            let name = document.root.get("name").and_then(path)?.to_owned();
            // One step of a path, which leads nowhere else.
            let plain = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.');
            (name.chars().all(plain) && !name.starts_with('.') && !name.is_empty()).then_some(name)
        };
        let place = |folder: PathBuf| {
            let usual = || folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let name = named(&folder).unwrap_or_else(usual);
            (folder, data.as_ref().map(|data| data.join(name)))
        };
        Self(folders(roots).into_iter().map(place).collect())
    }

    /// The plugin's folder, and the one for its data, under the names that a hook's config has.
    pub fn note(&self, config: &mut Value, folder: &Path) {
        config["pluginRoot"] = json!(folder);
        if let Some(Some(data)) = self.0.get(folder) {
            config["pluginData"] = json!(data);
        }
    }
}

/// The files that a manifest names.
pub fn further(found: &LoadedFile, roots: &SearchRoots) -> Vec<ConfigPath> {
    let folder = of(&found.place.path, roots).filter(|_| found.place.tag == MANIFEST);
    let Some(folder) = folder else { return Vec::new() };
    let Ok(document) = Document::parse(&found.place.path, &found.text, Language::Jsonc) else {
        return Vec::new();
    };
    let paths = written(&document.root).filter_map(path).filter_map(|text| inside(&folder, text));
    paths.map(|path| place(path, HOOKS)).collect()
}

/// What a manifest's `hooks` are: one entry, or a list of them.
fn written(root: &Node) -> impl Iterator<Item = &Node> {
    let hooks = root.get("hooks").filter(|hooks| !hooks.is_null());
    let one = hooks.filter(|hooks| hooks.items().is_none());
    one.into_iter().chain(hooks.and_then(Node::items).into_iter().flatten())
}

fn path(node: &Node) -> Option<&str> {
    match &node.content {
        Content::Scalar { text, bare: false, .. } => Some(text),
        _ => None,
    }
}

/// A path that stays inside its plugin.
fn inside(folder: &Path, text: &str) -> Option<PathBuf> {
    let text = text.strip_prefix("${CLAUDE_PLUGIN_ROOT}/").unwrap_or(text);
    let path = Path::new(text);
    let plain = |part| matches!(part, Component::Normal(_) | Component::CurDir);
    let named = path.components().filter(|part| *part != Component::CurDir);
    (!text.is_empty() && path.components().all(plain))
        .then(|| folder.join(named.collect::<PathBuf>()))
}

impl<'r> Reading<'r> {
    /// The hooks of a manifest that stand in it; files that it names are read on their own.
    pub fn manifest(&mut self, drafts: &mut Vec<Draft>) {
        for node in written(&self.document.root) {
            match (path(node), &node.content) {
                (Some(text), _) => self.named(node, text),
                (None, Content::Map(_)) => self.events(node.get("hooks").unwrap_or(node), drafts),
                (None, _) => {
                    let message = format!("`hooks` names a file or is a map, not {}", node.kind());
                    let help = "write \"hooks\": \"./hooks/more.json\"";
                    self.complain(node, message, Some(help.into()));
                }
            }
        }
    }

    /// A file that a manifest names must be inside the plugin, and there.
    fn named(&mut self, node: &Node, text: &str) {
        let folder = self.plugin().unwrap_or_default();
        match inside(&folder, text) {
            Some(path) if self.settled.files.contains(&path) => {}
            Some(path) => {
                let message = format!("no hooks could be read from {}", path.display());
                self.complain(node, message, None);
            }
            None => {
                let message = format!("`{text}` is not a file inside the plugin");
                let help = "a path from the plugin's folder: \"./hooks/more.json\"";
                self.complain(node, message, Some(help.into()));
            }
        }
    }
}

/// A plugin that was named for its hooks and has none.
pub fn bare(
    found: &[LoadedFile],
    drafts: &[Draft],
    told: &[Complaint],
    roots: &SearchRoots,
) -> Vec<Complaint> {
    let folders = folders(roots).into_iter();
    let idle = folders.filter(|folder| {
        found.iter().any(|file| file.place.path.starts_with(folder))
            && !drafts.iter().any(|draft| draft.source.spot.path.starts_with(folder))
            && !told.iter().any(|complaint| complaint.spot.path.starts_with(folder))
    });
    idle.map(|folder| {
        Complaint::warning(SourceSpan::of_file(&folder), "this plugin has no hooks")
            .with_help(LOOKED)
    })
    .collect()
}
