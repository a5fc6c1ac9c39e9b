//! `.iteratr.hooks.yml`: a list of commands per event. Entries that iteratr ignores silently are
//! ignored here with a warning.

use std::time::Duration;

use gambrel_model::complaint::nearest_word;
use gambrel_model::template::{Style, variable_names};
use gambrel_model::{
    Complaint, ConfigPath, Draft, EventSpec, Expect, HookPolicy, LoadedFile, Moment, Scope,
    SearchRoots, Severity, Source, SpannedText,
};

use super::EVENTS;
use super::payload::{is_given, names};
use crate::document::{Content, Document, Fields, Language, Node};

/// The default timeout, also for 0 and negative numbers.
const TIMEOUT: Duration = Duration::from_secs(30);
/// More than this looks like milliseconds.
const LONG: i64 = 10_000;

/// One file, in the root only.
pub fn places(roots: &SearchRoots) -> Vec<ConfigPath> {
    let path = roots.root.join(".iteratr.hooks.yml");
    vec![ConfigPath { path, scope: Scope::Project, expect: Expect::File, tag: "hooks" }]
}

/// Every hook of the file. A file that is not YAML has no hooks.
pub fn load(found: &[LoadedFile]) -> (Vec<Draft>, Vec<Complaint>) {
    let (mut drafts, mut complaints) = (Vec::new(), Vec::new());
    for file in found {
        match Document::parse(&file.place.path, &file.text, Language::Yaml) {
            Ok(mut document) => {
                complaints.append(&mut document.complaints);
                let mut reading = Reading { file, document: &document, complaints: Vec::new() };
                drafts.append(&mut reading.hooks());
                complaints.append(&mut reading.complaints);
            }
            Err(complaint) => complaints.push(complaint),
        }
    }
    (drafts, complaints)
}

struct Reading<'r> {
    file: &'r LoadedFile,
    document: &'r Document<'r>,
    complaints: Vec<Complaint>,
}

