//! The action `webhook`: checks its fields, and builds the request and the question. `answer`
//! reads the answers.

use gambrel_document::{DocumentFields, DocumentNode, NodeContent};
use gambrel_model::description::value_text;
use gambrel_model::request::{CALLBACK_MARKER, strip_callback_marker, to_body};
use gambrel_model::template::{Style, expand_json, expand_plain, expand_url, variable_names};
use gambrel_model::text::truncate_chars;
use gambrel_model::{
    ApprovalRequest, Call, Carry, Event, FileChange, Hook, INPUT_FIELD_PREFIX, MAX_SHOWN_CHARS,
    WebhookRequest,
};
use serde_json::{Value, json};

use super::question::{question_context, question_title};
use super::variables::variable_value;
use crate::event_parts::{string_list, text_field};

/// The methods of a request, in any case.
pub const METHODS: [&str; 5] = ["GET", "POST", "PUT", "PATCH", "DELETE"];
/// The default port of the server for answers.
pub const DEFAULT_PORT: u64 = 8_765;

/// Checks the fields of a webhook.
pub fn read_fields(fields: &mut DocumentFields<'_>) {
    let written = fields.node("method").and_then(DocumentNode::text).unwrap_or_default();
    if !METHODS.contains(&written.to_uppercase().as_str()) {
        let _ = fields.read_word("method", &METHODS);
    }
    fields.read_text_map("headers", super::action::PAIRS_HELP);
    match fields.node("sign").and_then(DocumentNode::items) {
        Some(_) => drop(fields.read_texts("sign")),
        None => drop(fields.read_text("sign")),
    }
    if fields.read_count("callback_port").is_some_and(|port| port == 0 || port > 65_535) {
        let help = "the default is 8765";
        fields.add_error("callback_port", "`callback_port` is between 1 and 65535", help);
    }
    warn_plain_buttons(fields);
}

/// Reports an address that gambrel does not send to. The action still runs and fails, so that its
/// failure counts.
pub fn check_url(fields: &mut DocumentFields<'_>) {
    let url = fields.node("url").and_then(DocumentNode::text).unwrap_or_default();
    // A variable is checked when the request is sent.
    let fine = url.is_empty() || url.starts_with("${") || url.starts_with("https://");
    if !fine && !is_loopback_url(url) {
        let message = "`url` should begin with https:// (http:// works only on this machine)";
        let help = "keep a secret address in the environment: \"${MY_WEBHOOK}\"";
        fields.add_error("url", message, help);
    }
}

fn is_loopback_url(url: &str) -> bool {
    let Some(rest) = url.strip_prefix("http://") else { return false };
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let host = match authority.strip_prefix('[') {
        Some(v6) => v6.split(']').next().unwrap_or_default(),
        None => authority.split(':').next().unwrap_or_default(),
    };
    host == "localhost" || host.parse::<std::net::IpAddr>().is_ok_and(|ip| ip.is_loopback())
}

/// Warns of a button with a plain text. agent-pipelines documents it, but Slack refuses it.
fn warn_plain_buttons(fields: &mut DocumentFields<'_>) {
    let blocks = fields.node("body").and_then(|body| body.get("blocks")?.items());
    let elements = blocks.into_iter().flatten().filter_map(|block| block.get("elements")?.items());
    let is_button =
        |node: &&DocumentNode<'_>| node.get("type").and_then(DocumentNode::text) == Some("button");
    let plain = elements.flatten().filter(is_button).any(|button| {
        let text = button.get("text").map(|text| &text.content);
        matches!(text, Some(NodeContent::Scalar { .. }))
    });
    if plain {
        let message = "Slack wants a button's text as an object; gambrel sends it as one";
        let help = "write `text: {type: plain_text, text: \"…\"}`";
        fields.add_warning("body", message, help);
    }
}

/// Builds the call with the request, and with the question if the hook waits.
pub fn stage_webhook(event: &Event, hook: &Hook, carry: &Carry) -> Call {
    let config = &hook.draft.config;
    let asks = hook.draft.policy.limits.blocking;
    let lookup = |name: &str| lookup_name(event, carry, name, asks);
    let url = text_field(config, "url").unwrap_or_default();
    let unset = variable_names(&url, Style::Dollar).into_iter().find(|name| lookup(name).is_none());
    let headers = config.get("headers").and_then(Value::as_object).into_iter().flatten();
    let filled = |written: &Value| expand_plain(&value_text(written), Style::Dollar, &lookup);
    let url = expand_url(&url, Style::Dollar, &lookup);
    let body = expand_json(&written_body(config), Style::Dollar, &lookup);

    let request = WebhookRequest {
        method: request_method(config),
        headers: headers.map(|(name, written)| (name.clone(), filled(written))).collect(),
        body: if is_slack_url(&url) { with_button_objects(body) } else { body },
        url,
        sign: signing_secrets(config, &filled),
        allow: string_list(config, "reachable"),
        refused: unset.map(|name| format!("{name} is not set in the environment or secrets.env")),
        ask: asks.then(|| approval_request(event, hook, carry)),
        ..WebhookRequest::default()
    };
    Call { body: to_body(&request), ..Call::default() }
}

/// The body is JSON. A GET without a written body sends none.
fn written_body(config: &Value) -> Value {
    let none = request_method(config) == "GET";
    let empty = || if none { Value::Null } else { json!({}) };
    config.get("body").filter(|body| !body.is_null()).cloned().unwrap_or_else(empty)
}

