//! What some agents print about their usage. The arguments of the agent's command say which form
//! it prints; any other text is never searched for numbers.

use std::path::Path;

use gambrel_model::shell_quotes::{QuoteReader, ShellChar, ShellSign};
use serde_json::Value;

use crate::provider::AgentSpec;
use crate::usage::{AgentUsage, UsageReader, UsageReport};

/// The form in which an agent prints its usage.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UsageFormat {
    /// `claude --output-format json` or `stream-json`.
    Claude,
    /// `codex exec --json`.
    Codex,
}

impl UsageFormat {
    /// The form that an agent prints, by its arguments.
    pub fn of_agent(spec: &str) -> Option<Self> {
        let Ok(AgentSpec::Command(command)) = AgentSpec::parse(spec) else { return None };
        split_commands(&command).iter().find_map(|words| Self::of_words(words))
    }

    fn of_words(words: &[String]) -> Option<Self> {
        let is_program = |word: &&String| !word.contains('=');
        let start = words.iter().position(|word| is_program(&word))?;
        let program = Path::new(&words[start]).file_name()?.to_str()?;
        let args = &words[start + 1..];
        match program {
            "claude" => {
                let named = args.windows(2).any(|pair| {
                    pair[0] == "--output-format" && matches!(&*pair[1], "json" | "stream-json")
                });
                let joined = ["--output-format=json", "--output-format=stream-json"];
                let is_joined = args.iter().any(|arg| joined.contains(&arg.as_str()));
                (named || is_joined).then_some(Self::Claude)
            }
            "codex" => {
                let is_exec = args.iter().any(|arg| arg == "exec" || arg == "e");
                let is_json = args.iter().any(|arg| arg == "--json");
                (is_exec && is_json).then_some(Self::Codex)
            }
            _ => None,
        }
    }

    /// The name of the agent's program.
    pub fn program(self) -> &'static str {
        match self {
            Self::Claude => "claude",
            Self::Codex => "codex",
        }
    }

    /// Whether the agent prints a cost.
    pub fn has_cost(self) -> bool {
        self == Self::Claude
    }

    /// The report in one printed line, if it has one.
    pub fn read_line(self, line: &str) -> Option<UsageReport> {
        match self {
            // A long output has few such lines, and only those are parsed.
            Self::Claude if line.contains("\"result\"") => read_claude(serde_json::from_str(line)),
            Self::Codex if line.contains("\"turn.completed\"") => {
                read_codex(&serde_json::from_str(line).ok()?)
            }
            _ => None,
        }
    }

    /// Whether a later report of one turn replaces an earlier one.
    pub fn is_total(self) -> bool {
        self == Self::Claude
    }
}

/// The result of `claude`: an object, or the last item of a list of all messages.
fn read_claude(parsed: Result<Value, serde_json::Error>) -> Option<UsageReport> {
    let parsed = parsed.ok()?;
    let messages = match &parsed {
        Value::Array(items) => items.as_slice(),
        one => std::slice::from_ref(one),
    };
    let result = messages.iter().rev().find(|message| message["type"] == "result")?;

    let mut reader = UsageReader::new("the output of claude");
    let map = reader.read_map(result.get("usage"));
    let mut usage = AgentUsage {
        cost_usd: reader.read_cost("total_cost_usd", result.get("total_cost_usd")),
        model_turns: reader.read_count("num_turns", result.get("num_turns")),
        output_tokens: reader.read_count("usage.output_tokens", map.get("output_tokens")),
        ..AgentUsage::default()
    };
    for key in ["input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens"] {
        let tokens = reader.read_count(&format!("usage.{key}"), map.get(key));
        usage.add(&AgentUsage { input_tokens: tokens, ..AgentUsage::default() });
    }
    Some(reader.finish(usage))
}

/// A turn of `codex exec`. Its `input_tokens` contain those of the cache.
fn read_codex(event: &Value) -> Option<UsageReport> {
    if event["type"] != "turn.completed" {
        return None;
    }
    let mut reader = UsageReader::new("the output of codex");
    let map = reader.read_map(event.get("usage"));
    let usage = AgentUsage {
        input_tokens: reader.read_count("usage.input_tokens", map.get("input_tokens")),
        output_tokens: reader.read_count("usage.output_tokens", map.get("output_tokens")),
        model_turns: Some(1),
        cost_usd: None,
    };
    Some(reader.finish(usage))
}

