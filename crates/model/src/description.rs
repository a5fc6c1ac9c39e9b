//! What a user is shown of a hook before it runs: a title, a summary, and the fields that its action
//! reads. A dialect describes its own hooks; this file has the parts that they share.

use serde_json::Value;

use crate::hook::Draft;
use crate::text::{quote, truncate_chars};

/// Maximum length of a title.
const MAX_TITLE_CHARS: usize = 60;

/// Labels and keys of the configuration that are shown with the summary.
pub type ShownFields = &'static [(&'static str, &'static str)];

/// A hook in words.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Description {
    /// Its name, else the beginning of its command.
    pub title: String,
    /// The command, request or prompt, unchanged.
    pub summary: String,
    /// Further fields to show.
    pub fields: ShownFields,
    /// What the author calls it, such as `prompt`; empty for the name of its action.
    pub kind: &'static str,
    /// The condition under which it runs, if it has one.
    pub condition: Option<String>,
}

impl Description {
    /// The description of a hook whose action runs a `command`.
    pub fn of_action(draft: &Draft) -> Self {
        Self::new(draft, &["command"], value_text(&draft.config["command"]), &[])
    }

    /// A description. The title is the hook's name, else the first of these fields with a text, else
    /// the action.
    pub fn new(draft: &Draft, keys: &[&str], summary: String, fields: ShownFields) -> Self {
        let title = draft.name.clone().unwrap_or_else(|| {
            let text =
                |key: &&str| draft.config.get(*key)?.as_str().filter(|t| !t.trim().is_empty());
            let text = keys.iter().find_map(text).unwrap_or(&draft.action);
            truncate_chars(text, MAX_TITLE_CHARS, "")
        });
        // A hook without a summary cannot run; its whole configuration is shown.
        let is_empty = summary.trim().is_empty();
        let summary = if is_empty { draft.config.to_string() } else { summary };
        let condition = draft.when.as_ref().map(|when| when.text.clone());
        Self { title, summary, fields, kind: "", condition }
    }

    /// The further fields that have a value, each with its label.
    pub fn details(&self, draft: &Draft) -> Vec<(&'static str, String)> {
        let detail = |(word, key): &(&'static str, &str)| -> Vec<(&'static str, String)> {
            let values = match &draft.config[*key] {
                Value::Null => Vec::new(),
                Value::Object(pairs) => pairs
                    .iter()
                    .map(|(name, value)| format!("{name}={}", value_text(value)))
                    .collect(),
                Value::Array(items) => vec![join_words(items.iter().map(value_text))],
                other => vec![value_text(other)],
            };
            values.into_iter().filter(|v| !v.is_empty()).map(|value| (*word, value)).collect()
        };
        self.fields.iter().flat_map(detail).collect()
    }
}

/// A value as a user reads it.
pub fn value_text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        other => other.to_string(),
    }
}

/// Joins words, quoted for a shell where needed.
pub fn join_words(words: impl Iterator<Item = String>) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "%+,-./:=@_".contains(c);
    let quoted = |word: String| match !word.is_empty() && word.chars().all(plain) {
        true => word,
        false => quote(&word),
    };
    words.map(quoted).collect::<Vec<_>>().join(" ")
}
