//! The variables that a project's files set: `env` in the settings of Claude Code, and assignments
//! in `.env` and `.envrc`. It only parses; the caller interprets the variables.

use std::path::Path;

use gambrel_document::{Document, DocumentLanguage};
use gambrel_model::shell_quotes::{QuoteReader, ShellChar, ShellSign};

/// A variable that a file sets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Assignment {
    /// Its name.
    pub name: String,
    /// Its value; `None` if a shell would compute it.
    pub value: Option<String>,
}

/// A file of a project that sets variables.
pub struct EnvFile {
    /// Its path in the project's folder.
    pub name: &'static str,
    /// Parses its assignments.
    pub read: fn(&str) -> Vec<Assignment>,
    /// Whether a shell reads it. A shell also reads pipes and bytes that are not UTF-8.
    pub is_shell: bool,
}

/// The files of a project that set variables.
pub const PROJECT_ENV_FILES: [EnvFile; 4] = [
    EnvFile { name: ".claude/settings.json", read: settings_env, is_shell: false },
    EnvFile { name: ".claude/settings.local.json", read: settings_env, is_shell: false },
    EnvFile { name: ".env", read: shell_env, is_shell: true },
    EnvFile { name: ".envrc", read: shell_env, is_shell: true },
];

fn settings_env(text: &str) -> Vec<Assignment> {
    // Every firing asks. A text without the key, escaped or not, need not be parsed.
    if !text.contains("\"env\"") && !text.contains('\\') {
        return Vec::new();
    }
    let Ok(document) = Document::parse(Path::new("settings.json"), text, DocumentLanguage::Jsonc)
    else {
        return Vec::new();
    };
    let env = document.root.get("env").map(|env| env.to_value()).unwrap_or_default();
    let pairs = env.as_object().into_iter().flatten();
    let assignment = |(name, value): (&String, &serde_json::Value)| {
        let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        Assignment { name: name.clone(), value: Some(text) }
    };
    pairs.map(assignment).collect()
}

/// Every word of the form `NAME=value`, anywhere in a line.
fn shell_env(text: &str) -> Vec<Assignment> {
    text.lines().flat_map(split_words).filter_map(|word| parse_assignment(&word)).collect()
}

fn parse_assignment(word: &EnvWord) -> Option<Assignment> {
    let (name, value) = word.text.split_once('=')?;
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    if name.is_empty() || !name.chars().all(is_name) {
        return None;
    }
    let value = (!word.computed).then(|| value.to_owned());
    Some(Assignment { name: name.to_owned(), value })
}

/// A word of a shell line, without its quotes.
#[derive(Default)]
struct EnvWord {
    text: String,
    /// Whether a shell would expand something in it.
    computed: bool,
}

fn split_words(line: &str) -> Vec<EnvWord> {
    let mut words = vec![EnvWord::default()];
    for ShellChar { quote, sign, .. } in QuoteReader::new(line.trim_end_matches('\r')) {
        let Some(word) = words.last_mut() else { break };
        match (sign, quote) {
            (ShellSign::Open | ShellSign::Close, _) => {}
            (ShellSign::Escaped(c) | ShellSign::Backslashed(c), _) => word.text.push(c),
            (ShellSign::Plain('#'), None) if word.text.is_empty() => break,
            (ShellSign::Plain(' ' | '\t' | ';' | '&' | '|'), None) => {
                words.push(EnvWord::default())
            }
            (ShellSign::Plain(c), _) => {
                let home = c == '~' && quote.is_none() && word.text.ends_with('=');
                word.computed |= home || (matches!(c, '$' | '`') && quote != Some('\''));
                word.text.push(c);
            }
        }
    }
    words
}

#[cfg(test)]
mod tests {
    use super::{Assignment, settings_env, shell_env};

    fn literal_assignment(name: &str, value: &str) -> Assignment {
        Assignment { name: name.into(), value: Some(value.into()) }
    }

    #[test]
    fn finds_assignments_anywhere_in_a_line() {
        let text = "# A=0\nA=1\nexport B='two words' C=\"3\" # D=4\nE=5; F=6 && run\r\n";
        let found = shell_env(text);
        let expected = [
            literal_assignment("A", "1"),
            literal_assignment("B", "two words"),
            literal_assignment("C", "3"),
            literal_assignment("E", "5"),
            literal_assignment("F", "6"),
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn computed_values_are_absent() {
        for text in ["A=$PWD/x", "export A=\"$(pwd)/x\"", "A=`pwd`", "A=~/x"] {
            let computed = Assignment { name: "A".into(), value: None };
            assert_eq!(shell_env(text).first(), Some(&computed), "{text}");
        }
        assert_eq!(shell_env("A='$x'"), [literal_assignment("A", "$x")]);
    }

    #[test]
    fn reads_env_from_settings() {
        let text = "{\"env\": {\"A\": \"1\", \"B\": 2}, // comment\n}";
        assert_eq!(
            settings_env(text),
            [literal_assignment("A", "1"), literal_assignment("B", "2")]
        );
        assert_eq!(settings_env("{\"env\": []}"), []);
        assert_eq!(settings_env("{"), []);
    }
}
