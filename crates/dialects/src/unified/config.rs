//! Reads the files of a stage, a pipeline, the project and the user. A bad entry adds one
//! complaint; all other entries load.

use std::path::PathBuf;

use gambrel_document::{Document, DocumentFields, DocumentLanguage, DocumentNode};
use gambrel_model::{
    Complaint, ConfigPath, Draft, EventSpec, Expect, LoadedDrafts, LoadedFile, Scope, SearchRoots,
};

use super::action::read_action;
use super::plan_commands::read_plan_commands;
use super::{UNIFIED, events, product_events};
use crate::preferences;

/// Top-level keys of a file that contains only hooks.
pub const TOP_LEVEL_KEYS: [&str; 3] = ["hooks", "version", DISABLE_GLOBAL_KEY];
/// The tag of the project's `.gambrel/config.yaml`, which a run reads.
const CONFIG_TAG: &str = "config";
const DISABLE_GLOBAL_KEY: &str = "disable_global_hooks";

/// The files in order: stage, pipeline, `.gambrel/hooks.yaml`, then the global ones.
pub fn config_paths(roots: &SearchRoots) -> Vec<ConfigPath> {
    let text = |path: PathBuf, scope, tag| ConfigPath { path, scope, expect: Expect::File, tag };
    let mut places = Vec::new();
    for tag in ["stage", "pipeline"] {
        let place = |scope| move |path: &PathBuf| text(roots.root.join(path), scope, tag);
        places.extend(roots.sources_for(tag).map(place(Scope::User)));
        // A runner that found the file by name names it so.
        let by_name = format!("project-{tag}");
        places.extend(roots.sources_for(&by_name).map(place(Scope::Project)));
    }
    let configs = roots.sources_for("project-config");
    places.extend(configs.map(|path| text(path.clone(), Scope::Project, CONFIG_TAG)));
    places.push(text(".gambrel/hooks.yaml".into(), Scope::Project, "project"));
    if let Some(home) = &roots.config_home {
        let global = ["gambrel", "agent-pipelines"].map(|folder| home.join(folder));
        places.extend(global.map(|dir| text(dir.join("hooks.yaml"), Scope::User, "global")));
    }
    places.extend(preferences::config_path(roots));
    places
}

/// Reads the drafts of all files.
pub fn load_drafts(found: &[LoadedFile], roots: &SearchRoots) -> LoadedDrafts {
    let (mut drafts, mut complaints) = (Vec::new(), Vec::new());
    let reachable = preferences::read_preferences(found, roots, &mut Vec::new()).allow;
    let mut files = Vec::with_capacity(found.len());
    for file in found.iter().filter(|file| file.place.tag != preferences::PREFERENCES_TAG) {
        let (path, yaml) = (&file.place.path, DocumentLanguage::Yaml);
        let document = Document::parse_into(path, &file.text, yaml, &mut complaints);
        files.extend(document.map(|document| (file, document)));
    }

    let off = files
        .iter()
        .find(|(file, document)| is_own_run_file(file) && disables_global_hooks(document));
    let off = off.map(|(file, _)| {
        format!("disabled: {DISABLE_GLOBAL_KEY} in {}", file.place.path.display())
    });

    for (file, document) in &files {
        let mut reader = ConfigReader::new(file, document, &reachable, roots);
        reader.disabled = off.clone().filter(|_| file.place.tag == "global");
        let is_config = file.place.tag == CONFIG_TAG;
        if !is_config {
            drafts.append(&mut reader.read_hooks());
        }
        if is_config || is_run_file(file) {
            drafts.append(&mut read_plan_commands(&reader));
        }
        complaints.append(&mut reader.complaints);
    }
    (drafts, complaints)
}

/// Whether the file is a stage or a pipeline, which has other keys than hooks.
fn is_run_file(file: &LoadedFile) -> bool {
    matches!(file.place.tag, "stage" | "pipeline")
}

/// Whether it is a stage or a pipeline that the user named by its path.
fn is_own_run_file(file: &LoadedFile) -> bool {
    is_run_file(file) && file.place.scope != Scope::Project
}

fn disables_global_hooks(document: &Document<'_>) -> bool {
    let switch = document.root.get(DISABLE_GLOBAL_KEY).map(DocumentNode::to_value);
    switch.is_some_and(|value| value == true)
}

/// Reads the hooks of one file.
pub struct ConfigReader<'r> {
    /// The file.
    pub file: &'r LoadedFile,
    /// The parsed file.
    pub document: &'r Document<'r>,
    /// Private hosts that requests may reach.
    pub reachable: &'r [String],
    /// The folders and variables of the search.
    pub roots: &'r SearchRoots,
    /// Why all hooks of this file are disabled, if they are.
    pub disabled: Option<String>,
    /// The complaints so far.
    pub complaints: Vec<Complaint>,
}

