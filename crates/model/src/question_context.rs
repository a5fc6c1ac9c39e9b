//! What a person needs to know before answering a question: the command or the change, why it is
//! asked, who asks from where, and what each answer does. Knows no page and no dialect.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The most characters of one text that a person is shown. Nothing longer counts as shown whole.
pub const MAX_SHOWN_CHARS: usize = 20_000;

/// What the names of shown values begin with, if they are fields of a tool's input.
pub const INPUT_FIELD_PREFIX: &str = "input.";

/// The context of a question.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct QuestionContext {
    /// The command that waits, whole.
    pub command: String,
    /// The file that would change.
    pub path: String,
    /// How it would change, as a unified diff.
    pub diff: String,
    /// Why it is asked.
    pub why: String,
    /// The agent that waits.
    pub agent: String,
    /// The machine on which it works.
    pub machine: String,
    /// The branch of the project.
    pub branch: String,
    /// What each answer does.
    pub effects: AnswerEffects,
}

/// What each answer does. A text completes a sentence: "Approve …", "without an answer …".
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct AnswerEffects {
    /// What an approval does: `lets this call run, once`.
    pub approve: String,
    /// What a rejection does: `blocks it`.
    pub reject: String,
    /// What happens without an answer: `it is blocked`.
    pub silence: String,
    /// Who reads the message: `the agent`. Empty: nobody.
    pub reader: String,
}

impl QuestionContext {
    /// The context with every text passed through a function.
    #[must_use]
    pub fn map_texts(&self, change: &dyn Fn(&str) -> String) -> Self {
        Self {
            command: change(&self.command),
            path: change(&self.path),
            diff: change(&self.diff),
            why: change(&self.why),
            agent: change(&self.agent),
            machine: change(&self.machine),
            branch: change(&self.branch),
            // These texts are gambrel's own.
            effects: self.effects.clone(),
        }
    }
}

/// A change of a file, as a tool call describes it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct FileChange {
    /// The file, as the call names it.
    pub path: String,
    /// The new text of the whole file, if the call replaces it.
    pub content: Option<String>,
    /// Replacements inside the file, in order.
    pub replacements: Vec<TextReplacement>,
}

/// One replacement inside a file.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct TextReplacement {
    /// The text that goes.
    pub old: String,
    /// The text that comes.
    pub new: String,
    /// Whether every occurrence is replaced, not only the first.
    pub all: bool,
}

impl FileChange {
    /// The change that a tool's neutral arguments describe; `None` if they describe none.
    pub fn from_args(args: &Value) -> Option<Self> {
        let path = text_of(args, "path").filter(|path| !path.is_empty())?;
        let edits = args.get("edits").and_then(Value::as_array).into_iter().flatten();
        let replacement = |edit: &Value| {
            Some(TextReplacement {
                old: text_of(edit, "old")?,
                new: text_of(edit, "new").unwrap_or_default(),
                all: edit.get("all").and_then(Value::as_bool).unwrap_or(false),
            })
        };
        let replacements: Vec<_> = edits.filter_map(replacement).collect();
        let content = text_of(args, "content").filter(|_| replacements.is_empty());
        let change = Self { path, content, replacements };
        (change.content.is_some() || !change.replacements.is_empty()).then_some(change)
    }

    /// The text of the file after the change. `None` if a text to replace is not in it.
    pub fn apply_to(&self, before: &str) -> Option<String> {
        if let Some(content) = &self.content {
            return Some(content.clone());
        }
        let mut text = before.to_owned();
        for TextReplacement { old, new, all } in &self.replacements {
            if old.is_empty() || !text.contains(old.as_str()) {
                return None;
            }
            text = if *all { text.replace(old, new) } else { text.replacen(old, new, 1) };
        }
        Some(text)
    }
}

fn text_of(value: &Value, key: &str) -> Option<String> {
    value.get(key)?.as_str().map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::FileChange;

    #[test]
    fn applies_replacements_in_order() {
        let args = json!({"path": "a.rs", "edits": [
            {"old": "one", "new": "two"},
            {"old": "two", "new": "three", "all": true},
        ]});
        let change = FileChange::from_args(&args).unwrap();
        assert_eq!(change.apply_to("one two one\n").unwrap(), "three three one\n");
        assert_eq!(change.apply_to("nothing"), None, "the text is not there");
    }

    #[test]
    fn replaces_a_whole_file() {
        let change = FileChange::from_args(&json!({"path": "a", "content": "new\n"})).unwrap();
        assert_eq!(change.apply_to("old\n").unwrap(), "new\n");
    }

    #[test]
    fn ignores_calls_that_change_no_file() {
        for args in
            [json!({"command": "ls"}), json!({"path": "a"}), json!({"content": "x"}), json!(7)]
        {
            assert_eq!(FileChange::from_args(&args), None, "{args}");
        }
    }
}
