//! Settings files in three levels: event, matcher group, handlers. A bad entry is one complaint
//! at its place; everything else loads.

use std::borrow::Cow;
use std::path::PathBuf;

use gambrel_model::complaint::nearest_word;
use gambrel_model::hook::invalid_matcher;
use gambrel_model::{
    Complaint, ConfigPath, Draft, EventSpec, Expect, LoadedFile, MatcherText, Scope, SearchRoots,
    SourceSpan, SpannedText,
};

use super::Claude;
use super::events::EVENTS;
use super::fences::Fences;
use super::frontmatter::frontmatter;
use super::handler::{Group, handler};
use super::matcher::{doubts, understood};
use super::owner::{self, Owner};
use super::plugin::{self, Plugins};
use super::servers::{self, Servers};
use super::switches::Switches;
use crate::document::{Content, Document, Fields, Language, Node};
use crate::payload::row;
use crate::preferences::{self, Preferences};

/// Where the administrator's file is, unless a test says otherwise.
const MANAGED: &str = "/etc/claude-code/managed-settings.json";

/// So many complaints of one file come with "did you mean".
const MAX_SUGGESTION_COUNT: usize = 100;

/// The hooks file of the plugin that calls gambrel.
const HOST_PLUGIN: &str = "host-plugin";

/// Managed; the user's, at home and by name on the command line; project; local.
pub fn places(roots: &SearchRoots) -> Vec<ConfigPath> {
    let text = |path: PathBuf, scope, tag| ConfigPath { path, scope, expect: Expect::File, tag };
    let managed = roots.env_var("GAMBREL_CLAUDE_MANAGED").unwrap_or(MANAGED);
    let mut places = vec![text(roots.root.join(managed), Scope::Managed, "managed")];
    if let Some(folder) = user_folder(roots) {
        places.push(text(folder.join("settings.json"), Scope::User, "user"));
    }
    let from_root = |path: &PathBuf| roots.root.join(path);
    let settings = roots.sources_for("settings").map(from_root);
    places.extend(settings.map(|path| text(path, Scope::User, "settings")));
    let plugins = plugin::folders(roots);
    places.extend(plugins.iter().flat_map(|folder| plugin::places(folder)));
    // The plugin that calls gambrel: only its entries count, which say what it reports.
    if let Some(plugin) = roots.env_var("CLAUDE_PLUGIN_ROOT") {
        let path = roots.root.join(plugin).join("hooks/hooks.json");
        places.push(text(path, Scope::User, HOST_PLUGIN));
    }
    places.push(text(".claude/settings.json".into(), Scope::Project, "project"));
    places.push(text(".claude/settings.local.json".into(), Scope::Local, "local"));
    places.push(text(".mcp.json".into(), Scope::Project, servers::TAG));
    places.extend(plugins.iter().map(|dir| text(dir.join(".mcp.json"), Scope::User, servers::TAG)));
    places.extend(preferences::place(roots));
    let homes = user_folder(roots).into_iter().chain(plugins).map(|dir| (dir, Scope::User));
    for (dir, scope) in homes.chain([(".claude".into(), Scope::Project)]) {
        let each =
            |path, pattern, tag| ConfigPath { path, scope, expect: Expect::Glob(pattern), tag };
        places.push(each(dir.join("skills"), "*/SKILL.md", owner::SKILL));
        places.push(each(dir.join("agents"), "*.md", owner::AGENT));
    }
    places
}

/// `CLAUDE_CONFIG_DIR`, else `.claude` at home.
pub fn user_folder(roots: &SearchRoots) -> Option<PathBuf> {
    let named = roots.env_var("CLAUDE_CONFIG_DIR").map(|dir| roots.root.join(dir));
    named.or_else(|| Some(roots.home.as_ref()?.join(".claude")))
}

/// One file that is being read.
pub struct Reading<'r> {
    /// The file.
    pub file: &'r LoadedFile,
    /// Its tree.
    pub document: &'r Document<'r>,
    /// The firing's folders and variables.
    pub roots: &'r SearchRoots,
    /// What other files settle for all.
    pub settled: &'r Settled,
    /// The skill or agent whose frontmatter it is.
    pub owner: Option<Owner>,
    /// Why no hook of this file runs, if none does.
    pub off: Option<String>,
    /// What was wrong so far.
    pub complaints: Vec<Complaint>,
}

