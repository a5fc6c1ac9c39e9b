//! The action `webhook`: what its author may write, the request that is made of it, and what the
//! person is shown who is asked. What an answer means is in `answer`.

use gambrel_model::request::{CALLBACK_MARKER, strip_callback_marker, to_body};
use gambrel_model::template::{Style, expand_json, expand_plain, expand_url, variable_names};
use gambrel_model::{ApprovalRequest, Call, Carry, Complaint, Event, Hook, WebhookRequest};
use serde_json::{Value, json};

use super::variables::value;
use crate::document::{Content, Fields, Node};
use crate::payload::{loose_text, text};

const METHODS: [&str; 5] = ["GET", "POST", "PUT", "PATCH", "DELETE"];
/// Where answers are listened for, unless the author says otherwise.
const PORT: u64 = 8_765;
/// What a page shows of one value.
const SHOWN: usize = 4_000;

/// Looks at the fields of a webhook.
pub fn look(fields: &mut Fields<'_>) {
    let written = fields.node("method").and_then(Node::text).unwrap_or_default();
    if !METHODS.contains(&written.to_uppercase().as_str()) {
        let _ = fields.word("method", &METHODS);
    }
    super::action::map(fields, "headers");
    if fields.count("callback_port").is_some_and(|port| port == 0 || port > 65_535) {
        let help = "the usual one is 8765";
        fields.complain("callback_port", "`callback_port` is between 1 and 65535", help);
    }
    buttons(fields);
}

/// Complains of an address that nothing is sent to. The action runs all the same and fails, so that
/// its failure counts.
pub fn check_url(fields: &mut Fields<'_>) {
    let url = fields.node("url").and_then(Node::text).unwrap_or_default();
    // A variable is looked at when it has a value.
    let fine = url.is_empty() || url.starts_with("${") || url.starts_with("https://");
    if !fine && !to_loopback(url) {
        let message = "`url` should begin with https:// (http:// is for this machine alone)";
        let help = "keep a secret address in the environment: \"${MY_WEBHOOK}\"";
        fields.complain("url", message, help);
    }
}

fn to_loopback(url: &str) -> bool {
    let Some(rest) = url.strip_prefix("http://") else { return false };
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let host = match authority.strip_prefix('[') {
        Some(v6) => v6.split(']').next().unwrap_or_default(),
        None => authority.split(':').next().unwrap_or_default(),
    };
    host == "localhost" || host.parse::<std::net::IpAddr>().is_ok_and(|ip| ip.is_loopback())
}

/// Warns of a button with a plain text: Slack refuses it, although agent-pipelines shows it so.
fn buttons(fields: &mut Fields<'_>) {
    let blocks = fields.node("body").and_then(|body| body.get("blocks")).and_then(Node::items);
    let elements = |block: &'_ Node| -> Vec<Node> {
        block.get("elements").and_then(Node::items).map(<[Node]>::to_vec).unwrap_or_default()
    };
    let is_button = |node: &Node| node.get("type").and_then(Node::text) == Some("button");
    let plain = blocks.into_iter().flatten().flat_map(elements).filter(is_button).any(|button| {
        let text = button.get("text").map(|text| &text.content);
        matches!(text, Some(Content::Scalar { .. }))
    });
    if plain {
        let message = "Slack wants a button's text as an object; to Slack it is sent as one";
        let help = "write `text: {type: plain_text, text: \"…\"}`";
        let before = fields.complaints.len();
        fields.complain("body", message, help);
        for complaint in fields.complaints.iter_mut().skip(before) {
            *complaint = Complaint::warning(complaint.spot.clone(), message).with_help(help);
        }
    }
}

/// The request, and the question that it brings.
pub fn stage(event: &Event, hook: &Hook, carry: &Carry) -> Call {
    let config = &hook.draft.config;
    let asks = hook.draft.policy.blocking;
    let lookup = |name: &str| known(event, carry, name, asks);
    let url = text(config, "url").unwrap_or_default();
    let unset = variable_names(&url, Style::Dollar).into_iter().find(|name| lookup(name).is_none());
    let headers = config.get("headers").and_then(Value::as_object).into_iter().flatten();
    let filled = |written: &Value| expand_plain(&loose_text(written), Style::Dollar, &lookup);
    let url = expand_url(&url, Style::Dollar, &lookup);
    let body = expand_json(&written_body(config), Style::Dollar, &lookup);
    let request = WebhookRequest {
        method: method(config),
        headers: headers.map(|(name, written)| (name.clone(), filled(written))).collect(),
        body: if to_slack(&url) { with_objects(body) } else { body },
        url,
        sign: signed(config, &filled),
        allow: list(config, "reachable"),
        refused: unset.map(|name| format!("{name} is not set in the environment or secrets.env")),
        ask: asks.then(|| ask(event, hook, carry)),
        ..WebhookRequest::default()
    };
    Call { body: to_body(&request), ..Call::default() }
}

