//! Describes an action for the user before it runs.

use gambrel_model::description::{ShownFields, value_text};
use gambrel_model::{Description, Draft};
use serde_json::Value;

/// Describes a command, a request, a tool, a pipeline or a rule.
pub fn describe(draft: &Draft) -> Description {
    let config = &draft.config;
    let part = |key: &str| value_text(&config[key]);
    let (summary, fields): (String, ShownFields) = match draft.action.as_str() {
        "shell" => (part("command"), &[("env", "env"), ("cwd", "cwd"), ("passes", "pass_env")]),
        "webhook" => (
            format!("{} {}", http_method(config), part("url")),
            &[("header", "headers"), ("body", "body"), ("signs", "sign")],
        ),
        "mcp_tool" => (
            format!("tool {} of server {}", part("tool"), part("server")),
            &[("server", "serverDefinition"), ("input", "input")],
        ),
        "spawn" => (
            format!("pipeline {}", part("pipeline")),
            &[("input", "inputs"), ("passes", "pass_env")],
        ),
        "rule" => {
            (describe_rule(config), &[("fact", "fact"), ("says", "message"), ("with", "with")])
        }
        _ => (config.to_string(), &[]),
    };
    let keys: &[&str] = match draft.action.as_str() {
        "rule" => &["message", "block", "ask", "say", "redact"],
        _ => &["command", "url", "pipeline", "path", "tool", "prompt"],
    };
    Description::new(draft, keys, summary, fields)
}

fn http_method(config: &Value) -> String {
    config["method"].as_str().map_or_else(|| "POST".to_owned(), str::to_uppercase)
}

fn describe_rule(config: &Value) -> String {
    let does = ["block", "ask", "say", "redact"].into_iter().find(|word| !config[word].is_null());
    does.map(|word| format!("{word} {}", value_text(&config[word]))).unwrap_or_default()
}
