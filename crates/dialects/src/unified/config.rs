//! The files: stage, pipeline, the project's own, the user's. A bad entry is one complaint at its
//! place; everything else loads.

use std::path::PathBuf;

use gambrel_model::complaint::nearest_word;
use gambrel_model::{
    Complaint, ConfigPath, Draft, EventSpec, Expect, LoadedFile, Scope, SearchRoots,
};

use super::action::draft;
use super::{Unified, events};
use crate::document::{Content, Document, Fields, Language, Node};
use crate::payload::row;
use crate::preferences;

/// What a file of hooks alone may hold.
const KEYS: [&str; 3] = ["hooks", "version", SWITCH];
const SWITCH: &str = "disable_global_hooks";

/// The files in order: stage, pipeline, `.gambrel/hooks.yaml`, then the global ones.
pub fn places(roots: &SearchRoots) -> Vec<ConfigPath> {
    let text = |path: PathBuf, scope, tag| ConfigPath { path, scope, expect: Expect::File, tag };
    let mut places = Vec::new();
    for tag in ["stage", "pipeline"] {
        let paths = roots.sources_for(tag).map(|path| roots.root.join(path));
        places.extend(paths.map(|path| text(path, Scope::User, tag)));
    }
    places.push(text(".gambrel/hooks.yaml".into(), Scope::Project, "project"));
    if let Some(home) = &roots.config_home {
        let global = ["gambrel", "agent-pipelines"].map(|folder| home.join(folder));
        places.extend(global.map(|dir| text(dir.join("hooks.yaml"), Scope::User, "global")));
    }
    places.extend(preferences::place(roots));
    places
}

/// Every action of every file.
pub fn load(found: &[LoadedFile], roots: &SearchRoots) -> (Vec<Draft>, Vec<Complaint>) {
    let (mut drafts, mut complaints) = (Vec::new(), Vec::new());
    let reachable = preferences::read(found, roots, &mut Vec::new()).allow;
    let mut files = Vec::with_capacity(found.len());
    for file in found.iter().filter(|file| file.place.tag != preferences::TAG) {
        match Document::parse(&file.place.path, &file.text, Language::Yaml) {
            Ok(mut document) => {
                complaints.append(&mut document.complaints);
                files.push((file, document));
            }
            Err(complaint) => complaints.push(complaint),
        }
    }
    let off = files.iter().find(|(file, document)| is_run(file) && switched(document));
    let off = off.map(|(file, _)| format!("disabled: {SWITCH} in {}", file.place.path.display()));
    for (file, document) in &files {
        let mut reading = Reading::of(file, document, &reachable, roots);
        reading.off = off.clone().filter(|_| file.place.tag == "global");
        drafts.append(&mut reading.hooks());
        complaints.append(&mut reading.complaints);
    }
    (drafts, complaints)
}

/// A file of something that runs, which has other things in it besides hooks.
fn is_run(file: &LoadedFile) -> bool {
    matches!(file.place.tag, "stage" | "pipeline")
}

fn switched(document: &Document<'_>) -> bool {
    let switch = document.root.get(SWITCH).map(Node::to_value);
    switch.is_some_and(|value| value == true)
}

/// One file that is being read.
pub struct Reading<'r> {
    /// The file.
    pub file: &'r LoadedFile,
    /// Its tree.
    pub document: &'r Document<'r>,
    /// Hosts of the inside that the user lets requests reach.
    pub reachable: &'r [String],
    /// The surroundings.
    pub roots: &'r SearchRoots,
    /// Why no hook of this file runs, if none does.
    pub off: Option<String>,
    /// What was wrong so far.
    pub complaints: Vec<Complaint>,
}

impl<'r> Reading<'r> {
    fn of(
        file: &'r LoadedFile,
        document: &'r Document<'r>,
        reachable: &'r [String],
        roots: &'r SearchRoots,
    ) -> Self {
        Self { file, document, reachable, roots, off: None, complaints: Vec::new() }
    }