/// The value of a name: a variable, else from the environment, else from the user's secrets. The
/// action replaces the callback marker by the link; no other value may contain the marker.
fn lookup_name(event: &Event, carry: &Carry, name: &str, asks: bool) -> Option<String> {
    if name == "CALLBACK_URL" {
        return Some(if asks { CALLBACK_MARKER.to_owned() } else { String::new() });
    }
    let outside =
        || event.context.env.get(name).or_else(|| event.context.secrets.get(name)).cloned();
    variable_value(event, carry, name).or_else(outside).map(strip_callback_marker)
}

fn signing_secrets(config: &Value, filled: &dyn Fn(&Value) -> String) -> Vec<String> {
    let secrets = match config.get("sign") {
        Some(Value::Array(secrets)) => secrets.iter().map(filled).collect(),
        Some(secret) => vec![filled(secret)],
        None => Vec::new(),
    };
    secrets.into_iter().filter(|secret: &String| !secret.is_empty()).collect()
}

fn is_slack_url(url: &str) -> bool {
    let host = url.strip_prefix("https://").and_then(|rest| rest.split(['/', '?', '#']).next());
    host.is_some_and(|host| host == "slack.com" || host.ends_with(".slack.com"))
}

fn with_button_objects(mut body: Value) -> Value {
    let blocks = body.get_mut("blocks").and_then(Value::as_array_mut).into_iter().flatten();
    let elements = blocks.filter_map(|block| block.get_mut("elements")?.as_array_mut()).flatten();
    for button in elements.filter(|element| element["type"] == "button") {
        if let Some(text) = button["text"].as_str().map(str::to_owned) {
            button["text"] = json!({"type": "plain_text", "text": text});
        }
    }
    body
}

/// The question, with the values that the approval page shows.
fn approval_request(event: &Event, hook: &Hook, carry: &Carry) -> ApprovalRequest {
    let config = &hook.draft.config;
    let port = config.get("callback_port").and_then(Value::as_u64).unwrap_or(DEFAULT_PORT);
    let change = event.facts.tool.as_ref().and_then(|tool| FileChange::from_args(&tool.args));
    ApprovalRequest {
        port: u16::try_from(port).unwrap_or(8_765),
        key: question_key(event, hook),
        session: event.session.clone(),
        project: event.project.display().to_string(),
        hook: hook.id.clone(),
        title: question_title(event, hook, carry),
        shown: shown_values(event, carry),
        context: question_context(event, hook, carry),
        change,
    }
}

/// The key of a question in its session. A restarted process, or an agent that tries again, finds
/// the same ticket.
fn question_key(event: &Event, hook: &Hook) -> String {
    let facts = &event.facts;
    let tool = facts.tool.as_ref().map(|tool| json!([tool.name, tool.args]));
    let task = facts.task.as_ref().map(|task| &task.id);
    let what = json!([
        event.session_key,
        hook.id,
        event.moment.name(),
        facts.stage,
        facts.iteration,
        tool,
        task,
        facts.prompt,
        facts.cause,
        facts.error,
    ]);
    what.to_string()
}

fn shown_values(event: &Event, carry: &Carry) -> Vec<(String, String)> {
    const NAMES: [(&str, &str); 11] = [
        ("Stage", "STAGE"),
        ("Next stage", "NEXT_STAGE"),
        ("Iteration", "ITERATION"),
        ("Tool", "TOOL_NAME"),
        ("Command", "TOOL_COMMAND"),
        ("File", "TOOL_PATH"),
        ("Prompt", "PROMPT"),
        ("Task", "TASK_SUBJECT"),
        ("Changed files", "CHANGED_FILES"),
        ("Error", "ERROR"),
        ("Last action", "LAST_HOOK_STATUS"),
    ];
    let mut shown = vec![("At".to_owned(), event.name.clone())];
    for (title, name) in NAMES {
        let given =
            variable_value(event, carry, name).filter(|text| !text.is_empty() && text != "[]");
        shown.extend(given.map(|text| (title.to_owned(), shorten_value(&text))));
    }
    let input = event.facts.tool.as_ref().map(|tool| input_fields(&tool.args));
    shown.extend(input.into_iter().flatten().map(|(name, text)| (name, shorten_value(&text))));
    shown
}

/// A tool's input by field, without the command, which has a place of its own.
fn input_fields(args: &Value) -> Vec<(String, String)> {
    let text_of = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    match args {
        Value::Object(fields) => {
            let others =
                fields.iter().filter(|(name, value)| *name != "command" || !value.is_string());
            others
                .map(|(name, value)| (format!("{INPUT_FIELD_PREFIX}{name}"), text_of(value)))
                .collect()
        }
        Value::Null => Vec::new(),
        other => vec![("Input".to_owned(), text_of(other))],
    }
}

/// Whether the approval page shows all of a tool's input. Only then an approval allows the call.
pub fn shows_whole_input(event: &Event) -> bool {
    let fits = |text: &str| text.chars().count() <= MAX_SHOWN_CHARS;
    let Some(tool) = &event.facts.tool else { return true };
    let command = tool.args.get("command").and_then(Value::as_str);
    let has_only_command = input_fields(&tool.args).is_empty();
    command.is_none_or(fits) && (has_only_command || fits(&tool.args.to_string()))
}

/// Shortens a long value and marks the cut.
pub fn shorten_value(text: &str) -> String {
    truncate_chars(text, MAX_SHOWN_CHARS, "… (the rest is not shown)")
}

pub fn request_method(config: &Value) -> String {
    text_field(config, "method").map_or_else(|| "POST".to_owned(), |written| written.to_uppercase())
}