/// What other files settle for all handlers.
pub struct Settled {
    /// The user's preferences.
    pub preferences: Preferences,
    /// Servers that tools may be called on.
    pub servers: Servers,
    /// Where requests may go, and which variables may go with them.
    pub fences: Fences,
    /// Every file that was found.
    pub files: Vec<PathBuf>,
    /// Where plugins keep their data.
    pub plugins: Plugins,
}

/// Every handler of every file.
pub fn load(found: &[LoadedFile], roots: &SearchRoots) -> (Vec<Draft>, Vec<Complaint>) {
    let mut complaints = Vec::new();
    let texts = texts(found, &mut complaints);
    let mut files = Vec::with_capacity(texts.len());
    for (file, text, language) in &texts {
        match Document::parse(&file.place.path, text, *language) {
            Ok(mut document) => {
                complaints.append(&mut document.complaints);
                files.push((*file, document));
            }
            Err(complaint) => complaints.push(complaint),
        }
    }
    let switches = Switches::of(&files, &mut complaints);
    let plugins = Plugins::of(found, roots);
    let settled = Settled {
        preferences: preferences::read(found, roots, &mut complaints),
        servers: Servers::of(found, &plugins, roots, &mut complaints),
        fences: Fences::of(&files, &mut complaints),
        files: found.iter().map(|file| file.place.path.clone()).collect(),
        plugins,
    };
    let settled = &settled;
    let mut drafts = Vec::new();
    for (file, document) in &files {
        let off = switches.idle(&file.place, roots);
        let owner = Owner::of(file, document.root.get("name").and_then(Node::text));
        let mut reading =
            Reading { file, document, roots, settled, owner, off, complaints: Vec::new() };
        let before = drafts.len();
        reading.settings(&mut drafts);
        if file.place.tag == HOST_PLUGIN {
            let own = drafts.split_off(before).into_iter().filter(|draft| draft.calls_gambrel);
            drafts.extend(own.collect::<Vec<_>>());
            continue;
        }
        complaints.append(&mut reading.complaints);
    }
    complaints.extend(plugin::bare(found, &drafts, &complaints, roots));
    if roots.env_var("CLAUDE_CODE_SESSIONEND_HOOKS_TIMEOUT_MS").is_none() {
        share_the_end(&mut drafts);
    }
    (drafts, complaints)
}

/// At the end of a session all hooks that are waited for share the time of the longest.
fn share_the_end(drafts: &mut [Draft]) {
    let ends = |draft: &Draft| draft.event == "SessionEnd" && draft.policy.blocking;
    let longest = drafts.iter().filter(|d| ends(d)).map(|d| d.policy.timeout).max();
    for draft in drafts.iter_mut().filter(|d| ends(d)) {
        if draft.config.get("timeout").is_none() {
            draft.policy.timeout = longest.unwrap_or(draft.policy.timeout);
        }
    }
}

/// What of each file is read, and in which language: of a skill or an agent only the frontmatter.
fn texts<'f>(
    found: &'f [LoadedFile],
    complaints: &mut Vec<Complaint>,
) -> Vec<(&'f LoadedFile, Cow<'f, str>, Language)> {
    let read = |file: &'f LoadedFile| match file.place.tag {
        servers::TAG | preferences::TAG => None,
        owner::SKILL | owner::AGENT => {
            let part = frontmatter(&file.place.path, &file.text, complaints)?;
            Some((file, part, Language::Yaml))
        }
        _ => Some((file, Cow::Borrowed(file.text.as_str()), Language::Jsonc)),
    };
    found.iter().filter_map(read).collect()
}

impl<'r> Reading<'r> {
    fn settings(&mut self, drafts: &mut Vec<Draft>) {
        let root = &self.document.root;
        if !matches!(root.content, Content::Map(_)) {
            return self.complain(root, format!("settings are a map, not {}", root.kind()), None);
        }
        if self.file.place.tag == plugin::MANIFEST {
            return self.manifest(drafts);
        }
        self.strays(root);
        let Some(hooks) = root.get("hooks").filter(|node| !node.is_null()) else { return };
        self.events(hooks, drafts);
    }

    /// Events that stand beside `hooks` would be passed over without a word.
    fn strays(&mut self, root: &'r Node) {
        let event = |key: &str| EVENTS.iter().any(|row| !key.is_empty() && row.name == key);
        for (key, _) in root.entries().iter().filter(|(key, _)| key.text().is_some_and(event)) {
            let name = key.text().unwrap_or_default();
            let message = format!("`{name}` stands outside `hooks`, so its hooks never run");
            let help = format!("write \"hooks\": {{\"{name}\": [ … ]}}");
            self.complain(key, message, Some(help));
        }
    }

