//! Builds the calls of `http` and `mcp_tool` handlers. They send the hook input, or parts of it.

use std::collections::BTreeMap;

use gambrel_model::description::value_text;
use gambrel_model::json_texts::map_texts;
use gambrel_model::request::to_body;
use gambrel_model::{Call, Event, Hook, Program, ToolRequest, WebhookRequest};
use serde_json::Value;

use super::call;
use crate::event_parts::{string_list, text_field};

/// Builds the request of an `http` handler, with the hook input as body.
pub fn stage_http(hook: &Hook, input: Value, env: &BTreeMap<String, String>) -> Call {
    let config = &hook.draft.config;
    let allowed = string_list(config, "allowedEnvVars");
    let value = |name: &str| {
        let may = allowed.iter().any(|allowed| allowed == name);
        env.get(name).filter(|_| may).cloned().unwrap_or_default()
    };
    let headers = config.get("headers").and_then(Value::as_object);
    let headers = headers.into_iter().flatten();
    let request = WebhookRequest {
        url: text_field(config, "url").unwrap_or_default(),
        method: "POST".into(),
        headers: headers
            .map(|(name, written)| (name.clone(), expand_dollars(&value_text(written), &value)))
            .collect(),
        body: input,
        allow: string_list(config, "reachable"),
        exchange_ms: u64::try_from(hook.draft.policy.limits.timeout.as_millis()).unwrap_or(0),
        ..WebhookRequest::default()
    };
    Call { body: to_body(&request), ..Call::default() }
}

/// Builds the call of an `mcp_tool` handler.
pub fn stage_mcp_tool(event: &Event, hook: &Hook, input: &Value) -> Call {
    let config = &hook.draft.config;
    let server = config.get("serverDefinition").cloned().unwrap_or_default();
    let folders = call::folder_variables(event, &server);
    let filled = |written: &str| {
        expand_defaults(written, &|name| {
            call::find_folder(&folders, name).or_else(|| event.context.env.get(name))
        })
    };
    let word = |value: &Value| filled(&value_text(value));
    let pairs = |key: &str| -> Vec<(String, String)> {
        let pairs = server.get(key).and_then(Value::as_object);
        pairs.into_iter().flatten().map(|(name, value)| (name.clone(), word(value))).collect()
    };
    let url = text_field(&server, "url").map(|url| filled(&url));

    let request = ToolRequest {
        server: text_field(config, "server").unwrap_or_default(),
        headers: pairs("headers"),
        allow: string_list(config, "reachable"),
        tool: text_field(config, "tool").unwrap_or_default(),
        input: config.get("input").map_or_else(
            || Value::Object(Default::default()),
            |written| interpolate_value(written, input),
        ),
        url: url.clone(),
    };

    let command = text_field(&server, "command").map(|command| filled(&command));
    let args = server.get("args").and_then(Value::as_array).into_iter().flatten().map(word);
    let program = match (url, command) {
        (None, Some(command)) => Program::Exec(std::iter::once(command).chain(args).collect()),
        _ => Program::None,
    };
    // A plugin's server gets the same folder variables as the plugin's hooks.
    let own = folders.iter().map(|(name, path)| ((*name).to_owned(), path.clone()));
    let env = own.chain(pairs("env")).collect();
    Call { program, env, body: to_body(&request), ..Call::default() }
}

/// Replaces `${a.b.0}` in every text of a tool's input by the value at that path of the hook input;
/// a missing value is empty. One pass: replaced text is not expanded again.
fn interpolate_value(written: &Value, input: &Value) -> Value {
    let value_at = |path: &str| {
        let found = path.split('.').try_fold(input, |at, key| match at {
            Value::Array(items) => items.get(key.parse::<usize>().ok()?),
            other => other.get(key),
        });
        Some(found.map(value_text).unwrap_or_default())
    };
    map_texts(written, &|text| replace_braced(text, &value_at))
}

/// Expands `${NAME}` and `${NAME:-else}` of a server's definition. An unset name stays unchanged.
fn expand_defaults<'v>(written: &str, value: &dyn Fn(&str) -> Option<&'v String>) -> String {
    replace_braced(written, &|inside| match inside.split_once(":-") {
        Some((name, otherwise)) => {
            Some(value(name).filter(|value| !value.is_empty()).map_or(otherwise, |v| v).into())
        }
        None => value(inside).cloned(),
    })
}

/// Replaces every `${…}` by `value`, in one pass; `None` leaves it unchanged.
fn replace_braced(written: &str, value: &dyn Fn(&str) -> Option<String>) -> String {
    let mut out = String::with_capacity(written.len());
    let mut rest = written;
    while let Some((before, after)) = rest.split_once("${") {
        out.push_str(before);
        let Some((inside, beyond)) = after.split_once('}') else {
            out.push_str("${");
            rest = after;
            continue;
        };
        match value(inside) {
            Some(value) => out.push_str(&value),
            None => out.push_str(&format!("${{{inside}}}")),
        }
        rest = beyond;
    }
    out + rest
}

/// Replaces every `$NAME` and `${NAME}`, in one pass.
fn expand_dollars(written: &str, value: &dyn Fn(&str) -> String) -> String {
    let mut out = String::with_capacity(written.len());
    let mut rest = written;
    while let Some((before, after)) = rest.split_once('$') {
        out.push_str(before);
        let braced = after.strip_prefix('{').and_then(|inside| inside.split_once('}'));
        let bare = after.find(|c: char| !c.is_ascii_alphanumeric() && c != '_');
        let (name, beyond) = braced.unwrap_or_else(|| after.split_at(bare.unwrap_or(after.len())));
        if name.is_empty() || name.starts_with(|c: char| c.is_ascii_digit()) {
            out.push('$');
            rest = after;
            continue;
        }
        out.push_str(&value(name));
        rest = beyond;
    }
    out + rest
}
