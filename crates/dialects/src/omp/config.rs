//! Finding modules: `pre` and `post` folders, loose files, and paths from the command line.

use std::collections::{BTreeMap, HashSet};
use std::path::{Path, PathBuf};
use std::time::Duration;

use gambrel_model::hook::ANY;
use gambrel_model::{
    Complaint, ConfigPath, DirEntry, Draft, Expect, HookPolicy, LoadedFile, Scope, SearchRoots,
    Source, SourceSpan,
};
use serde_json::{Value, json};

use super::edition::FIELD;
use crate::preferences;

/// What counts as a module.
const ENDINGS: [&str; 3] = ["ts", "js", "mjs"];
/// Why something that is named like one is none.
const ODD: &str = "is no plain file that could be read";
/// Folders under `hooks`; a module in any of them may register handlers for every event.
const FOLDERS: [&str; 3] = ["pre", "post", ""];
/// How long a handler may take while nobody is asked anything.
const TIMEOUT: Duration = Duration::from_secs(30);
/// The user's own limit for handlers of tool calls, in milliseconds.
pub const PATIENCE: &str = "toolCallTimeoutMs";

/// What of the inside a module's requests may reach.
pub const REACHABLE: &str = "reachable";

/// The project's folders, then the user's, then what was named.
pub fn places(roots: &SearchRoots) -> Vec<ConfigPath> {
    let mut places = Vec::new();
    let folder = |path, scope, tag| ConfigPath { path, scope, expect: Expect::Dir, tag };
    for name in FOLDERS {
        places.push(folder(Path::new(".omp/hooks").join(name), Scope::Project, tag(name)));
    }
    if let Some(home) = &roots.home {
        for name in FOLDERS {
            places.push(folder(home.join(".omp/agent/hooks").join(name), Scope::User, tag(name)));
        }
    }
    places.extend(preferences::place(roots));
    places.extend(roots.sources_for("hook").map(|path| ConfigPath {
        path: path.clone(),
        scope: Scope::User,
        expect: Expect::File,
        tag: "named",
    }));
    places
}

fn tag(name: &str) -> &'static str {
    match name {
        "pre" => "pre",
        "post" => "post",
        _ => "loose",
    }
}

/// One draft a module. Of modules with one name in one kind of folder, the first found counts.
pub fn load(found: &[LoadedFile], roots: &SearchRoots) -> (Vec<Draft>, Vec<Complaint>) {
    let preferences = preferences::read(found, roots, &mut Vec::new());
    let edition = preferences.edition.as_deref().unwrap_or("hooks");
    let patience = preferences.tool_call_timeout.map(|most| most.as_millis() as u64);
    let (mut drafts, mut complaints): (Vec<Draft>, Vec<Complaint>) = (Vec::new(), Vec::new());
    let mut keys: BTreeMap<String, String> = BTreeMap::new();
    let mut seen = HashSet::new();
    for place in found.iter().filter(|place| place.place.tag != preferences::TAG) {
        for Module { path, name, plain, special } in modules(place) {
            // A named path is added unless a folder or an earlier name has it already.
            if !seen.insert(path.clone()) {
                continue;
            }
            let tag = place.place.tag;
            // oh-my-pi's key of a module: type, tool and name.
            let key = format!("{tag}:*:{name}");
            let shadowed_by = keys.get(&key).cloned();
            keys.entry(key).or_insert_with(|| path.display().to_string());
            let mut config = json!({"path": path.display().to_string(), FIELD: edition});
            if let Some(patience) = patience {
                config[PATIENCE] = json!(patience);
            }
            if !preferences.allow.is_empty() {
                config[REACHABLE] = json!(preferences.allow);
            }
            let mut draft = draft(place, &path, &name, (config, shadowed_by));
            if !plain {
                draft.disabled = Some(ODD.into());
                let complaint = Complaint::error(SourceSpan::of_file(&path), ODD);
                complaints.push(Complaint { closes_tool_gates: special, ..complaint });
            }
            drafts.push(draft);
        }
    }
    (drafts, complaints)
}

/// Something that is named like a module.
struct Module {
    path: PathBuf,
    name: String,
    /// Whether it can be read at all.
    plain: bool,
    /// Whether somebody put a pipe, a socket or a device in its place.
    special: bool,
}

fn modules(found: &LoadedFile) -> Vec<Module> {
    if found.place.expect == Expect::File {
        let path = found.place.path.clone();
        let name = path.display().to_string();
        return vec![Module { path, name, plain: true, special: false }];
    }
    let is_module = |entry: &&DirEntry| {
        let ending = entry.path.extension().and_then(|e| e.to_str()).unwrap_or_default();
        // Editors and systems keep notes of their own beside a file, under a hidden name.
        let hidden = entry.name.starts_with('.');
        ENDINGS.contains(&ending) && !entry.name.ends_with(".d.ts") && !hidden
    };
    let module = |entry: &DirEntry| Module {
        path: entry.path.clone(),
        name: entry.name.clone(),
        plain: entry.is_file,
        special: entry.special,
    };
    found.entries.iter().filter(is_module).map(module).collect()
}

fn draft(found: &LoadedFile, path: &Path, name: &str, rest: (Value, Option<String>)) -> Draft {
    let (config, shadowed_by) = rest;
    Draft {
        event: ANY.to_owned(),
        source: Source {
            spot: SourceSpan { path: path.to_owned(), ..SourceSpan::default() },
            scope: found.place.scope,
            base: found.base.clone(),
        },
        name: Some(name.to_owned()),
        action: "module".into(),
        config: config.clone(),
        policy: HookPolicy { timeout: TIMEOUT, ..HookPolicy::default() },
        replaced_by: shadowed_by,
        ..Draft::default()
    }
}