    /// Events and their matcher groups.
    pub fn events(&mut self, hooks: &'r Node, drafts: &mut Vec<Draft>) {
        if !matches!(hooks.content, Content::Map(_)) {
            let help = Some("write \"hooks\": {\"PreToolUse\": [ … ]}".to_owned());
            return self.complain(hooks, format!("`hooks` is a map, not {}", hooks.kind()), help);
        }
        for (key, value) in hooks.entries() {
            let name = key.text().unwrap_or_default();
            let name = self.owner.as_ref().map_or(name, |owner| owner.event(name));
            if !EVENTS.iter().any(|row| row.name == name) {
                // Who has so many of them does not mistype.
                let suggests = self.complaints.len() < MAX_SUGGESTION_COUNT;
                self.complaints.push(unknown(name, self.document.spot_of(key), suggests));
            }
            self.event(name, value, drafts);
        }
    }

    fn event(&mut self, name: &str, value: &'r Node, drafts: &mut Vec<Draft>) {
        let Some(groups) = value.items() else {
            let message = format!("`{name}` is a list of matcher groups, not {}", value.kind());
            return self.complain(value, message, Some(THREE_LEVELS.into()));
        };
        let Some(row) = row(&Claude, name) else { return };
        for node in groups {
            if let Some((group, handlers)) = self.group(row, node) {
                for node in handlers {
                    let draft = handler(self, &group, node);
                    drafts.extend(draft.map(|draft| Draft { event: name.to_owned(), ..draft }));
                }
            }
        }
    }

    fn group(&mut self, row: &'static EventSpec, node: &'r Node) -> Option<(Group, &'r [Node])> {
        if !matches!(node.content, Content::Map(_)) {
            let message = format!("a matcher group is a map, not {}", node.kind());
            self.complain(node, message, Some(THREE_LEVELS.into()));
            return None;
        }
        let mut fields = Fields::of(self.document, node);
        let written = fields.quoted("matcher");
        let unread = fields.has("matcher") && written.is_none();
        let mut idle = unread.then(|| "its matcher is not a text".to_owned());
        let hooks = fields.node("hooks");
        if hooks.is_some() {
            fields.only(&["matcher", "hooks", "description"]);
        }
        self.complaints.append(&mut fields.complaints);
        let matcher = written.map_or(Ok(MatcherText::All), |written| self.matcher(row, written));
        let matcher = matcher.unwrap_or_else(|why| {
            idle = Some(format!("its matcher is not valid: {why}"));
            MatcherText::All
        });
        let Some(handlers) = hooks.and_then(Node::items) else {
            let (at, message) = match hooks {
                Some(hooks) => {
                    (hooks, format!("`hooks` is a list of handlers, not {}", hooks.kind()))
                }
                None => (node, "this matcher group has no `hooks`, so nothing runs".to_owned()),
            };
            self.complain(at, message, Some(THREE_LEVELS.into()));
            return None;
        };
        Some((Group { row, matcher, idle }, handlers))
    }

    fn matcher(&mut self, row: &EventSpec, written: SpannedText) -> Result<MatcherText, String> {
        let meant = understood(row, written.clone());
        self.complaints.extend(match &meant {
            Ok(meant) => doubts(row, meant, &written),
            Err(why) => Some(invalid_matcher(written.spot, why)),
        });
        meant
    }

    /// Records a mistake at a node.
    pub fn complain(&mut self, node: &Node, message: String, help: Option<String>) {
        let complaint = Complaint::error(self.document.spot_of(node), message);
        self.complaints.push(Complaint { help, ..complaint });
    }

    /// The plugin's folder, for a file that belongs to one.
    pub fn plugin(&self) -> Option<PathBuf> {
        plugin::of(&self.file.place.path, self.roots)
    }
}

const THREE_LEVELS: &str =
    "three levels: \"Event\": [{\"matcher\": \"…\", \"hooks\": [{\"type\": \"command\", …}]}]";

/// A name that is not in the table: of a later day, or mistyped.
fn unknown(name: &str, spot: SourceSpan, suggests: bool) -> Complaint {
    let message = format!("unknown event `{name}`: its hooks run only if a caller names it so");
    let named = || EVENTS.iter().map(|row| row.name).filter(|name| !name.is_empty());
    match suggests.then(|| nearest_word(name, named())).flatten() {
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
