//! The variables that files of a project set: `env` in the settings of Claude Code, and assignments
//! in `.env` and `.envrc`. Pure reading; what a variable means is for the caller to say.

use std::path::Path;

use crate::document::{Document, Language};

/// A variable that a file sets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Assignment {
    /// Its name.
    pub name: String,
    /// Its value; `None` where only a shell can say.
    pub value: Option<String>,
}

/// A file of a project that sets variables.
pub struct EnvFile {
    /// Its name in the project's folder.
    pub name: &'static str,
    /// Reads its assignments.
    pub read: fn(&str) -> Vec<Assignment>,
    /// Whether it is a text for a shell, which also reads pipes and bytes that are no UTF-8.
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
    let Ok(document) = Document::parse(Path::new("settings.json"), text, Language::Jsonc) else {
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

/// Every word of the form `NAME=value`, wherever it stands in a line.
fn shell_env(text: &str) -> Vec<Assignment> {
    text.lines().flat_map(words).filter_map(|word| assignment(&word)).collect()
}

fn assignment(word: &Word) -> Option<Assignment> {
    let (name, value) = word.text.split_once('=')?;
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    if name.is_empty() || !name.chars().all(is_name) {
        return None;
    }
    let value = (!word.computed).then(|| value.to_owned());
    Some(Assignment { name: name.to_owned(), value })
}

/// A word of a shell with its quotes undone.
#[derive(Default)]
struct Word {
    text: String,
    /// Whether a shell would put something else into it.
    computed: bool,
}

fn words(line: &str) -> Vec<Word> {
    let mut words = vec![Word::default()];
    let mut quote = None;
    let mut letters = line.trim_end_matches('\r').chars();
    while let Some(c) = letters.next() {
        let Some(word) = words.last_mut() else { break };
        match (c, quote) {
            (c, Some(open)) if c == open => quote = None,
            ('\'' | '"', None) => quote = Some(c),
            ('\\', None | Some('"')) => word.text.extend(letters.next()),
            ('#', None) if word.text.is_empty() => break,
            (' ' | '\t' | ';' | '&' | '|', None) => words.push(Word::default()),
            _ => {
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

    fn set(name: &str, value: &str) -> Assignment {
        Assignment { name: name.into(), value: Some(value.into()) }
    }

    #[test]
    fn assignments_are_found_in_any_place_of_a_line() {
        let text = "# A=0\nA=1\nexport B='two words' C=\"3\" # D=4\nE=5; F=6 && run\r\n";
        let found = shell_env(text);
        let expected =
            [set("A", "1"), set("B", "two words"), set("C", "3"), set("E", "5"), set("F", "6")];
        assert_eq!(found, expected);
    }

    #[test]
    fn what_a_shell_computes_has_no_value() {
        for text in ["A=$PWD/x", "export A=\"$(pwd)/x\"", "A=`pwd`", "A=~/x"] {
            let computed = Assignment { name: "A".into(), value: None };
            assert_eq!(shell_env(text).first(), Some(&computed), "{text}");
        }
        assert_eq!(shell_env("A='$x'"), [set("A", "$x")]);
    }

    #[test]
    fn settings_name_them_under_env() {
        let text = "{\"env\": {\"A\": \"1\", \"B\": 2}, // comment\n}";
        assert_eq!(settings_env(text), [set("A", "1"), set("B", "2")]);
        assert_eq!(settings_env("{\"env\": []}"), []);
        assert_eq!(settings_env("{"), []);
    }
}
