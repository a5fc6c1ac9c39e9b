//! The JSON Schema of `.gambrel/hooks.yaml`, and the definitions that stages and pipelines share
//! with it. Names, words and defaults come from the reader's tables; here are only the shapes and
//! the descriptions. The path of `fire` does not come here.

use gambrel_document::schema::{
    KeySchema, SCHEMA_DRAFT,
    ValueShape::{self, Any, Count, Custom, Flag, Integer, Map as AnyMap, RequiredText, Seconds},
    ValueShape::{FilledText, Text, TextMap, Texts, Word},
    closed_map, key_schemas,
};
use gambrel_model::{EventSpec, Moment, MomentKind, Subject};
use serde_json::{Map, Value, json};

use super::action::{ACTION_TYPES, ActionType, COMMON_FIELDS};
use super::config::TOP_LEVEL_KEYS;
use super::hook_policy::{ANSWER_WORDS, FAILURE_WORDS, MAX_RETRY_COUNT};
use super::product_events::{find_product_event, product_events};
use super::rule::{EFFECT_FIELDS, INPUT_FACT, RESULT_FACT, redacted_slot};
use super::webhook::METHODS;
use super::{UNIFIED, variables};

/// The keys of a file.
const FILE_KEYS: &[KeySchema] = &[
    key("version", Any, "Accepted and not used."),
    key(
        "disable_global_hooks",
        Flag,
        "Leave out the global hooks. Counts only in a stage or pipeline that you name by its path.",
    ),
];

/// The fields of actions.
const ACTION_KEYS: &[KeySchema] = &[
    key("await", Flag, "Wait for the end of the action, and use its result."),
    key("timeout", Seconds { zero: false }, "Seconds until the action is ended."),
    key(
        "on_failure",
        Word(&FAILURE_WORDS),
        "After a failure: `continue`, `abort` (refuse, or end the run), or `retry`.",
    ),
    key(
        "retries",
        Count { min: 0, max: MAX_RETRY_COUNT },
        "Attempts after the first one. A shell action also needs `on_failure: retry`.",
    ),
    key("retry_delay", Seconds { zero: true }, "Seconds between two attempts."),
    key(
        "when",
        Text,
        "A condition, such as \"${STAGE} == 'plan'\". The action runs if it is true.",
    ),
    key("name", Text, "The name in lists, logs and questions."),
    key("priority", Integer, "Moves the action before (negative) or after its neighbours."),
    key("matcher", Text, "Tools by name (`shell|edit`) or by a regular expression."),
    key("tools", Custom(tools_schema), "Tools by their neutral names."),
    key("strict", Flag, "Refuse if this action is skipped, fails to start or times out."),
    key("command", FilledText, "Shell text. Variables are quoted when they are put in."),
    key("env", TextMap, "Variables for the command."),
    key("cwd", Text, "The folder in which the command runs."),
    key("pass_env", Texts, "Secrets and variables of your environment that the action receives."),
    key("trust_files", Texts, "More files that `gambrel trust` covers for this action."),
    key("url", Custom(url_schema), "Where the request goes: https://, or http:// on this machine."),
    key("method", Custom(method_schema), "The method of the request. Default: POST."),
    key("headers", TextMap, "Headers of the request."),
    key("body", Any, "The body, sent as JSON. `${CALLBACK_URL}` is the link for an answer."),
    key(
        "callback_port",
        Count { min: 1, max: 65_535 },
        "The port of the server for answers. Default: 8765.",
    ),
    key("on_timeout", Word(&ANSWER_WORDS), "If nobody answers in time. Default: abort."),
    key("on_reject", Word(&ANSWER_WORDS), "If the answer is no. Default: abort."),
    key(
        "sign",
        Custom(secrets_schema),
        "A secret for a signature of Standard Webhooks, or a list of secrets.",
    ),
    key("pipeline", FilledText, "The pipeline that a child run executes."),
    key("inputs", AnyMap, "Values for the child run."),
    key("rule", Custom(rule_map_schema), "The rule: one effect with a regular expression."),
    key("block", RequiredText, "Refuse if this regular expression matches."),
    key("ask", RequiredText, "Ask the user if this regular expression matches."),
    key("say", RequiredText, "Tell the agent if this regular expression matches."),
    key("redact", RequiredText, "Replace every match of this regular expression."),
    key("fact", Custom(fact_schema), "What the expression is compared with."),
    key("message", Text, "The reason of a refusal or question, or the text for the agent."),
    key("with", Text, "What replaces a match. Default: [redacted]."),
];

const fn key(name: &'static str, shape: ValueShape, text: &'static str) -> KeySchema {
    KeySchema { name, shape, text }
}

