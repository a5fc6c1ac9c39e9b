//! Reads settings files with their three levels: event, matcher group, handlers. A bad entry adds
//! one complaint; all other entries load.

use std::borrow::Cow;
use std::path::PathBuf;

use gambrel_document::{Document, DocumentFields, DocumentLanguage, DocumentNode};
use gambrel_model::complaint::nearest_name;
use gambrel_model::hook::invalid_matcher;
use gambrel_model::{
    Complaint, ConfigPath, Draft, EventSpec, Expect, LoadedDrafts, LoadedFile, MatcherText, Scope,
    SearchRoots, SourceSpan,
};

use super::CLAUDE;
use super::ecmascript::RegexSyntaxError;
use super::events::{event_row, event_specs};
use super::findings;
use super::frontmatter::extract_frontmatter;
use super::frontmatter_owner::{self, Owner};
use super::handler::{MatcherGroup, NamedEvent, read_handler};
use super::hosts::claude_event_name;
use super::http_allowlists::HttpAllowlists;
use super::kill_switches::KillSwitches;
use super::matcher::{parse_matcher, warn_doubtful};
use super::mcp_servers::{self, McpServers};
use super::plugin::{self, PluginDataFolders};
use super::settings_files::{CONFIG_DIR_VAR, SETTINGS_DIR};
use crate::preferences::{self, Preferences};

/// The administrator's settings file. `GAMBREL_CLAUDE_MANAGED` replaces it in tests.
const MANAGED_SETTINGS_PATH: &str = "/etc/claude-code/managed-settings.json";

/// Only the first complaints of a file get a "did you mean" suggestion.
const MAX_SUGGESTION_COUNT: usize = 100;

/// The tag of the hooks file of the plugin that calls gambrel.
const HOST_PLUGIN_TAG: &str = "host-plugin";

/// The settings files by scope: managed, user (at home and from the command line), project,
/// local. Then MCP servers, preferences, and the frontmatter of skills and agents.
pub fn config_paths(roots: &SearchRoots) -> Vec<ConfigPath> {
    let text = |path: PathBuf, scope, tag| ConfigPath { path, scope, expect: Expect::File, tag };
    let managed = roots.env_var("GAMBREL_CLAUDE_MANAGED").unwrap_or(MANAGED_SETTINGS_PATH);
    let mut places = vec![text(roots.root.join(managed), Scope::Managed, "managed")];
    if let Some(folder) = user_folder(roots) {
        places.push(text(folder.join("settings.json"), Scope::User, "user"));
    }

    let from_root = |path: &PathBuf| roots.root.join(path);
    let settings = roots.sources_for("settings").map(from_root);
    places.extend(settings.map(|path| text(path, Scope::User, "settings")));
    let plugins = plugin::plugin_folders(roots);
    places.extend(plugins.iter().flat_map(|folder| plugin::plugin_config_paths(folder)));

    // Of the plugin that calls gambrel, only the entries that call gambrel are used. They show
    // which events the plugin reports.
    if let Some(plugin) = roots.env_var("CLAUDE_PLUGIN_ROOT") {
        let path = roots.root.join(plugin).join("hooks/hooks.json");
        places.push(text(path, Scope::User, HOST_PLUGIN_TAG));
    }

    places.push(text(".claude/settings.json".into(), Scope::Project, "project"));
    places.push(text(".claude/settings.local.json".into(), Scope::Local, "local"));
    // Else only a file that names a tool of a server leads to it.
    let checks_all = roots.notes.is_some() || !plugins.is_empty();
    places.extend(checks_all.then(mcp_servers::project_servers));
    places.extend(
        plugins
            .iter()
            .map(|dir| text(dir.join(".mcp.json"), Scope::User, mcp_servers::SERVERS_TAG)),
    );
    places.extend(preferences::config_path(roots));

    let homes = user_folder(roots).into_iter().chain(plugins).map(|dir| (dir, Scope::User));
    for (dir, scope) in homes.chain([(".claude".into(), Scope::Project)]) {
        let each =
            |path, pattern, tag| ConfigPath { path, scope, expect: Expect::Glob(pattern), tag };
        places.push(each(dir.join("skills"), "*/SKILL.md", frontmatter_owner::SKILL));
        places.push(each(dir.join("agents"), "*.md", frontmatter_owner::AGENT));
    }
    places
}

