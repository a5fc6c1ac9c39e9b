//! Notes of `gambrel check` about actions that load and run, but may do less than their author
//! expects. Other commands do not create notes.

use std::collections::BTreeSet;

use gambrel_document::{Document, DocumentNode, NodeContent};
use gambrel_model::complaint::nearest_word;
use gambrel_model::template::{Style, variable_names};
use gambrel_model::{Complaint, EventSpec, HookPolicy, Moment, MomentKind, SourceSpan};

use super::action::ActionType;
use super::config::ConfigReader;
use super::variables::{ERROR, is_known, known_names};

const CALLBACK_VARIABLE: &str = "CALLBACK_URL";
/// The end of the names of API keys.
const API_KEY_ENDING: &str = "_API_KEY";
const SET_VARIABLE_HELP: &str = "set it in ~/.config/gambrel/secrets.env, or in the environment";

/// Adds the notes about one action.
pub fn add_notes(
    reader: &mut ConfigReader<'_>,
    row: &EventSpec,
    node: &DocumentNode,
    kind: &ActionType,
    policy: &HookPolicy,
) {
    let Some(secrets) = reader.roots.notes.clone() else { return };
    let writer = NoteWriter { reader, secrets: &secrets, row, node };
    let notes = match kind.name {
        "webhook" => writer.webhook_notes(policy.limits.blocking),
        "shell" => {
            writer.command_notes().into_iter().chain(writer.never_blocks_note(policy)).collect()
        }
        "spawn" => writer.missing_keys_note().into_iter().collect(),
        _ => Vec::new(),
    };
    reader.complaints.extend(notes);
}

struct NoteWriter<'l, 'r> {
    reader: &'l ConfigReader<'r>,
    secrets: &'l BTreeSet<String>,
    row: &'l EventSpec,
    node: &'l DocumentNode<'l>,
}

