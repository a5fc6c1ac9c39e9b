//! Finds modules: in the folders `pre` and `post`, in `hooks` itself, and on the command line.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::Duration;

use gambrel_model::hook::ANY;
use gambrel_model::{
    Complaint, ConfigPath, DirEntry, Disabled, Draft, Expect, HookPolicy, Limits, LoadedDrafts,
    LoadedFile, Scope, SearchRoots, SourceSpan,
};
use serde_json::{Value, json};

use super::edition::EDITION_FIELD;
use crate::preferences;

/// File name endings of modules.
const ENDINGS: [&str; 3] = ["ts", "js", "mjs"];
/// Why a file that is named like a module cannot be loaded.
const UNREADABLE_REASON: &str = "is not a readable regular file";
/// Folders below `hooks`. A module in any of them may register handlers for every event.
const FOLDERS: [&str; 3] = ["pre", "post", ""];
/// The timeout of a handler. The clock stops while the user is prompted.
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(30);
/// The user's timeout for handlers of tool calls, in milliseconds.
pub const TOOL_CALL_TIMEOUT_KEY: &str = "toolCallTimeoutMs";

/// Private addresses that a module's requests may reach.
pub const REACHABLE_KEY: &str = "reachable";

/// The project's folders, then the user's, then the paths from the command line.
pub fn config_paths(roots: &SearchRoots) -> Vec<ConfigPath> {
    let mut places = Vec::new();
    let folder = |path, scope, tag| ConfigPath { path, scope, expect: Expect::Dir, tag };
    let of_project = (PathBuf::from(".omp/hooks"), Scope::Project);
    let of_user = roots.home.as_ref().map(|home| (home.join(".omp/agent/hooks"), Scope::User));
    for (hooks, scope) in std::iter::once(of_project).chain(of_user) {
        for name in FOLDERS {
            // An empty name would add a slash, and the folder would have two names.
            let path = if name.is_empty() { hooks.clone() } else { hooks.join(name) };
            places.push(folder(path, scope, folder_tag(name)));
        }
    }
    places.extend(preferences::config_path(roots));
    places.extend(roots.sources_for("hook").map(|path| ConfigPath {
        path: path.clone(),
        scope: Scope::User,
        expect: Expect::File,
        tag: "named",
    }));
    places
}

fn folder_tag(name: &str) -> &'static str {
    match name {
        "pre" => "pre",
        "post" => "post",
        _ => "loose",
    }
}

/// Reads one draft for each module. The first module of a name in one kind of folder replaces the
/// others.
pub fn load_drafts(found: &[LoadedFile], roots: &SearchRoots) -> LoadedDrafts {
    let preferences = preferences::read_preferences(found, roots, &mut Vec::new());
    let edition = preferences.edition.as_deref().unwrap_or("hooks");
    let tool_call_timeout_ms = preferences.tool_call_timeout.map(|most| most.as_millis() as u64);
    let (mut drafts, mut complaints): LoadedDrafts = (Vec::new(), Vec::new());
    let mut keys: BTreeMap<String, String> = BTreeMap::new();
    let mut seen = BTreeSet::new();

    for place in found.iter().filter(|place| place.place.tag != preferences::PREFERENCES_TAG) {
        for ModuleFile { path, name, plain, special } in list_modules(place) {
            // A path is loaded once.
            if !seen.insert(path.clone()) {
                continue;
            }
            let tag = place.place.tag;
            // oh-my-pi's key of a module: type, tool and name.
            let key = format!("{tag}:*:{name}");
            let replaced_by = keys.get(&key).cloned();
            keys.entry(key).or_insert_with(|| path.display().to_string());

            let mut config = json!({"path": path.display().to_string(), EDITION_FIELD: edition});
            if let Some(tool_call_timeout_ms) = tool_call_timeout_ms {
                config[TOOL_CALL_TIMEOUT_KEY] = json!(tool_call_timeout_ms);
            }
            if !preferences.allow.is_empty() {
                config[REACHABLE_KEY] = json!(preferences.allow);
            }
            let mut draft = build_draft(place, &path, &name, (config, replaced_by));
            if !plain {
                draft.disabled = Some(Disabled::broken(UNREADABLE_REASON));
                let complaint = Complaint::error(SourceSpan::of_file(&path), UNREADABLE_REASON);
                complaints.push(Complaint { closes_tool_gates: special, ..complaint });
            }
            drafts.push(draft);
        }
    }
    (drafts, complaints)
}

/// A file that is named like a module.
struct ModuleFile {
    path: PathBuf,
    name: String,
    /// Whether it is a readable regular file.
    plain: bool,
    /// Whether it is a pipe, a socket or a device.
    special: bool,
}

fn list_modules(found: &LoadedFile) -> Vec<ModuleFile> {
    if found.place.expect == Expect::File {
        let path = found.place.path.clone();
        let name = path.display().to_string();
        return vec![ModuleFile { path, name, plain: true, special: false }];
    }
    let is_module = |entry: &&DirEntry| {
        let ending = entry.path.extension().and_then(|e| e.to_str()).unwrap_or_default();
        // Hidden files belong to editors and the system.
        let hidden = entry.name.starts_with('.');
        ENDINGS.contains(&ending) && !entry.name.ends_with(".d.ts") && !hidden
    };
    let module = |entry: &DirEntry| ModuleFile {
        path: entry.path.clone(),
        name: entry.name.clone(),
        plain: entry.is_file,
        special: entry.special,
    };
    found.entries.iter().filter(is_module).map(module).collect()
}

fn build_draft(
    found: &LoadedFile,
    path: &Path,
    name: &str,
    rest: (Value, Option<String>),
) -> Draft {
    let (config, replaced_by) = rest;
    Draft {
        event: ANY.to_owned(),
        source: found.source_at(SourceSpan { path: path.to_owned(), ..SourceSpan::default() }),
        name: Some(name.to_owned()),
        action: "module".into(),
        config: config.clone(),
        policy: HookPolicy {
            limits: Limits { timeout: DEFAULT_TIMEOUT, ..Limits::default() },
            ..HookPolicy::default()
        },
        replaced_by,
        ..Draft::default()
    }
}