/// The schema of `.gambrel/hooks.yaml` and of the global files.
pub fn file_schema() -> Value {
    let mut properties = key_schemas(&TOP_LEVEL_KEYS, FILE_KEYS);
    properties.insert("hooks".into(), json!({"$ref": "#/definitions/hooks"}));
    json!({
        "$schema": SCHEMA_DRAFT,
        "title": "Hooks of .gambrel/hooks.yaml",
        "type": "object",
        "properties": properties,
        "additionalProperties": false,
        "definitions": hook_definitions(),
    })
}

/// The definition `hooks`, and those that it refers to.
pub fn hook_definitions() -> Map<String, Value> {
    let kinds = ACTION_TYPES.iter().map(|kind| (kind.name.to_owned(), kind_schema(kind)));
    let own = [
        ("hooks", points_schema()),
        ("action", action_schema()),
        ("action_without_redact", restrict_action(&["redact"])),
        ("action_without_tool", restrict_action(&["redact", "tools"])),
    ];
    let own = own.into_iter().map(|(name, schema)| (name.to_owned(), schema));
    own.chain(kinds).collect()
}

/// The map under `hooks`: every hook point, the neutral names of those of agent-pipelines, and the
/// other events of products.
fn points_schema() -> Value {
    let named = UNIFIED.events().iter().filter(|row| !row.name.is_empty());
    let mut points = Map::new();
    for row in named {
        // A product decides whether a hook can refuse its own event.
        let kind = find_product_event(&row.moment).unwrap_or(row).kind();
        points.insert(row.name.to_owned(), point_schema(row, &row.moment, kind));
        let alias = points.entry(row.moment.yaml_key());
        alias.or_insert_with(|| point_schema(row, &row.moment, kind));
    }
    for event in product_events() {
        let point = points.entry(event.moment.yaml_key());
        let unknown = || UNIFIED.find_spec("").unwrap_or(event);
        point.or_insert_with(|| point_schema(unknown(), &event.moment, event.kind()));
    }
    closed_map(points)
}

/// The list of actions at one hook point.
fn point_schema(row: &EventSpec, moment: &Moment, kind: MomentKind) -> Value {
    let action = match (row.subject == Subject::Tool, redacted_slot(row).is_some()) {
        (true, true) => "action",
        (true, false) => "action_without_redact",
        (false, _) => "action_without_tool",
    };
    let kind = match kind {
        MomentKind::Gate => "It is about to happen: a hook may refuse it.",
        MomentKind::Close => "It is about to end: a refusal keeps it going.",
        MomentKind::Report => "It has happened: there is nothing to refuse.",
    };
    let actions = format!("#/definitions/{action}");
    json!({
        "description": format!("Actions at `{}`. {kind}", moment.name()),
        "type": ["array", "null"],
        "items": {"$ref": actions},
    })
}

/// An action of any type. A rule needs no `type`.
fn action_schema() -> Value {
    let names = ACTION_TYPES.iter().map(|kind| json!(kind.name)).chain([Value::Null]);
    let refer = |name: &str| json!({"$ref": format!("#/definitions/{name}")});
    let typed = ACTION_TYPES.iter().map(|kind| {
        let is_kind = json!({"properties": {"type": {"const": kind.name}}, "required": ["type"]});
        json!({"if": is_kind, "then": refer(kind.name)})
    });
    let untyped = json!({"if": {"properties": {"type": {"type": "null"}}}, "then": refer("rule")});
    json!({
        "type": "object",
        "properties": {
            "type": {
                "description": "What the action does. A rule may leave it out.",
                "enum": names.collect::<Vec<_>>(),
            },
        },
        "dependencies": {"tools": {"properties": {"matcher": {"type": "null"}}}},
        "allOf": typed.chain([untyped]).collect::<Vec<_>>(),
    })
}

/// An action at a hook point where some fields cannot work.
fn restrict_action(without: &[&str]) -> Value {
    let refuse = |names: &[&str]| -> Map<String, Value> {
        names.iter().map(|name| ((*name).to_owned(), json!({"type": "null"}))).collect()
    };
    let mut fields = refuse(without);
    fields.insert("rule".into(), json!({"properties": refuse(&["redact"])}));
    json!({"allOf": [{"$ref": "#/definitions/action"}, {"properties": fields}]})
}