impl<'r> ConfigReader<'r> {
    fn new(
        file: &'r LoadedFile,
        document: &'r Document<'r>,
        reachable: &'r [String],
        roots: &'r SearchRoots,
    ) -> Self {
        Self { file, document, reachable, roots, disabled: None, complaints: Vec::new() }
    }

    /// The folder that relative paths belong to: for a plan, the project.
    pub fn base(&self) -> PathBuf {
        if is_run_file(self.file) || self.file.place.tag == CONFIG_TAG {
            self.roots.project.clone()
        } else {
            self.file.base.clone()
        }
    }

    /// Adds an error at a node.
    pub fn add_error(&mut self, node: &DocumentNode, message: String, help: &str) {
        let complaint = Complaint::error(self.document.span_of(node), message);
        self.complaints.push(complaint.with_help(help));
    }

    /// Adds a warning at a node.
    pub fn add_warning(&mut self, node: &DocumentNode, message: String, help: &str) {
        let complaint = Complaint::warning(self.document.span_of(node), message);
        self.complaints.push(complaint.with_help(help));
    }

    fn read_hooks(&mut self) -> Vec<Draft> {
        let document = self.document;
        if !document.root.is_map() {
            let message = format!("the file is {}, not a map", document.root.kind());
            self.add_error(&document.root, message, "begin with `hooks:`");
            return Vec::new();
        }
        self.check_top_level();
        let mut fields = DocumentFields::new(document, &document.root);
        let help = "write hook points under it, like `on_iteration_complete:`";
        let hooks = fields.read_map("hooks", help);
        self.complaints.append(&mut fields.complaints);
        let Some(hooks) = hooks else { return Vec::new() };
        hooks.entries().iter().flat_map(|(key, list)| self.read_point(key, list)).collect()
    }

    /// Checks the top-level keys next to `hooks`.
    fn check_top_level(&mut self) {
        let document = self.document;
        let mut fields = DocumentFields::new(document, &document.root);
        let switch = fields.read_flag(DISABLE_GLOBAL_KEY);
        let is_point = |key: &&DocumentNode| key.text().is_some_and(product_events::is_point);
        let keys = document.root.entries().iter().map(|(key, _)| key);
        let strays: Vec<&DocumentNode> = keys.filter(is_point).collect();
        if !is_run_file(self.file) && strays.is_empty() {
            fields.warn_unknown_keys(&TOP_LEVEL_KEYS);
        }
        self.complaints.append(&mut fields.complaints);
        for key in strays {
            let message = format!("`{}` is outside `hooks:`", key.text().unwrap_or_default());
            self.add_error(key, message, "indent it under `hooks:`");
        }

        // A project must not be able to disable the user's hooks.
        if switch == Some(true) && !is_own_run_file(self.file) {
            let at = document.root.get(DISABLE_GLOBAL_KEY).unwrap_or(&document.root);
            let message = format!(
                "`{DISABLE_GLOBAL_KEY}` counts only in a pipeline's or a stage's own file, named by its path"
            );
            self.add_warning(at, message, "write it there, and name that file by its path");
        }
    }

    fn read_point(&mut self, key: &DocumentNode, list: &DocumentNode) -> Vec<Draft> {
        let name = key.text().unwrap_or_default();
        let Some(row) = events::find_row(name).or_else(|| self.read_unknown_point(key, name))
        else {
            return Vec::new();
        };
        if list.is_null() {
            return Vec::new();
        }
        let Some(items) = list.items() else {
            let message = format!("`{name}` should be a list, but is {}", list.kind());
            self.add_error(list, message, "begin every action with `- type:`");
            return Vec::new();
        };
        let mut drafts: Vec<_> =
            items.iter().filter_map(|item| read_action(self, row, item)).collect();
        if row.name.is_empty() {
            drafts.iter_mut().for_each(|draft| draft.event = name.to_owned());
        }
        drafts
    }

    /// Finds the row of a hook point that is not in the table. With the prefix `on_`, it loads for
    /// callers that may send its event; without a product that sends it, it gets a complaint.
    fn read_unknown_point(&mut self, key: &DocumentNode, name: &str) -> Option<&'static EventSpec> {
        if product_events::event_of_point(name).is_some() {
            return UNIFIED.find_spec("");
        }
        let near = product_events::suggest_point(name);
        let help = match &near {
            Some(near) => format!("did you mean `{near}`?"),
            None => "moments are written as `on_` and their name, like `on_tool_before`".into(),
        };
        if !name.starts_with("on_") {
            self.add_error(key, format!("`{name}` is not a hook point"), &help);
            return None;
        }
        let spot = self.document.span_of(key);
        let complaint = Complaint::warning(spot, format!("no caller is known to fire `{name}`"));
        // A name that is nearly a known point is probably a typing mistake.
        let reported_by_fire = near.is_some();
        self.complaints.push(Complaint { reported_by_fire, ..complaint.with_help(help) });
        UNIFIED.find_spec("")
    }
}
