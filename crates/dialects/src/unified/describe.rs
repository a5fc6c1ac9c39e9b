//! Describes an action for the user before it runs.

use gambrel_model::description::{ShownFields, value_text};
use gambrel_model::{Description, Draft};

use super::rule::effect_of;
use super::webhook::request_method;

/// Describes a command, a request, a tool, a pipeline or a rule.
pub fn describe(draft: &Draft) -> Description {
    let config = &draft.config;
    let part = |key: &str| value_text(&config[key]);
    let (summary, fields): (String, ShownFields) = match draft.action.as_str() {
        "shell" => (part("command"), &[("env", "env"), ("cwd", "cwd"), ("passes", "pass_env")]),
        "webhook" => (
            format!("{} {}", request_method(config), part("url")),
            &[("header", "headers"), ("body", "body"), ("signs", "sign")],
        ),
        "spawn" => (
            format!("pipeline {}", part("pipeline")),
            &[("input", "inputs"), ("passes", "pass_env")],
        ),
        "rule" => {
            let effect = effect_of(config).map(|(word, pattern)| format!("{word} {pattern}"));
            let fields = &[("fact", "fact"), ("says", "message"), ("with", "with")];
            (effect.unwrap_or_default(), fields)
        }
        _ => (config.to_string(), &[]),
    };
    let keys: &[&str] = match draft.action.as_str() {
        "rule" => &["message", "block", "ask", "say", "redact"],
        _ => &["command", "url", "pipeline"],
    };
    Description::new(draft, keys, summary, fields)
}