/// The fields of one action type, with its defaults.
fn kind_schema(kind: &ActionType) -> Value {
    let names: Vec<&str> =
        COMMON_FIELDS.into_iter().chain([kind.required_field]).chain(own_fields(kind)).collect();
    let mut fields = key_schemas(&names, ACTION_KEYS);
    fields["type"] = json!({"description": "The type of the action."});
    fields["await"]["default"] = json!(kind.waits);
    fields["timeout"]["default"] = json!(kind.timeout.as_secs());
    fields["retries"]["default"] = json!(kind.retries);
    let mut schema = closed_map(fields);
    match is_rule(kind) {
        // Exactly one: the map `rule`, or one effect beside the other fields.
        true => schema["oneOf"] = one_of(&[&["rule"][..], &EFFECT_FIELDS].concat()),
        false => schema["required"] = json!([kind.required_field]),
    }
    schema
}

fn is_rule(kind: &ActionType) -> bool {
    kind.required_field == "rule"
}

fn own_fields(kind: &ActionType) -> impl Iterator<Item = &'static str> {
    kind.optional_fields.iter().copied()
}

/// The map under `rule`.
fn rule_map_schema() -> Value {
    let names = ACTION_TYPES.iter().filter(|kind| is_rule(kind)).flat_map(own_fields);
    let names: Vec<&str> = names.collect();
    let mut schema = closed_map(key_schemas(&names, ACTION_KEYS));
    schema["oneOf"] = one_of(&EFFECT_FIELDS);
    schema
}

fn one_of(names: &[&str]) -> Value {
    names.iter().map(|name| json!({"required": [name]})).collect()
}

fn tools_schema() -> Value {
    let mut words: Vec<&str> = UNIFIED.tools.iter().map(|word| word.name).collect();
    words.dedup();
    let name = json!({"anyOf": [{"enum": words}, Text.to_schema()]});
    json!({"type": ["array", "null"], "items": name})
}

fn fact_schema() -> Value {
    let facts = variables::known_names().chain([INPUT_FACT, RESULT_FACT]);
    json!({"anyOf": [{"enum": facts.collect::<Vec<_>>()}, Text.to_schema()]})
}

fn method_schema() -> Value {
    let any_case = |c: char| format!("[{c}{}]", c.to_ascii_lowercase());
    let words = METHODS.map(|method| method.chars().map(any_case).collect::<String>());
    let pattern = format!("^({})$", words.join("|"));
    json!({"anyOf": [{"enum": METHODS}, {"type": "string", "pattern": pattern}, {"type": "null"}]})
}

fn secrets_schema() -> Value {
    let text = Text.to_schema();
    json!({"type": ["string", "number", "boolean", "array", "null"], "items": text})
}

/// An address that is sent to, or one that begins with a variable.
fn url_schema() -> Value {
    let this_machine = r"http://(localhost|127(\.[0-9]{1,3}){3}|\[[0:]*1\])([:/?#]|$)";
    json!({"type": "string", "pattern": format!(r"^(https://|\$\{{|{this_machine})")})
}

#[cfg(test)]
mod tests {
    use gambrel_model::Powers;

    use super::super::events;
    use super::*;
    use crate::claude::CLAUDE;

    #[test]
    fn every_field_of_the_reader_has_one_row() {
        let own =
            ACTION_TYPES.iter().flat_map(|kind| own_fields(kind).chain([kind.required_field]));
        let known: Vec<&str> = COMMON_FIELDS.into_iter().chain(own).collect();
        for name in known.iter().filter(|name| **name != "type") {
            let rows = ACTION_KEYS.iter().filter(|row| row.name == *name).count();
            assert_eq!(rows, 1, "{name}");
        }
        for row in ACTION_KEYS {
            assert!(known.contains(&row.name), "no reader knows `{}`", row.name);
        }
        for name in TOP_LEVEL_KEYS.iter().filter(|name| **name != "hooks") {
            assert!(FILE_KEYS.iter().any(|row| row.name == *name), "{name}");
        }
    }

    #[test]
    fn every_hook_point_is_a_property() {
        let schema = file_schema();
        let points = &schema["definitions"]["hooks"]["properties"];
        for name in events::point_names() {
            assert!(points[name].is_object(), "{name}");
        }
    }

    /// What a point says about its event follows from the answer that the product accepts.
    #[test]
    fn points_of_one_product_have_the_kind_of_its_event() {
        let schema = file_schema();
        let points = &schema["definitions"]["hooks"]["properties"];
        let mut counts = [0, 0];
        for row in CLAUDE.events().iter().filter(|row| !row.name.is_empty()) {
            let Moment::Other(_) = row.moment else { continue };
            let refusable = row.hook_powers.contains(Powers::DENY);
            let ending = if refusable { "may refuse it." } else { "nothing to refuse." };
            let text = points[row.moment.yaml_key()]["description"].as_str().unwrap_or_default();
            assert!(text.ends_with(ending), "{}: {text}", row.name);
            counts[usize::from(refusable)] += 1;
        }
        assert_eq!(counts, [9, 7], "reports and gates");
    }
}