/// `CLAUDE_CONFIG_DIR`, else `.claude` at home.
pub fn user_folder(roots: &SearchRoots) -> Option<PathBuf> {
    let named = roots.env_var(CONFIG_DIR_VAR).map(|dir| roots.root.join(dir));
    named.or_else(|| Some(roots.home.as_ref()?.join(SETTINGS_DIR)))
}

/// Reads the hooks of one file.
pub struct SettingsReader<'r> {
    /// The file.
    pub file: &'r LoadedFile,
    /// The parsed file.
    pub document: &'r Document<'r>,
    /// The folders and variables of the search.
    pub roots: &'r SearchRoots,
    /// Settings from other files.
    pub shared: &'r SharedSettings,
    /// The skill or agent whose frontmatter the file is.
    pub owner: Option<Owner>,
    /// Why all hooks of this file are disabled, if they are.
    pub disabled: Option<String>,
    /// The complaints so far.
    pub complaints: Vec<Complaint>,
}

/// Settings that apply to the handlers of all files.
pub struct SharedSettings {
    /// The user's preferences.
    pub preferences: Preferences,
    /// The MCP servers whose tools handlers may call.
    pub servers: McpServers,
    /// The allowed request addresses, and the variables that requests may contain.
    pub http_allowlists: HttpAllowlists,
    /// The paths of all loaded files.
    pub files: Vec<PathBuf>,
    /// The data folders of plugins.
    pub plugins: PluginDataFolders,
}

/// Reads the drafts of all files.
pub fn load_drafts(found: &[LoadedFile], roots: &SearchRoots) -> LoadedDrafts {
    let mut complaints = Vec::new();
    let texts = select_texts(found, &mut complaints);
    let mut files = Vec::with_capacity(texts.len());
    for (file, text, language) in &texts {
        let document = Document::parse_into(&file.place.path, text, *language, &mut complaints);
        files.extend(document.map(|document| (*file, document)));
    }

    let switches = KillSwitches::from_settings(&files, &mut complaints);
    let plugins = PluginDataFolders::from_files(found, roots);
    let shared = SharedSettings {
        preferences: preferences::read_preferences(found, roots, &mut complaints),
        servers: McpServers::from_files(found, &plugins, roots, &mut complaints),
        http_allowlists: HttpAllowlists::from_settings(&files, &mut complaints),
        files: found.iter().map(|file| file.place.path.clone()).collect(),
        plugins,
    };
    let shared = &shared;

    let mut drafts = Vec::new();
    for (file, document) in &files {
        let off = switches.disabled_reason(&file.place, roots);
        let owner = Owner::from_file(file, document.root.get("name").and_then(DocumentNode::text));
        let mut reader = SettingsReader {
            file,
            document,
            roots,
            shared,
            owner,
            disabled: off,
            complaints: Vec::new(),
        };
        let before = drafts.len();
        reader.read_settings(&mut drafts);
        if file.place.tag == HOST_PLUGIN_TAG {
            let own = drafts.split_off(before).into_iter().filter(|draft| draft.calls_gambrel);
            drafts.extend(own.collect::<Vec<_>>());
            continue;
        }
        complaints.append(&mut reader.complaints);
    }

    complaints.extend(plugin::warn_without_hooks(found, &drafts, &complaints, roots));
    if roots.env_var("CLAUDE_CODE_SESSIONEND_HOOKS_TIMEOUT_MS").is_none() {
        share_session_end_timeout(&mut drafts);
    }
    (drafts, complaints)
}

/// At `SessionEnd`, all blocking hooks without a timeout of their own get the longest timeout.
fn share_session_end_timeout(drafts: &mut [Draft]) {
    let ends = |draft: &Draft| draft.event == "SessionEnd" && draft.policy.limits.blocking;
    let longest = drafts.iter().filter(|d| ends(d)).map(|d| d.policy.limits.timeout).max();
    for draft in drafts.iter_mut().filter(|d| ends(d)) {
        if draft.config.get("timeout").is_none() {
            draft.policy.limits.timeout = longest.unwrap_or(draft.policy.limits.timeout);
        }
    }
}

