//! Describes a handler for the user before it runs.

use gambrel_model::description::{ShownFields, join_words, value_text};
use gambrel_model::text::truncate_chars;
use gambrel_model::{Description, Draft};
use serde_json::Value;

/// How much of a prompt is shown.
const MAX_PROMPT_CHARS: usize = 500;

/// Describes a command, a request, a tool or a prompt.
pub fn describe(draft: &Draft) -> Description {
    let config = &draft.config;
    let part = |key: &str| value_text(&config[key]);
    let (summary, fields): (String, ShownFields) = match draft.action.as_str() {
        "shell" => describe_handler(config),
        "webhook" => (
            format!("POST {}", part("url")),
            &[("header", "headers"), ("passes", "allowedEnvVars")],
        ),
        "mcp_tool" => (
            format!("tool {} of server {}", part("tool"), part("server")),
            &[("server", "serverDefinition"), ("input", "input")],
        ),
        _ => (config.to_string(), &[]),
    };
    let kind = match config["type"].as_str() {
        Some("prompt") => "prompt",
        Some("agent") => "agent",
        _ => "",
    };
    Description {
        kind,
        condition: config["if"].as_str().map(str::to_owned),
        ..Description::new(draft, &["command", "url", "tool", "prompt"], summary, fields)
    }
}

/// A command in shell or exec form, or a prompt to a model.
fn describe_handler(config: &Value) -> (String, ShownFields) {
    let command = value_text(&config["command"]);
    match (config["type"].as_str(), config["args"].as_array()) {
        (Some("prompt" | "agent"), _) => {
            let prompt = truncate_prompt(&value_text(&config["prompt"]));
            (format!("asks a model: {prompt}"), &[("model", "model"), ("by", "modelCommand")])
        }
        (_, Some(args)) => {
            (join_words(std::iter::once(command).chain(args.iter().map(value_text))), &[])
        }
        (_, None) => (command, &[("shell", "shell")]),
    }
}

fn truncate_prompt(prompt: &str) -> String {
    let mark = format!("… ({} characters)", prompt.chars().count());
    truncate_chars(prompt, MAX_PROMPT_CHARS, &mark)
}
