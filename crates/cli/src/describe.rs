//! Describes a hook for the user before it runs: its action, and the fields that the action reads.
//! Other fields are not shown.

use gambrel::model::Hook;
use serde_json::Value;

use crate::printer;

/// How much of a prompt is shown.
const MAX_PROMPT_CHARS: usize = 500;

/// The command, request or prompt of the hook, unchanged.
pub fn summary(hook: &Hook) -> String {
    let (what, _) = describe(hook);
    // A hook without it cannot run; its whole configuration is shown.
    if what.trim().is_empty() { hook.draft.config.to_string() } else { what }
}

/// The summary on one short line, after the hook's name.
pub fn summary_line(hook: &Hook, width: usize) -> String {
    let what = summary(hook);
    match &hook.draft.name {
        Some(name) if !what.ends_with(name.as_str()) => {
            printer::truncate_line(&format!("{name}: {what}"), width)
        }
        _ => printer::truncate_line(&what, width),
    }
}

/// Further fields: a label and a value for each.
pub fn details(hook: &Hook) -> Vec<(&'static str, String)> {
    let (_, fields) = describe(hook);
    let detail = |(word, key): &(&'static str, &str)| -> Vec<(&'static str, String)> {
        let values = match &hook.draft.config[*key] {
            Value::Null => Vec::new(),
            Value::Object(pairs) => {
                pairs.iter().map(|(name, value)| format!("{name}={}", value_text(value))).collect()
            }
            Value::Array(items) => vec![join_words(items.iter().map(value_text))],
            other => vec![value_text(other)],
        };
        values.into_iter().filter(|v| !v.is_empty()).map(|value| (*word, value)).collect()
    };
    fields.iter().flat_map(detail).collect()
}

type ConfigFields = &'static [(&'static str, &'static str)];

/// The summary of a hook, and the fields to show with it, each with its label.
fn describe(hook: &Hook) -> (String, ConfigFields) {
    let config = &hook.draft.config;
    let part = |key: &str| value_text(&config[key]);
    match (hook.draft.action.as_str(), hook.dialect.name) {
        ("shell", "claude") => describe_handler(config),
        ("shell", "teams") => (join_words(list_texts(&config["argv"])), &[]),
        ("shell", "unified") => {
            (part("command"), &[("env", "env"), ("cwd", "cwd"), ("passes", "pass_env")])
        }
        ("shell", _) => (part("command"), &[]),
        ("webhook", "claude") => (
            format!("POST {}", part("url")),
            &[("header", "headers"), ("passes", "allowedEnvVars")],
        ),
        ("webhook", _) => (
            format!("{} {}", http_method(config), part("url")),
            &[("header", "headers"), ("body", "body"), ("signs", "sign")],
        ),
        ("mcp_tool", _) => (
            format!("tool {} of server {}", part("tool"), part("server")),
            &[("server", "serverDefinition"), ("input", "input")],
        ),
        ("spawn", _) => (
            format!("pipeline {}", part("pipeline")),
            &[("input", "inputs"), ("passes", "pass_env")],
        ),
        ("rule", _) => {
            (describe_rule(config), &[("fact", "fact"), ("says", "message"), ("with", "with")])
        }
        ("module", _) => (part("path"), &[]),
        _ => (config.to_string(), &[]),
    }
}

/// A command in shell or exec form, or a prompt to a model.
fn describe_handler(config: &Value) -> (String, ConfigFields) {
    let command = value_text(&config["command"]);
    match (config["type"].as_str(), config["args"].is_array()) {
        (Some("prompt" | "agent"), _) => {
            let prompt =
                format!("asks a model: {}", truncate_prompt(&value_text(&config["prompt"])));
            (prompt, &[("model", "model"), ("by", "modelCommand")])
        }
        (_, true) => (join_words(std::iter::once(command).chain(list_texts(&config["args"]))), &[]),
        (_, false) => (command, &[("shell", "shell")]),
    }
}

fn http_method(config: &Value) -> String {
    config["method"].as_str().map_or_else(|| "POST".to_owned(), str::to_uppercase)
}

fn describe_rule(config: &Value) -> String {
    let does = ["block", "ask", "say", "redact"].into_iter().find(|word| !config[word].is_null());
    does.map(|word| format!("{word} {}", value_text(&config[word]))).unwrap_or_default()
}

fn truncate_prompt(prompt: &str) -> String {
    match prompt.char_indices().nth(MAX_PROMPT_CHARS) {
        Some((at, _)) => format!("{}… ({} characters)", &prompt[..at], prompt.chars().count()),
        None => prompt.to_owned(),
    }
}

fn value_text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        other => other.to_string(),
    }
}

fn list_texts(value: &Value) -> impl Iterator<Item = String> + '_ {
    value.as_array().into_iter().flatten().map(value_text)
}

/// Joins words, quoted for a shell where needed.
fn join_words(words: impl Iterator<Item = String>) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "%+,-./:=@_".contains(c);

    let quoted = |word: String| match !word.is_empty() && word.chars().all(plain) {
        true => word,
        false => format!("'{}'", word.replace('\'', r"'\''")),
    };
    words.map(quoted).collect::<Vec<_>>().join(" ")
}