/// The text and the language of each file. Of a skill or an agent, only the frontmatter.
fn select_texts<'f>(
    found: &'f [LoadedFile],
    complaints: &mut Vec<Complaint>,
) -> Vec<(&'f LoadedFile, Cow<'f, str>, DocumentLanguage)> {
    let read = |file: &'f LoadedFile| match file.place.tag {
        mcp_servers::SERVERS_TAG | preferences::PREFERENCES_TAG => None,
        frontmatter_owner::SKILL | frontmatter_owner::AGENT => {
            let part = extract_frontmatter(&file.place.path, &file.text, complaints)?;
            Some((file, part, DocumentLanguage::Yaml))
        }
        _ => Some((file, Cow::Borrowed(file.text.as_str()), DocumentLanguage::Jsonc)),
    };
    found.iter().filter_map(read).collect()
}

impl<'r> SettingsReader<'r> {
    fn read_settings(&mut self, drafts: &mut Vec<Draft>) {
        let root = &self.document.root;
        if !root.is_map() {
            return self.add_error(root, format!("settings are a map, not {}", root.kind()), None);
        }
        if self.file.place.tag == plugin::MANIFEST_TAG {
            return self.read_manifest(drafts);
        }
        self.report_stray_events(root);
        let Some(hooks) = root.get("hooks").filter(|node| !node.is_null()) else { return };
        self.read_events(hooks, drafts);
    }

    /// Reports events outside `hooks`, which Claude Code ignores silently.
    fn report_stray_events(&mut self, root: &'r DocumentNode<'r>) {
        let event = |key: &str| event_specs().iter().any(|row| !key.is_empty() && row.name == key);
        for (key, _) in root.entries().iter().filter(|(key, _)| key.text().is_some_and(event)) {
            let name = key.text().unwrap_or_default();
            let message = format!("`{name}` is outside `hooks`, so its hooks never run");
            let help = format!("write \"hooks\": {{\"{name}\": [ … ]}}");
            self.add_error(key, message, Some(help));
        }
    }

    /// Reads the events and their matcher groups.
    pub fn read_events(&mut self, hooks: &'r DocumentNode<'r>, drafts: &mut Vec<Draft>) {
        if !hooks.is_map() {
            let help = Some("write \"hooks\": {\"PreToolUse\": [ … ]}".to_owned());
            return self.add_error(hooks, format!("`hooks` is a map, not {}", hooks.kind()), help);
        }
        for (key, value) in hooks.entries() {
            let name = key.text().unwrap_or_default();
            let name = self.owner.as_ref().map_or(name, |owner| owner.session_event(name));
            if !event_specs().iter().any(|row| row.name == name) {
                // Many unknown events are rarely typing mistakes.
                let suggests = self.complaints.len() < MAX_SUGGESTION_COUNT;
                self.complaints.push(unknown_event(name, self.document.span_of(key), suggests));
            }
            self.read_event(name, value, drafts);
        }
    }

    fn read_event(&mut self, name: &str, value: &'r DocumentNode<'r>, drafts: &mut Vec<Draft>) {
        let Some(groups) = value.items() else {
            let message = format!("`{name}` is a list of matcher groups, not {}", value.kind());
            return self.add_error(value, message, Some(LEVELS_HELP.into()));
        };
        let Some(row) = CLAUDE.find_spec(name) else { return };
        let event = NamedEvent { name, row, table_row: event_row(row) };
        for node in groups {
            if let Some((group, handlers)) = self.read_group(&event, node) {
                drafts.extend(handlers.iter().filter_map(|node| read_handler(self, &group, node)));
            }
        }
    }

