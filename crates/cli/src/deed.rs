//! What a hook does, as a person sees it before letting it run: by the kind of its action, from the
//! fields that the action reads. A field that nobody reads is not shown, whatever it says.

use gambrel::model::Hook;
use serde_json::Value;

use crate::printer;

/// A prompt is shown up to here.
const PROMPT: usize = 500;

/// The one thing that is run, sent or asked, literally.
pub fn what(hook: &Hook) -> String {
    let (what, _) = deed(hook);
    // Of a hook that cannot run because this is missing, all that was written is shown.
    if what.trim().is_empty() { hook.draft.config.to_string() } else { what }
}

/// The same on a short line, after the name that its author gave it.
pub fn line(hook: &Hook, width: usize) -> String {
    let what = what(hook);
    match &hook.draft.name {
        Some(name) if !what.ends_with(name.as_str()) => {
            printer::line(&format!("{name}: {what}"), width)
        }
        _ => printer::line(&what, width),
    }
}

/// What it is done with: a word and a value, as often as there are values.
pub fn details(hook: &Hook) -> Vec<(&'static str, String)> {
    let (_, fields) = deed(hook);
    let detail = |(word, key): &(&'static str, &str)| -> Vec<(&'static str, String)> {
        let values = match &hook.draft.config[*key] {
            Value::Null => Vec::new(),
            Value::Object(pairs) => {
                pairs.iter().map(|(name, value)| format!("{name}={}", text(value))).collect()
            }
            Value::Array(items) => vec![words(items.iter().map(text))],
            other => vec![text(other)],
        };
        values.into_iter().filter(|v| !v.is_empty()).map(|value| (*word, value)).collect()
    };
    fields.iter().flat_map(detail).collect()
}

type Fields = &'static [(&'static str, &'static str)];

/// What it does, and the fields of its definition that have a part in it, each with its word.
fn deed(hook: &Hook) -> (String, Fields) {
    let config = &hook.draft.config;
    let part = |key: &str| text(&config[key]);
    match (hook.draft.action.as_str(), hook.dialect.name()) {
        ("shell", "claude") => handler(config),
        ("shell", "teams") => (words(list(&config["argv"])), &[]),
        ("shell", "unified") => {
            (part("command"), &[("env", "env"), ("cwd", "cwd"), ("passes", "pass_env")])
        }
        ("shell", _) => (part("command"), &[]),
        ("webhook", "claude") => (
            format!("POST {}", part("url")),
            &[("header", "headers"), ("passes", "allowedEnvVars")],
        ),
        ("webhook", _) => (
            format!("{} {}", method(config), part("url")),
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
        ("rule", _) => (rule(config), &[("fact", "fact"), ("says", "message"), ("with", "with")]),
        ("module", _) => (part("path"), &[]),
        _ => (config.to_string(), &[]),
    }
}

/// A command in one of its two forms, or a question to a model.
fn handler(config: &Value) -> (String, Fields) {
    let command = text(&config["command"]);
    match (config["type"].as_str(), config["args"].is_array()) {
        (Some("prompt" | "agent"), _) => {
            let asked = format!("asks a model: {}", head(&text(&config["prompt"])));
            (asked, &[("model", "model"), ("by", "modelCommand")])
        }
        (_, true) => (words(std::iter::once(command).chain(list(&config["args"]))), &[]),
        (_, false) => (command, &[("shell", "shell")]),
    }
}

fn method(config: &Value) -> String {
    config["method"].as_str().map_or_else(|| "POST".to_owned(), str::to_uppercase)
}

fn rule(config: &Value) -> String {
    let does = ["block", "ask", "say", "redact"].into_iter().find(|word| !config[word].is_null());
    does.map(|word| format!("{word} {}", text(&config[word]))).unwrap_or_default()
}

fn head(prompt: &str) -> String {
    match prompt.char_indices().nth(PROMPT) {
        Some((at, _)) => format!("{}… ({} characters)", &prompt[..at], prompt.chars().count()),
        None => prompt.to_owned(),
    }
}

fn text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        other => other.to_string(),
    }
}

fn list(value: &Value) -> impl Iterator<Item = String> + '_ {
    value.as_array().into_iter().flatten().map(text)
}

/// Words, quoted where they could be taken for other words.
fn words(words: impl Iterator<Item = String>) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "%+,-./:=@_".contains(c);
    let quoted = |word: String| match !word.is_empty() && word.chars().all(plain) {
        true => word,
        false => format!("'{}'", word.replace('\'', r"'\''")),
    };
    words.map(quoted).collect::<Vec<_>>().join(" ")
}
