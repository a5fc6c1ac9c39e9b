//! Reads `.iteratr.hooks.yml`: a list of commands for each event. Entries that iteratr ignores
//! silently get a warning.

use std::time::Duration;

use gambrel_document::{Document, DocumentFields, DocumentLanguage, DocumentNode};
use gambrel_model::complaint::nearest_word;
use gambrel_model::template::{Style, variable_names};
use gambrel_model::{
    Complaint, ConfigPath, Disabled, Draft, EventSpec, Expect, Hook, HookPolicy, Limits,
    LoadedDrafts, LoadedFile, Moment, Scope, SearchRoots, Severity,
};

use super::EVENTS;
use super::payload::{has_value, known_variables};

/// The default timeout, also for zero and negative numbers.
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(30);
/// A timeout of at least this many seconds is probably in milliseconds.
const MAX_PLAUSIBLE_SECONDS: i64 = 10_000;

/// The key beside `hooks` that says when the agent receives the output of `post_iteration`.
const POST_ITERATION_KEY: &str = "post_iteration";
const NEXT_ITERATION: &str = "next_iteration";
const IMMEDIATE: &str = "immediate";

/// The only file, in the project's root.
pub fn config_paths(roots: &SearchRoots) -> Vec<ConfigPath> {
    let path = roots.root.join(".iteratr.hooks.yml");
    vec![ConfigPath { path, scope: Scope::Project, expect: Expect::File, tag: "hooks" }]
}

/// Reads the drafts of the file. A file that is not YAML has no hooks.
pub fn load_drafts(found: &[LoadedFile]) -> LoadedDrafts {
    let (mut drafts, mut complaints) = (Vec::new(), Vec::new());
    for file in found {
        let (path, yaml) = (&file.place.path, DocumentLanguage::Yaml);
        if let Some(document) = Document::parse_into(path, &file.text, yaml, &mut complaints) {
            let mut reader = ConfigReader { file, document: &document, complaints: Vec::new() };
            drafts.append(&mut reader.read_hooks());
            complaints.append(&mut reader.complaints);
        }
    }
    (drafts, complaints)
}

struct ConfigReader<'r> {
    file: &'r LoadedFile,
    document: &'r Document<'r>,
    complaints: Vec<Complaint>,
}