impl Reading<'_> {
    fn error(&mut self, node: &Node, message: String, help: &str) {
        let complaint = Complaint::error(self.document.spot_of(node), message);
        self.complaints.push(complaint.with_help(help));
    }

    fn warn(&mut self, node: &Node, message: String, help: &str) {
        let complaint = Complaint::warning(self.document.spot_of(node), message);
        self.complaints.push(complaint.with_help(help));
    }

    fn hooks(&mut self) -> Vec<Draft> {
        let root = &self.document.root;
        if !matches!(root.content, Content::Map(_)) {
            self.error(
                root,
                format!("the file is {}, not a map", root.kind()),
                "begin with `hooks:`",
            );
            return Vec::new();
        }
        let mut fields = Fields::of(self.document, root);
        fields.only(&["version", "hooks"]);
        let hooks = fields.node("hooks");
        self.complaints.append(&mut fields.complaints);
        let Some(hooks) = hooks else { return Vec::new() };
        if !matches!(hooks.content, Content::Map(_)) {
            let message = format!("`hooks` should be a map, but is {}", hooks.kind());
            self.error(hooks, message, "write events under it, like `pre_iteration:`");
            return Vec::new();
        }
        let mut drafts = Vec::new();
        for (key, list) in hooks.entries() {
            drafts.append(&mut self.event(key, list));
        }
        self.unpiped(hooks);
        drafts
    }

    fn event(&mut self, key: &Node, list: &Node) -> Vec<Draft> {
        let name = key.text().unwrap_or_default();
        let Some(row) = EVENTS.iter().find(|row| row.name == name) else {
            let names = || EVENTS.iter().map(|row| row.name);
            let help = match nearest_word(name, names()) {
                Some(near) => format!("did you mean `{near}`?"),
                None => format!("events are {}", names().collect::<Vec<_>>().join(", ")),
            };
            self.warn(key, format!("no event is called `{name}`: its hooks never run"), &help);
            return Vec::new();
        };
        if list.is_null() {
            return Vec::new();
        }
        let Some(items) = list.items() else {
            let message = format!("`{name}` should be a list, but is {}", list.kind());
            self.error(list, message, "begin every hook with `- command:`");
            return Vec::new();
        };
        items.iter().filter_map(|item| self.hook(row, item)).collect()
    }

    fn hook(&mut self, row: &'static EventSpec, node: &Node) -> Option<Draft> {
        if !matches!(node.content, Content::Map(_)) {
            let message = format!("a hook is a map, not {}: it never runs", node.kind());
            self.error(node, message, "write `- command: \"…\"`");
            return None;
        }
        let mut fields = Fields::of(self.document, node);
        fields.only(&["command", "timeout", "pipe_output"]);
        let command = fields.quoted("command");
        let timeout = fields.whole("timeout");
        let pipes = fields.flag("pipe_output").unwrap_or(false);
        let empty = match &command {
            Some(command) => command.text.trim().is_empty(),
            None => !fields.has("command"),
        };
        let broken = fields.complaints.iter().find(|c| c.severity == Severity::Error);
        let idle = broken.map(|complaint| complaint.message.clone());
        self.complaints.append(&mut fields.complaints);
        if empty {
            self.warn(node, "a hook without a command does nothing".into(), "add `command: \"…\"`");
            return None;
        }
        self.doubts(row, node, command.as_ref(), (timeout, pipes));
        let tells_agent = pipes && row.moment != Moment::SessionEnd;
        let terms = HookPolicy {
            timeout: settled(timeout),
            forwards_output: tells_agent,
            ..HookPolicy::default()
        };
        Some(Draft { disabled: idle, ..self.draft(row, node, terms) })
    }

    fn draft(&self, row: &EventSpec, node: &Node, terms: HookPolicy) -> Draft {
        Draft {
            event: row.name.to_owned(),
            source: Source {
                spot: self.document.spot_of(node),
                scope: self.file.place.scope,
                base: self.file.base.clone(),
            },
            action: "shell".into(),
            config: node.to_value(),
            policy: terms,
            ..Draft::default()
        }
    }

    /// What works, and may not do what its author thinks.
    fn doubts(
        &mut self,
        row: &EventSpec,
        node: &Node,
        command: Option<&SpannedText>,
        (timeout, pipes): (Option<i64>, bool),
    ) {
        if timeout.is_some_and(|n| n >= LONG && n % 1_000 == 0) {
            let at = node.get("timeout").unwrap_or(node);
            self.warn(
                at,
                "`timeout` is in seconds".into(),
                "leave three zeros out for milliseconds",
            );
        }
        if pipes && row.moment == Moment::SessionEnd {
            let at = node.get("pipe_output").unwrap_or(node);
            let message = "`pipe_output` is ignored at session_end: no iteration follows";
            self.warn(at, message.into(), "leave it out here");
        }
        let Some(command) = command else { return };
        for name in variable_names(&command.text, Style::Braces) {
            if let Some((message, help)) = doubt(row, &name) {
                let offset = command.text.find(&format!("{{{{{name}}}}}")).unwrap_or(0);
                let complaint = Complaint::warning(command.span_at(offset), message);
                self.complaints.push(complaint.with_help(help));
            }
        }
    }

    /// Warns of a file without any `pipe_output`: its hooks send nothing to the agent.
    fn unpiped(&mut self, hooks: &Node) {
        let lists = hooks.entries().iter().filter_map(|(_, list)| list.items());
        let mut all = lists.flatten();
        if all.any(|hook| hook.get("pipe_output").is_some()) {
            return;
        }
        let before = hooks.get("pre_iteration").and_then(Node::items).unwrap_or_default();
        if let Some(first) = before.first() {
            let message = "no hook of this file has `pipe_output`, so the agent sees no output";
            self.warn(first, message.into(), "add `pipe_output: true` to hooks that it should see");
        }
    }
}

fn doubt(row: &EventSpec, name: &str) -> Option<(String, String)> {
    if names().any(|known| known == name) {
        let empty = format!("`{{{{{name}}}}}` is empty at {}", row.name);
        return (!is_given(name, row.name)).then(|| (empty, "leave it out here".to_owned()));
    }
    let near = nearest_word(name, names())?;
    let message = format!("`{{{{{name}}}}}` is no variable, so it is left as it is");
    Some((message, format!("did you mean `{{{{{near}}}}}`?")))
}

fn settled(timeout: Option<i64>) -> Duration {
    let seconds = timeout.and_then(|n| u64::try_from(n).ok()).filter(|n| *n > 0);
    seconds.map_or(TIMEOUT, Duration::from_secs)
}