    fn read_group<'n>(
        &mut self,
        event: &NamedEvent<'n>,
        node: &'r DocumentNode<'r>,
    ) -> Option<(MatcherGroup<'n>, &'r [DocumentNode<'r>])> {
        if !node.is_map() {
            let message = format!("a matcher group is a map, not {}", node.kind());
            self.add_error(node, message, Some(LEVELS_HELP.into()));
            return None;
        }
        let mut fields = DocumentFields::new(self.document, node);
        let written = fields.read_str("matcher");
        let unread =
            fields.node("matcher").filter(|_| written.is_none()).map(DocumentNode::to_value);
        let mut idle = unread.is_some().then(|| "its matcher is not a text".to_owned());
        let hooks = fields.node("hooks");
        if hooks.is_some() {
            fields.warn_unknown_keys(&["matcher", "hooks", "description"]);
        }
        self.complaints.append(&mut fields.complaints);

        let matcher = match (written, unread) {
            (None, None) => MatcherText::All,
            (None, Some(value)) => MatcherText::Invalid(value.to_string()),
            (Some(written), _) => {
                self.read_matcher(event.row, node, written).unwrap_or_else(|why| {
                    idle = Some(format!("its matcher is not valid: {why}"));
                    MatcherText::Invalid(written.to_owned())
                })
            }
        };

        let Some(handlers) = hooks.and_then(DocumentNode::items) else {
            let (at, message) = match hooks {
                Some(hooks) => {
                    (hooks, format!("`hooks` is a list of handlers, not {}", hooks.kind()))
                }
                None => (node, "this matcher group has no `hooks`, so nothing runs".to_owned()),
            };
            self.add_error(at, message, Some(LEVELS_HELP.into()));
            return None;
        };
        Some((MatcherGroup { event: *event, matcher, disabled: idle }, handlers))
    }

    fn read_matcher(
        &mut self,
        row: &EventSpec,
        group: &DocumentNode<'_>,
        text: &str,
    ) -> Result<MatcherText, RegexSyntaxError> {
        let (document, node) = (self.document, group.get("matcher"));
        let written = || node.and_then(|node| document.spanned_text(node)).unwrap_or_default();
        let parsed = parse_matcher(row, text, &written);
        self.complaints.extend(match &parsed {
            Ok(parsed) => warn_doubtful(row, parsed, &written),
            Err(why) => Some(invalid_matcher(written().spot, &why.to_string())),
        });
        if let (Ok(parsed), true) = (&parsed, self.roots.notes.is_some()) {
            self.complaints.extend(findings::check_matcher(row, parsed, &written()));
        }
        parsed
    }

    /// Adds an error at a node.
    pub fn add_error(&mut self, node: &DocumentNode, message: String, help: Option<String>) {
        let complaint = Complaint::error(self.document.span_of(node), message);
        self.complaints.push(Complaint { help, ..complaint });
    }

    /// The folder of the plugin that the file belongs to.
    pub fn plugin_folder(&self) -> Option<PathBuf> {
        plugin::plugin_of(&self.file.place.path, self.roots)
    }
}

const LEVELS_HELP: &str =
    "three levels: \"Event\": [{\"matcher\": \"…\", \"hooks\": [{\"type\": \"command\", …}]}]";

/// The event that an unknown name probably means: one of this product under another agent's name,
/// or the nearest.
fn nearest_event(name: &str) -> Option<&'static str> {
    let named = || event_specs().iter().map(|row| row.name).filter(|name| !name.is_empty());
    let translated = claude_event_name(name);
    named().find(|known| *known == translated).or_else(|| nearest_name(name, named()))
}

/// The complaint about an event that is not in the table: newer than the table, or mistyped.
fn unknown_event(name: &str, spot: SourceSpan, suggests: bool) -> Complaint {
    let message = format!("unknown event `{name}`: its hooks run only if a caller sends that name");
    let named = || event_specs().iter().map(|row| row.name).filter(|name| !name.is_empty());
    match suggests.then(|| nearest_event(name)).flatten() {
        Some(near) => Complaint::error(spot, message).with_help(format!("did you mean `{near}`?")),
        None if !suggests => {
            Complaint { reported_by_fire: true, ..Complaint::warning(spot, message) }
        }
        None => {
            let known: Vec<&str> = named().collect();
            let complaint = Complaint::warning(spot, message);
            let help = Some(format!("known are {}", known.join(", ")));
            Complaint { help, reported_by_fire: true, ..complaint }
        }
    }
}