impl ConfigReader<'_> {
    fn add_error(&mut self, node: &DocumentNode, message: String, help: &str) {
        let complaint = Complaint::error(self.document.span_of(node), message);
        self.complaints.push(complaint.with_help(help));
    }

    fn add_warning(&mut self, node: &DocumentNode, message: String, help: &str) {
        let complaint = Complaint::warning(self.document.span_of(node), message);
        self.complaints.push(complaint.with_help(help));
    }

    fn read_hooks(&mut self) -> Vec<Draft> {
        let root = &self.document.root;
        if !root.is_map() {
            let message = format!("the file is {}, not a map", root.kind());
            self.add_error(root, message, "begin with `hooks:`");
            return Vec::new();
        }

        let mut fields = DocumentFields::new(self.document, root);
        fields.warn_unknown_keys(&["version", "hooks", POST_ITERATION_KEY]);
        let is_immediate =
            fields.read_word(POST_ITERATION_KEY, &[NEXT_ITERATION, IMMEDIATE]) == Some(IMMEDIATE);
        let hooks = fields.read_map("hooks", "write events under it, like `pre_iteration:`");
        self.complaints.append(&mut fields.complaints);
        let Some(hooks) = hooks else { return Vec::new() };

        let mut drafts = Vec::new();
        for (key, list) in hooks.entries() {
            drafts.append(&mut self.read_event(key, list));
        }
        self.warn_without_pipe_output(hooks);
        for draft in &mut drafts {
            mark_immediate(draft, is_immediate && draft.event == POST_ITERATION_KEY);
        }
        drafts
    }

    fn read_event(&mut self, key: &DocumentNode, list: &DocumentNode) -> Vec<Draft> {
        let name = key.text().unwrap_or_default();
        let Some(row) = EVENTS.iter().find(|row| row.name == name) else {
            let names = || EVENTS.iter().map(|row| row.name);
            let help = match nearest_word(name, names()) {
                Some(near) => format!("did you mean `{near}`?"),
                None => format!("events are {}", names().collect::<Vec<_>>().join(", ")),
            };
            let message = format!("no event is called `{name}`: its hooks never run");
            self.add_warning(key, message, &help);
            return Vec::new();
        };
        if list.is_null() {
            return Vec::new();
        }
        let Some(items) = list.items() else {
            let message = format!("`{name}` should be a list, but is {}", list.kind());
            self.add_error(list, message, "begin every hook with `- command:`");
            return Vec::new();
        };
        items.iter().filter_map(|item| self.read_hook(row, item)).collect()
    }

    fn read_hook(&mut self, row: &'static EventSpec, node: &DocumentNode) -> Option<Draft> {
        if !node.is_map() {
            let message = format!("a hook is a map, not {}: it never runs", node.kind());
            self.add_error(node, message, "write `- command: \"…\"`");
            return None;
        }

        let mut fields = DocumentFields::new(self.document, node);
        fields.warn_unknown_keys(&["command", "timeout", "pipe_output"]);
        let command = fields.read_str("command");
        let timeout = fields.read_integer("timeout");
        let pipes = fields.read_flag("pipe_output").unwrap_or(false);

        let empty = match &command {
            Some(command) => command.trim().is_empty(),
            None => !fields.has_key("command"),
        };
        let broken = fields.complaints.iter().find(|c| c.severity == Severity::Error);
        let idle = broken.map(|complaint| Disabled::broken(&complaint.message));
        self.complaints.append(&mut fields.complaints);
        if empty {
            let message = "a hook without a command does nothing";
            self.add_warning(node, message.into(), "add `command: \"…\"`");
            return None;
        }

        self.warn_doubtful(row, node, command, (timeout, pipes));
        let forwards_output = pipes && row.moment != Moment::SessionEnd;
        let policy = HookPolicy {
            limits: Limits { timeout: timeout_or_default(timeout), ..Limits::default() },
            forwards_output,
            ..HookPolicy::default()
        };
        Some(Draft { disabled: idle, ..self.build_draft(row, node, policy) })
    }

    fn build_draft(&self, row: &EventSpec, node: &DocumentNode, policy: HookPolicy) -> Draft {
        Draft {
            event: row.name.to_owned(),
            source: self.file.source_at(self.document.span_of(node)),
            action: "shell".into(),
            config: node.to_value(),
            policy,
            ..Draft::default()
        }
    }

    /// Warns of a valid hook that may not do what its author expects.
    fn warn_doubtful(
        &mut self,
        row: &EventSpec,
        node: &DocumentNode,
        command: Option<&str>,
        (timeout, pipes): (Option<i64>, bool),
    ) {
        if timeout.is_some_and(|n| n >= MAX_PLAUSIBLE_SECONDS && n % 1_000 == 0) {
            let at = node.get("timeout").unwrap_or(node);
            self.add_warning(
                at,
                "`timeout` is in seconds".into(),
                "leave three zeros out for milliseconds",
            );
        }
        if pipes && row.moment == Moment::SessionEnd {
            let at = node.get("pipe_output").unwrap_or(node);
            let message = "`pipe_output` is ignored at session_end: no iteration follows";
            self.add_warning(at, message.into(), "leave it out here");
        }
        let Some(command) = command else { return };
        for name in variable_names(command, Style::Braces) {
            if let Some((message, help)) = doubtful_variable(row, &name) {
                let offset = command.find(&format!("{{{{{name}}}}}")).unwrap_or(0);
                let written = node.get("command").and_then(|node| self.document.spanned_text(node));
                let spot = written.unwrap_or_default().span_at(offset);
                self.complaints.push(Complaint::warning(spot, message).with_help(help));
            }
        }
    }

    /// Warns of a file without any `pipe_output`: its hooks send nothing to the agent.
    fn warn_without_pipe_output(&mut self, hooks: &DocumentNode) {
        let lists = hooks.entries().iter().filter_map(|(_, list)| list.items());
        let mut all = lists.flatten();
        if all.any(|hook| hook.get("pipe_output").is_some()) {
            return;
        }
        let before = hooks.get("pre_iteration").and_then(DocumentNode::items).unwrap_or_default();
        if let Some(first) = before.first() {
            let message = "no hook of this file has `pipe_output`, so the agent sees no output";
            self.add_warning(
                first,
                message.into(),
                "add `pipe_output: true` to hooks that it should see",
            );
        }
    }
}

/// Notes in a hook whether its output goes to the agent at once. A hook cannot say so itself.
fn mark_immediate(draft: &mut Draft, is_immediate: bool) {
    let Some(fields) = draft.config.as_object_mut() else { return };
    if is_immediate {
        fields.insert(POST_ITERATION_KEY.to_owned(), IMMEDIATE.into());
    } else if fields.keys().any(|key| key == POST_ITERATION_KEY) {
        fields.remove(POST_ITERATION_KEY);
    }
}

/// Whether the output of a hook goes to the agent at once.
pub fn is_immediate(hook: &Hook) -> bool {
    hook.draft.config[POST_ITERATION_KEY] == IMMEDIATE
}

fn doubtful_variable(row: &EventSpec, name: &str) -> Option<(String, String)> {
    if known_variables().any(|known| known == name) {
        let empty = format!("`{{{{{name}}}}}` is empty at {}", row.name);
        return (!has_value(name, row.name)).then(|| (empty, "leave it out here".to_owned()));
    }
    let near = nearest_word(name, known_variables())?;
    let message = format!("`{{{{{name}}}}}` is not a variable, so it stays unchanged");
    Some((message, format!("did you mean `{{{{{near}}}}}`?")))
}

fn timeout_or_default(timeout: Option<i64>) -> Duration {
    let seconds = timeout.and_then(|n| u64::try_from(n).ok()).filter(|n| *n > 0);
    seconds.map_or(DEFAULT_TIMEOUT, Duration::from_secs)
}
