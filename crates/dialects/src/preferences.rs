//! What the user prefers for all dialects: `gambrel/config.yaml` in the user's configuration
//! folder. Only the user's own file is read: a repository must not choose what runs, or where a
//! request may go.

use std::path::Path;
use std::time::Duration;

use gambrel_model::{Complaint, ConfigPath, Expect, LoadedFile, Scope, SearchRoots};

use crate::document::{Document, Fields, Language};

/// The tag of the file among a dialect's places.
pub const TAG: &str = "preferences";

/// The editions of oh-my-pi.
const EDITIONS: [&str; 2] = ["hooks", "extensions"];

/// What the file says, and what the environment says instead.
#[derive(Debug, Clone, Default)]
pub struct Preferences {
    /// The command that answers prompts: reads one on stdin, writes the answer to stdout.
    pub model: Option<String>,
    /// The same for questions that need tools.
    pub agent: Option<String>,
    /// The edition of oh-my-pi modules.
    pub edition: Option<String>,
    /// How long a handler of a tool call may take there.
    pub tool_call_timeout: Option<Duration>,
    /// Hosts and address ranges of the inside that requests may reach.
    pub allow: Vec<String>,
}

/// Where the file is.
pub fn place(roots: &SearchRoots) -> Option<ConfigPath> {
    let path = roots.config_home.as_ref()?.join("gambrel/config.yaml");
    Some(ConfigPath { path, scope: Scope::User, expect: Expect::File, tag: TAG })
}

/// What the file asks for where processes are started.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct StartPreferences {
    /// Hooks in PID namespaces.
    pub isolate: bool,
    /// Of trusted hooks nothing but the hashed bytes.
    pub verified_exec: bool,
}

/// Whether the file asks for `isolate: true` and `verified_exec: true`. A value that is no boolean,
/// and a file that cannot be understood, count as asking: a hook must not run without by mistake.
pub fn start_preferences(text: &str) -> StartPreferences {
    let names = |name: &str| text.contains(name);
    if !names("isolate") && !names("verified_exec") {
        return StartPreferences::default();
    }
    let Ok(document) = Document::parse(Path::new("config.yaml"), text, Language::Yaml) else {
        let (isolate, verified_exec) = (names("isolate"), names("verified_exec"));
        return StartPreferences { isolate, verified_exec };
    };
    let asks = |name: &str| {
        let node = document.root.get(name).filter(|node| !node.is_null());
        node.is_some_and(|node| node.to_value().as_bool() != Some(false))
    };
    StartPreferences { isolate: asks("isolate"), verified_exec: asks("verified_exec") }
}

/// The patterns of files that belong to every project hook (`trust_files: [globs]`).
pub fn trust_files(text: &str) -> Vec<String> {
    let parsed = Document::parse(Path::new("config.yaml"), text, Language::Yaml);
    let Ok(document) = parsed else { return Vec::new() };
    Fields::of(&document, &document.root).texts("trust_files").unwrap_or_default()
}

/// Reads it off what was found.
pub fn read(
    found: &[LoadedFile],
    roots: &SearchRoots,
    complaints: &mut Vec<Complaint>,
) -> Preferences {
    let mut preferences = Preferences::default();
    for file in found.iter().filter(|file| file.place.tag == TAG) {
        match Document::parse(&file.place.path, &file.text, Language::Yaml) {
            Ok(mut document) => {
                complaints.append(&mut document.complaints);
                preferences = of(&document, complaints);
            }
            Err(complaint) => complaints.push(complaint),
        }
    }
    let named = |name: &str| roots.env_var(name).map(str::to_owned);
    preferences.model = named("GAMBREL_MODEL_COMMAND").or(preferences.model);
    preferences.agent = named("GAMBREL_AGENT_COMMAND").or(preferences.agent);
    preferences.edition = named("GAMBREL_OMP_EDITION").or(preferences.edition);
    preferences.agent = preferences.agent.or_else(|| preferences.model.clone());
    preferences
}

fn of(document: &Document<'_>, complaints: &mut Vec<Complaint>) -> Preferences {
    let mut all = Fields::of(document, &document.root);
    all.only(&["model", "agent", "http", "omp", "isolate", "verified_exec", "trust_files"]);
    // Obeyed where processes are started, see `start_preferences`; here only a mistake is told.
    all.flag("isolate");
    all.flag("verified_exec");
    // Used where hooks are trusted, see `trust_files`.
    let _ = all.texts("trust_files");
    let mut section = |name: &str, known: &[&str], read: &mut dyn FnMut(&mut Fields<'_>)| {
        if let Some(node) = document.root.get(name) {
            let mut fields = Fields::of(document, node);
            fields.only(known);
            read(&mut fields);
            complaints.append(&mut fields.complaints);
        }
    };
    let mut said = Preferences::default();
    let command =
        |fields: &mut Fields<'_>| fields.text("command").filter(|text| !text.trim().is_empty());
    section("model", &["command"], &mut |fields| said.model = command(fields));
    section("agent", &["command"], &mut |fields| said.agent = command(fields));
    section("http", &["allow"], &mut |fields| {
        said.allow = fields.texts("allow").unwrap_or_default()
    });
    section("omp", &["edition", "extensionHandlers"], &mut |fields| {
        said.edition = fields.word("edition", &EDITIONS).map(str::to_owned);
        let Some(node) = fields.node("extensionHandlers") else { return };
        let mut handlers = Fields::of(document, node);
        let millis = handlers.count("toolCallTimeoutMs").filter(|millis| *millis > 0);
        said.tool_call_timeout = millis.map(Duration::from_millis);
        fields.complaints.append(&mut handlers.complaints);
    });
    complaints.append(&mut all.complaints);
    said
}