/// The simple commands of a shell text, each as its words without quotes. Expansions stay as
/// written.
fn split_commands(text: &str) -> Vec<Vec<String>> {
    let mut commands = vec![Vec::new()];
    let mut word: Option<String> = None;
    for ShellChar { quote, sign, .. } in QuoteReader::new(text) {
        match (quote, sign) {
            (_, ShellSign::Open | ShellSign::Close) => drop(word.get_or_insert_default()),
            // The shell joins the two lines.
            (_, ShellSign::Escaped('\n')) => {}
            (_, ShellSign::Backslashed(char)) => word.get_or_insert_default().extend(['\\', char]),
            (None, ShellSign::Plain(';' | '|' | '&' | '\n' | '(' | ')')) => {
                end_word(&mut commands, &mut word);
                commands.push(Vec::new());
            }
            (None, ShellSign::Plain(char)) if char.is_whitespace() => {
                end_word(&mut commands, &mut word);
            }
            (_, ShellSign::Plain(char) | ShellSign::Escaped(char)) => {
                word.get_or_insert_default().push(char);
            }
        }
    }
    end_word(&mut commands, &mut word);
    commands
}

fn end_word(commands: &mut [Vec<String>], word: &mut Option<String>) {
    if let (Some(command), Some(word)) = (commands.last_mut(), word.take()) {
        command.push(word);
    }
}

#[cfg(test)]
mod tests {
    use super::{UsageFormat, split_commands};

    #[test]
    fn splits_commands_as_a_shell_does() {
        for (text, words) in [
            (r#"a "b\c\d" 'e\f' g\ h"#, vec![r"a|b\c\d|e\f|g h"]),
            (r#"a "b\"c" d\;e"#, vec![r#"a|b"c|d;e"#]),
            ("a \\\n b;c ''|d", vec!["a|b", "c|", "d"]),
        ] {
            let split: Vec<String> = split_commands(text).iter().map(|w| w.join("|")).collect();
            assert_eq!(split, words, "{text}");
        }
    }

    #[test]
    fn recognises_a_format_by_its_arguments() {
        let claude = [
            "command:claude -p --output-format json",
            "command:claude -p --output-format=stream-json --verbose",
            "command:A=1 '/opt/my tools/claude' -p --output-format \"json\" 2>log",
            "command:cd src && claude -p --output-format json | tee copy",
        ];
        for spec in claude {
            assert_eq!(UsageFormat::of_agent(spec), Some(UsageFormat::Claude), "{spec}");
        }
        let codex = ["command:codex exec --json -", "command:codex -m x exec --json"];
        for spec in codex {
            assert_eq!(UsageFormat::of_agent(spec), Some(UsageFormat::Codex), "{spec}");
        }
        let none = [
            "command:claude -p",
            "command:claude -p --output-format text",
            "command:claude -p '--output-format json'",
            "command:codex exec -",
            "command:codex --json",
            "command:./agent.sh --output-format json",
            "command:echo claude --output-format json",
            "script:claude --output-format json",
        ];
        for spec in none {
            assert_eq!(UsageFormat::of_agent(spec), None, "{spec}");
        }
    }

    #[test]
    fn reads_the_result_of_claude() {
        let line = r#"{"type":"result","num_turns":4,"total_cost_usd":0.25,"usage":
            {"input_tokens":10,"cache_creation_input_tokens":200,"cache_read_input_tokens":3000,"output_tokens":5}}"#;
        let report = UsageFormat::Claude.read_line(line).unwrap();
        let expected = serde_json::json!({
            "input_tokens": 3210, "output_tokens": 5, "cost_usd": 0.25, "model_turns": 4,
        });
        assert_eq!(serde_json::json!(report.usage), expected);
        let listed = format!("[{{\"type\":\"system\"}},{line}]");
        assert_eq!(UsageFormat::Claude.read_line(&listed), Some(report));
        for other in ["\"result\"", "{\"type\":\"user\",\"x\":\"result\"}", "[\"result\"", "[]"] {
            assert_eq!(UsageFormat::Claude.read_line(other), None, "{other}");
        }
    }
}