impl NoteWriter<'_, '_> {
    fn scalar_texts(&self, keys: &[&str]) -> Vec<&DocumentNode<'_>> {
        let mut texts = Vec::new();
        keys.iter()
            .filter_map(|key| self.node.get(key))
            .for_each(|node| collect_scalars(node, &mut texts));
        texts
    }

    /// Notes about variables without a value, and about a question without a link for its answer.
    fn webhook_notes(&self, waits: bool) -> Vec<Complaint> {
        let mut notes = Vec::new();
        for node in self.scalar_texts(&["url", "sign"]) {
            // An empty address or secret counts as unset.
            let is_set = |name: &str| self.is_set(name, self.reader.roots.env_var(name).is_some());
            let follows = |_: &str| "the message cannot be sent".to_owned();
            notes.extend(self.unset_notes(node, &is_set, &follows));
        }
        for node in self.scalar_texts(&["headers", "body"]) {
            let in_env = |name: &str| self.reader.roots.env.contains_key(name);
            let is_set = |name: &str| self.is_set(name, in_env(name));
            let follows = |name: &str| format!("`${{{name}}}` is sent unchanged");
            notes.extend(self.unset_notes(node, &is_set, &follows));
        }

        let sent = self.scalar_texts(&["url", "headers", "body"]);
        let has_link =
            |node: &&DocumentNode| node.text().is_some_and(|text| text.contains(CALLBACK_VARIABLE));
        if waits && !sent.iter().any(has_link) {
            let at = self.node.get("body").unwrap_or(self.node);
            let message = format!(
                "the message has no `${{{CALLBACK_VARIABLE}}}`: nobody can answer by a link"
            );
            let help = format!(
                "add \"${{{CALLBACK_VARIABLE}}}?action=approve\" to `body`, or use `gambrel approve`"
            );
            notes.push(Complaint::note(self.reader.document.span_of(at), message).with_help(help));
        }
        notes
    }

    /// Notes about unset names that are nearly a variable of gambrel. Other names are left to the
    /// shell.
    fn command_notes(&self) -> Vec<Complaint> {
        let Some(node) = self.node.get("command") else { return Vec::new() };
        let text = node.text().unwrap_or_default();
        let env = self.node.get("env").map(DocumentNode::entries).unwrap_or_default();
        let passed = self.node.get("pass_env").and_then(DocumentNode::items).unwrap_or_default();
        let given = |name: &str| {
            let own = env.iter().any(|(key, _)| key.text() == Some(name));
            own || passed.iter().any(|item| item.text() == Some(name))
        };
        let is_set = |name: &str| {
            let in_env = self.reader.roots.env.contains_key(name);
            let ours = name == ERROR || nearest_word(name, known_names()).is_some();
            !ours || self.is_set(name, in_env) || given(name) || is_used_otherwise(text, name)
        };
        self.unset_notes(node, &is_set, &|_| "the shell expands it to nothing".to_owned())
    }

    /// A note about API keys of the environment that the child pipeline does not receive.
    fn missing_keys_note(&self) -> Option<Complaint> {
        let passed = self.node.get("pass_env").and_then(DocumentNode::items).unwrap_or_default();
        let is_passed = |name: &str| passed.iter().any(|item| item.text() == Some(name));
        let names = self.reader.roots.env.keys().chain(self.secrets);
        let keys: BTreeSet<&str> = names
            .map(String::as_str)
            .filter(|name| name.ends_with(API_KEY_ENDING) && !is_passed(name))
            .collect();
        let first = keys.first()?;
        let listed: Vec<String> = keys.iter().map(|name| format!("`{name}`")).collect();
        let message = format!("the child pipeline does not receive {}", listed.join(", "));
        let help = format!("if its agent needs a key, write `pass_env: [{first}]`");
        Some(Complaint::note(self.reader.document.span_of(self.node), message).with_help(help))
    }

    fn is_set(&self, name: &str, in_env: bool) -> bool {
        let ours = is_known(name) && (name != ERROR || self.row.moment == Moment::Error);
        ours || in_env || self.secrets.contains(name)
    }

    fn unset_notes(
        &self,
        node: &DocumentNode,
        is_set: &dyn Fn(&str) -> bool,
        follows: &dyn Fn(&str) -> String,
    ) -> Vec<Complaint> {
        let text = node.text().unwrap_or_default();
        let missing = variable_names(text, Style::Dollar).into_iter().filter(|name| !is_set(name));
        let note = |name: String| {
            let follows = follows(&name);
            let (message, help) = match nearest_word(&name, known_names()) {
                _ if name == ERROR => {
                    let message = format!("`{ERROR}` is set in on_error only: {follows}");
                    (message, "move the action to `on_error`".to_owned())
                }
                near => {
                    let place = "in the environment or secrets.env";
                    let message = format!("`{name}` is not set {place}: {follows}");
                    let suggestion = near.map(|near| format!("did you mean `${{{near}}}`?"));
                    (message, suggestion.unwrap_or_else(|| SET_VARIABLE_HELP.to_owned()))
                }
            };
            Complaint::note(variable_span(self.reader.document, node, &name), message)
                .with_help(help)
        };
        missing.map(note).collect()
    }

    /// A note about a command at a gate that can block nothing, unless its author wants that.
    fn never_blocks_note(&self, hook_policy: &HookPolicy) -> Option<Complaint> {
        let policy = self.node.get("on_failure").and_then(DocumentNode::text);
        let is_explicit = matches!(policy, Some("abort" | "continue"));
        if self.row.moment.kind() != MomentKind::Gate || is_explicit {
            return None;
        }
        let (why, help) = match (hook_policy.limits.blocking, policy) {
            (false, _) => ("nobody waits for it", "add `await: true` and `on_failure: abort`"),
            (true, None) => ("its failure is ignored", "add `on_failure: abort`"),
            (true, _) => ("the run goes on after its last attempt", "write `on_failure: abort`"),
        };
        let message = format!("this command can block nothing at {}: {why}", self.row.name);
        let help = format!("{help}; or `on_failure: continue` if it should only observe");
        Some(Complaint::note(self.reader.document.span_of(self.node), message).with_help(help))
    }
}

/// Collects the texts of a value. Keys are not expanded.
fn collect_scalars<'n, 't>(node: &'n DocumentNode<'t>, texts: &mut Vec<&'n DocumentNode<'t>>) {
    match &node.content {
        NodeContent::Scalar { .. } => texts.push(node),
        NodeContent::List(items) => items.iter().for_each(|item| collect_scalars(item, texts)),
        NodeContent::Map(entries) => {
            entries.iter().for_each(|(_, value)| collect_scalars(value, texts))
        }
    }
}

/// Whether a command uses a variable in another form too, for example to set it.
fn is_used_otherwise(text: &str, name: &str) -> bool {
    let rest = text.replace(&format!("${{{name}}}"), " ");
    let inside = |c: char| c.is_ascii_alphanumeric() || c == '_';
    rest.split(|c| !inside(c)).any(|word| word == name)
}

/// The span of a variable. For a text of several lines, the span of the whole text.
fn variable_span(document: &Document<'_>, node: &DocumentNode, name: &str) -> SourceSpan {
    let whole = document.span_of(node);
    let raw = document.text.get(whole.start..whole.end).unwrap_or_default();
    let written = format!("${{{name}}}");
    match raw.find(&written).filter(|at| !raw[..*at].contains('\n')) {
        Some(at) => document.span_at(whole.start + at, whole.start + at + written.len()),
        None => whole,
    }
}