/// The body is JSON. A GET without a written body sends none.
fn written_body(config: &Value) -> Value {
    let none = method(config) == "GET";
    let empty = || if none { Value::Null } else { json!({}) };
    config.get("body").filter(|body| !body.is_null()).cloned().unwrap_or_else(empty)
}

/// Our variables, then the environment, then the user's secrets. The link is filled in by the
/// action, which alone knows it; nothing else may pass for it.
fn known(event: &Event, carry: &Carry, name: &str, asks: bool) -> Option<String> {
    if name == "CALLBACK_URL" {
        return Some(if asks { CALLBACK_MARKER.to_owned() } else { String::new() });
    }
    let outside = || event.env.get(name).or_else(|| event.secrets.get(name)).cloned();
    value(event, carry, name).or_else(outside).map(strip_callback_marker)
}

fn signed(config: &Value, filled: &dyn Fn(&Value) -> String) -> Vec<String> {
    let secrets = match config.get("sign") {
        Some(Value::Array(secrets)) => secrets.iter().map(filled).collect(),
        Some(secret) => vec![filled(secret)],
        None => Vec::new(),
    };
    secrets.into_iter().filter(|secret: &String| !secret.is_empty()).collect()
}

pub fn list(config: &Value, key: &str) -> Vec<String> {
    let items = config.get(key).and_then(Value::as_array).into_iter().flatten();
    items.filter_map(Value::as_str).map(str::to_owned).collect()
}

fn to_slack(url: &str) -> bool {
    let host = url.strip_prefix("https://").and_then(|rest| rest.split(['/', '?', '#']).next());
    host.is_some_and(|host| host == "slack.com" || host.ends_with(".slack.com"))
}

fn with_objects(mut body: Value) -> Value {
    let blocks = body.get_mut("blocks").and_then(Value::as_array_mut).into_iter().flatten();
    let elements = blocks.filter_map(|block| block.get_mut("elements")?.as_array_mut()).flatten();
    for button in elements.filter(|element| element["type"] == "button") {
        if let Some(text) = button["text"].as_str().map(str::to_owned) {
            button["text"] = json!({"type": "plain_text", "text": text});
        }
    }
    body
}

/// The question, and what the person is shown of it.
fn ask(event: &Event, hook: &Hook, carry: &Carry) -> ApprovalRequest {
    let config = &hook.draft.config;
    let port = config.get("callback_port").and_then(Value::as_u64).unwrap_or(PORT);
    let lookup = |name: &str| match name {
        "CALLBACK_URL" => Some(String::new()),
        _ => value(event, carry, name),
    };
    let message = config.get("body").and_then(|body| text(body, "text"));
    let message = message.map(|text| expand_plain(&text, Style::Dollar, &lookup));
    let title = message.or_else(|| hook.draft.name.clone()).unwrap_or_else(|| event.name.clone());
    ApprovalRequest {
        port: u16::try_from(port).unwrap_or(8_765),
        key: key(event, hook),
        session: event.session.clone(),
        project: event.project.display().to_string(),
        hook: hook.id.clone(),
        title,
        shown: shown(event, carry),
    }
}

/// The same question of the same session: a process that is started again, or an agent that tries
/// again, finds the ticket that is there.
fn key(event: &Event, hook: &Hook) -> String {
    let facts = &event.facts;
    let tool = facts.tool.as_ref().map(|tool| json!([tool.name, tool.args]));
    let task = facts.task.as_ref().map(|task| &task.id);
    let what = json!([
        event.session_key(),
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

fn shown(event: &Event, carry: &Carry) -> Vec<(String, String)> {
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
        let told = value(event, carry, name).filter(|text| !text.is_empty() && text != "[]");
        shown.extend(told.map(|text| (title.to_owned(), shorten(&text))));
    }
    if let Some(input) = input_beside_command(event) {
        shown.push(("Input".to_owned(), shorten(&input)));
    }
    shown
}

/// A tool's whole input, unless it is a command and nothing else.
fn input_beside_command(event: &Event) -> Option<String> {
    let args = &event.facts.tool.as_ref()?.args;
    let fields = args.as_object();
    let only_command =
        fields.is_some_and(|fields| fields.len() == 1 && args["command"].is_string());
    (!only_command).then(|| args.to_string())
}

/// Whether a page shows all of a tool's input: only that can be allowed.
pub fn shows_whole_input(event: &Event) -> bool {
    let fits = |text: &str| text.chars().count() <= SHOWN;
    let Some(tool) = &event.facts.tool else { return true };
    let command = tool.args.get("command").and_then(Value::as_str);
    command.is_none_or(fits) && input_beside_command(event).is_none_or(|input| fits(&input))
}

/// The beginning of a long value, with a mark.
fn shorten(text: &str) -> String {
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}… (the rest is not shown)", &text[..end]),
        None => text.to_owned(),
    }
}

fn method(config: &Value) -> String {
    text(config, "method").map_or_else(|| "POST".to_owned(), |written| written.to_uppercase())
}