    /// Records something that does not run.
    pub fn error(&mut self, node: &Node, message: String, help: &str) {
        let complaint = Complaint::error(self.document.spot_of(node), message);
        self.complaints.push(complaint.with_help(help));
    }

    /// Records something that may not do what its author thinks.
    pub fn warn(&mut self, node: &Node, message: String, help: &str) {
        let complaint = Complaint::warning(self.document.spot_of(node), message);
        self.complaints.push(complaint.with_help(help));
    }

    fn hooks(&mut self) -> Vec<Draft> {
        let document = self.document;
        if !matches!(document.root.content, Content::Map(_)) {
            let message = format!("the file is {}, not a map", document.root.kind());
            self.error(&document.root, message, "begin with `hooks:`");
            return Vec::new();
        }
        self.top();
        let Some(hooks) = document.root.get("hooks").filter(|node| !node.is_null()) else {
            return Vec::new();
        };
        if !matches!(hooks.content, Content::Map(_)) {
            let message = format!("`hooks` should be a map, but is {}", hooks.kind());
            self.error(hooks, message, "write hook points under it, like `on_iteration_complete:`");
            return Vec::new();
        }
        hooks.entries().iter().flat_map(|(key, list)| self.point(key, list)).collect()
    }

    /// What stands beside `hooks`.
    fn top(&mut self) {
        let document = self.document;
        let mut fields = Fields::of(document, &document.root);
        let switch = fields.flag(SWITCH);
        let strays: Vec<&Node> = document.root.entries().iter().map(|(key, _)| key).collect();
        let strays = strays.into_iter().filter(|key| key.text().and_then(events::named).is_some());
        let strays: Vec<&Node> = strays.collect();
        if !is_run(self.file) && strays.is_empty() {
            fields.only(&KEYS);
        }
        self.complaints.append(&mut fields.complaints);
        for key in strays {
            let message = format!("`{}` stands outside `hooks:`", key.text().unwrap_or_default());
            self.error(key, message, "indent it under `hooks:`");
        }
        // A project must not be able to silence what its user hung up.
        if switch == Some(true) && !is_run(self.file) {
            let at = document.root.get(SWITCH).unwrap_or(&document.root);
            let message = format!("`{SWITCH}` counts only in a pipeline's or a stage's own file");
            self.warn(at, message, "write it there");
        }
    }

    fn point(&mut self, key: &Node, list: &Node) -> Vec<Draft> {
        let name = key.text().unwrap_or_default();
        let Some(row) = events::named(name).or_else(|| self.unknown(key, name)) else {
            return Vec::new();
        };
        if list.is_null() {
            return Vec::new();
        }
        let Some(items) = list.items() else {
            let message = format!("`{name}` should be a list, but is {}", list.kind());
            self.error(list, message, "begin every action with `- type:`");
            return Vec::new();
        };
        let mut drafts: Vec<_> = items.iter().filter_map(|item| draft(self, row, item)).collect();
        if row.name.is_empty() {
            drafts.iter_mut().for_each(|draft| draft.event = name.to_owned());
        }
        drafts
    }

    /// A point that is not in the table; written as a moment is, it waits for a caller that names it.
    fn unknown(&mut self, key: &Node, name: &str) -> Option<&'static EventSpec> {
        let prefixed = format!("on_{name}");
        let near = match events::named(&prefixed) {
            Some(row) => Some(row.name),
            None => nearest_word(name, events::names()),
        };
        let help = match near {
            Some(near) => format!("did you mean `{near}`?"),
            None => "moments are written as `on_` and their name, like `on_tool_before`".into(),
        };
        if !name.starts_with("on_") {
            self.error(key, format!("`{name}` is no hook point"), &help);
            return None;
        }
        let spot = self.document.spot_of(key);
        let complaint = Complaint::warning(spot, format!("no caller is known to fire `{name}`"));
        // Nearly a point that exists: its hooks are missing where their author wants them.
        let reported_by_fire = near.is_some();
        self.complaints.push(Complaint { reported_by_fire, ..complaint.with_help(help) });
        row(&Unified, "")
    }
}
