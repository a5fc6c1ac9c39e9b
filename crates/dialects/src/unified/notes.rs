//! What `check` tells besides complaints: an action that loads and runs, and may still do less than
//! its author expects. Made only where notes are wanted; nothing else reads them.

use std::collections::BTreeSet;

use gambrel_model::complaint::nearest_word;
use gambrel_model::template::{Style, variable_names};
use gambrel_model::{Complaint, EventSpec, HookPolicy, Moment, MomentKind, SourceSpan};

use super::action::Type;
use super::config::Reading;
use super::variables::{ERROR, is_known, names};
use crate::document::{Content, Document, Node};

const LINK: &str = "CALLBACK_URL";
const SET_IT: &str = "set it in ~/.config/gambrel/secrets.env, or in the environment";

/// Adds the notes of one action that runs.
pub fn add(
    reading: &mut Reading<'_>,
    row: &EventSpec,
    node: &Node,
    kind: &Type,
    terms: &HookPolicy,
) {
    let Some(secrets) = reading.roots.notes.clone() else { return };
    let look = Look { reading, secrets: &secrets, row, node };
    let notes = match kind.word {
        "webhook" => look.webhook(terms.blocking),
        "shell" => look.command().into_iter().chain(look.never_blocks(terms)).collect(),
        _ => Vec::new(),
    };
    reading.complaints.extend(notes);
}

struct Look<'l, 'r> {
    reading: &'l Reading<'r>,
    secrets: &'l BTreeSet<String>,
    row: &'l EventSpec,
    node: &'l Node,
}

impl Look<'_, '_> {
    fn texts(&self, keys: &[&str]) -> Vec<&Node> {
        let mut texts = Vec::new();
        keys.iter().filter_map(|key| self.node.get(key)).for_each(|node| scalars(node, &mut texts));
        texts
    }

    /// Variables without a value, and a question without a link for its answer.
    fn webhook(&self, waits: bool) -> Vec<Complaint> {
        let mut notes = Vec::new();
        for node in self.texts(&["url", "sign"]) {
            // An empty address or secret is as good as none.
            let is_set = |name: &str| self.is_set(name, self.reading.roots.env_var(name).is_some());
            let follows = |_: &str| "the message cannot be sent".to_owned();
            notes.extend(self.unset(node, &is_set, &follows));
        }
        for node in self.texts(&["headers", "body"]) {
            let in_env = |name: &str| self.reading.roots.env.contains_key(name);
            let is_set = |name: &str| self.is_set(name, in_env(name));
            let follows = |name: &str| format!("`${{{name}}}` is sent as it stands");
            notes.extend(self.unset(node, &is_set, &follows));
        }
        let sent = self.texts(&["url", "headers", "body"]);
        let has_link = |node: &&Node| node.text().is_some_and(|text| text.contains(LINK));
        if waits && !sent.iter().any(has_link) {
            let at = self.node.get("body").unwrap_or(self.node);
            let message = format!("the message has no `${{{LINK}}}`: nobody can answer by a link");
            let help =
                format!("add \"${{{LINK}}}?action=approve\" to `body`, or use `gambrel approve`");
            notes.push(Complaint::note(self.reading.document.spot_of(at), message).with_help(help));
        }
        notes
    }

    /// A name that is nearly one of ours and that nobody sets. Every other name is the shell's.
    fn command(&self) -> Vec<Complaint> {
        let Some(node) = self.node.get("command") else { return Vec::new() };
        let text = node.text().unwrap_or_default();
        let env = self.node.get("env").map(Node::entries).unwrap_or_default();
        let passed = self.node.get("pass_env").and_then(Node::items).unwrap_or_default();
        let given = |name: &str| {
            let own = env.iter().any(|(key, _)| key.text() == Some(name));
            own || passed.iter().any(|item| item.text() == Some(name))
        };
        let is_set = |name: &str| {
            let in_env = self.reading.roots.env.contains_key(name);
            let ours = name == ERROR || nearest_word(name, names()).is_some();
            !ours || self.is_set(name, in_env) || given(name) || is_used_otherwise(text, name)
        };
        self.unset(node, &is_set, &|_| "the shell sees nothing there".to_owned())
    }

    fn is_set(&self, name: &str, in_env: bool) -> bool {
        let ours = is_known(name) && (name != ERROR || self.row.moment == Moment::Error);
        ours || in_env || self.secrets.contains(name)
    }

    fn unset(
        &self,
        node: &Node,
        is_set: &dyn Fn(&str) -> bool,
        follows: &dyn Fn(&str) -> String,
    ) -> Vec<Complaint> {
        let text = node.text().unwrap_or_default();
        let missing = variable_names(text, Style::Dollar).into_iter().filter(|name| !is_set(name));
        let note = |name: String| {
            let follows = follows(&name);
            let (message, help) = match nearest_word(&name, names()) {
                _ if name == ERROR => {
                    let message = format!("`{ERROR}` is set in on_error only: {follows}");
                    (message, "move the action to `on_error`".to_owned())
                }
                near => {
                    let place = "in the environment or secrets.env";
                    let message = format!("`{name}` is not set {place}: {follows}");
                    let meant = near.map(|near| format!("did you mean `${{{near}}}`?"));
                    (message, meant.unwrap_or_else(|| SET_IT.to_owned()))
                }
            };
            Complaint::note(place_of(self.reading.document, node, &name), message).with_help(help)
        };
        missing.map(note).collect()
    }

    /// A command at a gate that lets everything pass, unless its author says that it is to.
    fn never_blocks(&self, terms: &HookPolicy) -> Option<Complaint> {
        let policy = self.node.get("on_failure").and_then(Node::text);
        let meant = matches!(policy, Some("abort" | "continue"));
        if self.row.moment.kind() != MomentKind::Gate || meant {
            return None;
        }
        let (why, help) = match (terms.blocking, policy) {
            (false, _) => ("nobody waits for it", "add `await: true` and `on_failure: abort`"),
            (true, None) => ("its failure is passed over", "add `on_failure: abort`"),
            (true, _) => ("after its last attempt everything goes on", "write `on_failure: abort`"),
        };
        let message = format!("this command can block nothing at {}: {why}", self.row.name);
        let help = format!("{help}; or `on_failure: continue` where it is only to watch");
        Some(Complaint::note(self.reading.document.spot_of(self.node), message).with_help(help))
    }
}

/// Every text of a value; keys are not filled in.
fn scalars<'n>(node: &'n Node, texts: &mut Vec<&'n Node>) {
    match &node.content {
        Content::Scalar { .. } => texts.push(node),
        Content::List(items) => items.iter().for_each(|item| scalars(item, texts)),
        Content::Map(entries) => entries.iter().for_each(|(_, value)| scalars(value, texts)),
    }
}

/// Whether a command names a variable in another way too, as where it sets it.
fn is_used_otherwise(text: &str, name: &str) -> bool {
    let rest = text.replace(&format!("${{{name}}}"), " ");
    let inside = |c: char| c.is_ascii_alphanumeric() || c == '_';
    rest.split(|c| !inside(c)).any(|word| word == name)
}

/// Where a variable stands; a text of several lines is shown as a whole.
fn place_of(document: &Document<'_>, node: &Node, name: &str) -> SourceSpan {
    let whole = document.spot_of(node);
    let raw = document.text.get(whole.start..whole.end).unwrap_or_default();
    let written = format!("${{{name}}}");
    match raw.find(&written).filter(|at| !raw[..*at].contains('\n')) {
        Some(at) => document.spot(whole.start + at, whole.start + at + written.len()),
        None => whole,
    }
}
