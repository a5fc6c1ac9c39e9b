//! The user's preferences for all dialects: `gambrel/config.yaml` in the user's configuration
//! folder. A repository cannot set preferences: it must not choose what runs, or where requests go.

use std::path::Path;
use std::time::Duration;

use gambrel_document::{Document, DocumentFields, DocumentLanguage};
use gambrel_model::{Complaint, ConfigPath, Expect, LoadedFile, PublicUrl, Scope, SearchRoots};

/// The tag of the file among a dialect's configuration paths.
pub const PREFERENCES_TAG: &str = "preferences";

/// The key of the public address.
const PUBLIC_URL_KEY: &str = "public_url";
/// The editions of oh-my-pi.
const EDITIONS: [&str; 2] = ["hooks", "extensions"];

/// The preferences of the file. Environment variables take precedence.
#[derive(Debug, Clone, Default)]
pub struct Preferences {
    /// The command that answers prompts. It reads a prompt on stdin and writes the answer to
    /// stdout.
    pub model: Option<String>,
    /// The same for prompts that need tools.
    pub agent: Option<String>,
    /// The edition of oh-my-pi modules.
    pub edition: Option<String>,
    /// The timeout of tool call handlers in oh-my-pi modules.
    pub tool_call_timeout: Option<Duration>,
    /// Private hosts and address ranges that requests may reach.
    pub allow: Vec<String>,
}

/// The path of the file.
pub fn config_path(roots: &SearchRoots) -> Option<ConfigPath> {
    let path = roots.config_home.as_ref()?.join("gambrel/config.yaml");
    Some(ConfigPath { path, scope: Scope::User, expect: Expect::File, tag: PREFERENCES_TAG })
}

/// The preferences about how processes start.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct StartPreferences {
    /// Run hooks in PID namespaces.
    pub isolate: bool,
    /// Execute only the hashed bytes of trusted hooks.
    pub verified_exec: bool,
}

/// Reads `isolate` and `verified_exec`. A value that is not a boolean counts as true. So does a
/// name in a file that does not parse. A mistake must not weaken the protection.
pub fn start_preferences(text: &str) -> StartPreferences {
    let names = |name: &str| text.contains(name);
    if !names("isolate") && !names("verified_exec") {
        return StartPreferences::default();
    }
    let Ok(document) = Document::parse(Path::new("config.yaml"), text, DocumentLanguage::Yaml)
    else {
        let (isolate, verified_exec) = (names("isolate"), names("verified_exec"));
        return StartPreferences { isolate, verified_exec };
    };
    let asks = |name: &str| {
        let node = document.root.get(name).filter(|node| !node.is_null());
        node.is_some_and(|node| node.to_value().as_bool() != Some(false))
    };
    StartPreferences { isolate: asks("isolate"), verified_exec: asks("verified_exec") }
}

/// The patterns of files that are hashed with every project hook (`trust_files: [globs]`).
pub fn trust_files(text: &str) -> Vec<String> {
    let parsed = Document::parse(Path::new("config.yaml"), text, DocumentLanguage::Yaml);
    let Ok(document) = parsed else { return Vec::new() };
    DocumentFields::new(&document, &document.root).read_texts("trust_files").unwrap_or_default()
}

/// The address of callback links for other machines (`public_url`). An unusable one counts as none;
/// `check` reports it.
pub fn public_url(text: &str) -> Option<PublicUrl> {
    if !text.contains(PUBLIC_URL_KEY) {
        return None;
    }
    let parsed = Document::parse(Path::new("config.yaml"), text, DocumentLanguage::Yaml);
    let document = parsed.ok()?;
    let written = document.root.get(PUBLIC_URL_KEY)?.text()?;
    PublicUrl::parse(written).ok()
}

/// Reads the preferences from the loaded files and the environment.
pub fn read_preferences(
    found: &[LoadedFile],
    roots: &SearchRoots,
    complaints: &mut Vec<Complaint>,
) -> Preferences {
    let mut preferences = Preferences::default();
    for file in found.iter().filter(|file| file.place.tag == PREFERENCES_TAG) {
        let (path, yaml) = (&file.place.path, DocumentLanguage::Yaml);
        if let Some(document) = Document::parse_into(path, &file.text, yaml, complaints) {
            preferences = parse_preferences(&document, complaints);
        }
    }

    let named = |name: &str| roots.env_var(name).map(str::to_owned);
    preferences.model = named("GAMBREL_MODEL_COMMAND").or(preferences.model);
    preferences.agent = named("GAMBREL_AGENT_COMMAND").or(preferences.agent);
    preferences.edition = named("GAMBREL_OMP_EDITION").or(preferences.edition);
    preferences.agent = preferences.agent.or_else(|| preferences.model.clone());
    preferences
}

fn parse_preferences(document: &Document<'_>, complaints: &mut Vec<Complaint>) -> Preferences {
    let mut all = DocumentFields::new(document, &document.root);
    all.warn_unknown_keys(&[
        "model",
        "agent",
        "http",
        "omp",
        "isolate",
        "verified_exec",
        "trust_files",
        PUBLIC_URL_KEY,
    ]);
    // Only checked here. `start_preferences` reads the values.
    all.read_flag("isolate");
    all.read_flag("verified_exec");
    // Only checked here. `trust_files` reads the value.
    let _ = all.read_texts("trust_files");
    // Only checked here. `public_url` reads the value.
    if let Some(Err(error)) = all.read_text(PUBLIC_URL_KEY).map(|text| PublicUrl::parse(&text)) {
        all.add_error(PUBLIC_URL_KEY, error.to_string(), "links then lead to this machine");
    }

    let mut section =
        |name: &str, known: &[&str], read: &mut dyn FnMut(&mut DocumentFields<'_>)| {
            if let Some(node) = all.node(name) {
                all.read_inner(node, |fields| {
                    fields.warn_unknown_keys(known);
                    read(fields);
                });
            }
        };

    let mut preferences = Preferences::default();
    let command = |fields: &mut DocumentFields<'_>| {
        fields.read_text("command").filter(|text| !text.trim().is_empty())
    };
    section("model", &["command"], &mut |fields| preferences.model = command(fields));
    section("agent", &["command"], &mut |fields| preferences.agent = command(fields));
    section("http", &["allow"], &mut |fields| {
        preferences.allow = fields.read_texts("allow").unwrap_or_default()
    });
    section("omp", &["edition", "extensionHandlers"], &mut |fields| {
        preferences.edition = fields.read_word("edition", &EDITIONS).map(str::to_owned);
        let Some(node) = fields.node("extensionHandlers") else { return };
        let mut handlers = DocumentFields::new(document, node);
        let millis = handlers.read_count("toolCallTimeoutMs").filter(|millis| *millis > 0);
        preferences.tool_call_timeout = millis.map(Duration::from_millis);
        fields.complaints.append(&mut handlers.complaints);
    });
    complaints.append(&mut all.complaints);
    preferences
}
