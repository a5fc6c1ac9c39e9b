//! The JSON Schemas of pipelines and stages. Which keys there are comes from the readers; here are
//! the shapes and the descriptions. The definition of `hooks` comes from the caller, because the
//! runner knows no dialect.

use gambrel_document::schema::{
    KeySchema, SCHEMA_DRAFT,
    ValueShape::{self, Any, Custom, FilledText, Flag, RequiredText, Seconds, Text, Texts, Word},
    closed_map, key_schemas,
};
use gambrel_model::text::split_words;
use serde_json::{Map, Value, json};

use super::guardrails::GUARDRAIL_KEYS;
use super::pipeline::{DEFAULTS_KEYS, INPUT_KEYS, NODE_KEYS, PIPELINE_KEYS, SELECT_WORDS};
use super::stage::{PERMISSION_WORDS, STAGE_KEYS};
use super::termination::{OLD_WORDS, TERMINATION_KEYS, TERMINATION_WORDS};

/// The keys of stages, pipelines, nodes and the maps inside them. A key means the same in each.
const PLAN_KEYS: &[KeySchema] = &[
    key("name", Text, "The name. That of a stage equals the name of its folder."),
    key("description", Text, "What it is for."),
    key("version", Any, "Accepted and not used."),
    key("items", Any, "Accepted and not used."),
    key("output_parse", Any, "Accepted and not used."),
    key("judge", Any, "Accepted and not used."),
    key("inputs", Texts, "Files, folders or patterns that every node receives."),
    key("commands", Custom(commands_schema), "Names and commands for the agent."),
    key("defaults", Custom(defaults_schema), "The agent and model where nothing else names one."),
    key(
        "provider",
        Text,
        "The agent: claude, codex, opencode, gemini, `command:CMD`, `script:FILE` or `acp:CMD`.",
    ),
    key("model", Text, "The model of the agent."),
    key("permissions", Word(&PERMISSION_WORDS), "Tool calls about which no hook decides."),
    key("commit", Flag, "Commit each iteration to git. Default: false."),
    key("disable_global_hooks", Flag, "Leave out the global hooks in this run."),
    key("hooks", Custom(hooks_reference), "Hooks of this stage or run."),
    key("nodes", Custom(nodes_schema), "The nodes, in order."),
    key("stages", Custom(nodes_schema), "The older word for `nodes`."),
    key("id", Text, "The id of the node. Default: the name of its stage."),
    key("stage", Text, "The name of a stage."),
    key("loop", Text, "The older word for `stage`."),
    key("prompt", Text, "In a node the text of the prompt, in a stage the name of its file."),
    key("context", Text, "The value of ${CONTEXT}."),
    key("output_path", Text, "The value of ${OUTPUT_PATH}."),
    key("runs", Custom(runs_schema), "The most iterations, or a termination. Default: 1."),
    key("termination", Custom(termination_reference), "When the stage ends."),
    key("completion", Custom(completion_schema), "The older word for `termination`."),
    key("delay", Seconds { zero: true }, "Seconds between two iterations. Default: 3."),
    key("guardrails", Custom(guardrails_schema), "Limits at which the stage completes."),
    key("parallel", Custom(unbuilt_schema), "Cannot be run yet."),
    key("pipeline", Custom(unbuilt_schema), "Cannot be run yet."),
    key("from_parallel", Custom(unbuilt_schema), "Cannot be run yet."),
    key("from", Custom(from_schema), "The ids of earlier nodes."),
    key("select", Word(&SELECT_WORDS), "Which outputs of them. Default: latest."),
    key("from_initial", Flag, "Whether the node gets the run's inputs. Default: true."),
    key("type", Word(&TERMINATION_WORDS), "The rule by which the stage ends."),
    key("iterations", Custom(positive_schema), "The number of iterations of a fixed stage."),
    key("max", Custom(positive_schema), "The most iterations."),
    key("max_iterations", Custom(positive_schema), "The older word for `max`."),
    key("min_iterations", Custom(positive_schema), "The first iteration whose judgment counts."),
    key("consensus", Custom(positive_schema), "How many iterations in a row must decide `stop`."),
    key("command", Text, "The command of a queue. The stage ends when it prints nothing."),
    key("check_before", Flag, "Ask the queue before the first iteration too."),
    key("max_runtime_seconds", Seconds { zero: true }, "Seconds until the agent is ended."),
    key("max_cost", Custom(cost_schema), "US dollars after which the stage completes."),
    key("max_tokens", Custom(tokens_schema), "Tokens after which the stage completes."),
];

const fn key(name: &'static str, shape: ValueShape, text: &'static str) -> KeySchema {
    KeySchema { name, shape, text }
}

/// The schema of a pipeline, with the definition `hooks` and those that it refers to.
pub fn pipeline_schema(hook_definitions: Map<String, Value>) -> Value {
    let mut fields = fields_of(PIPELINE_KEYS);
    fields["name"] = FilledText.to_schema();
    let mut schema = plan_schema("Pipeline of gambrel run", fields, hook_definitions);
    schema["required"] = json!(["name"]);
    let list = json!({"type": "array"});
    schema["anyOf"] = json!([with_key("nodes", &list), with_key("stages", &list)]);
    schema
}

/// The schema of a stage, with the definition `hooks` and those that it refers to.
pub fn stage_schema(hook_definitions: Map<String, Value>) -> Value {
    let mut fields = fields_of(STAGE_KEYS);
    fields["name"] = FilledText.to_schema();
    let mut schema = plan_schema("Stage of gambrel run", fields, hook_definitions);
    schema["required"] = json!(["name"]);
    let word = json!({"type": "string"});
    let typed = with_key("termination", &with_key("type", &word));
    schema["anyOf"] = json!([typed, with_key("completion", &word)]);
    schema
}

fn plan_schema(title: &str, fields: Map<String, Value>, hooks: Map<String, Value>) -> Value {
    let own = [
        ("plan_node", node_schema()),
        ("plan_termination", closed_map(fields_of(TERMINATION_KEYS))),
    ];
    let own = own.into_iter().map(|(name, schema)| (name.to_owned(), schema));
    let definitions: Map<String, Value> = own.chain(hooks).collect();
    json!({
        "$schema": SCHEMA_DRAFT,
        "title": title,
        "type": "object",
        "properties": fields,
        "additionalProperties": false,
        "definitions": definitions,
    })
}

fn fields_of(keys: &str) -> Map<String, Value> {
    key_schemas(&split_words(keys), PLAN_KEYS)
}

fn node_schema() -> Value {
    let mut fields = fields_of(NODE_KEYS);
    fields["inputs"] = closed_map(fields_of(INPUT_KEYS));
    let mut schema = closed_map(fields);
    schema["type"] = json!("object");
    let kinds = ["stage", "loop", "prompt"].map(|name| with_key(name, &RequiredText.to_schema()));
    schema["anyOf"] = json!(kinds);
    schema
}

/// A map with this key.
fn with_key(name: &str, schema: &Value) -> Value {
    json!({"type": "object", "required": [name], "properties": {name: schema}})
}

fn nodes_schema() -> Value {
    json!({"type": ["array", "null"], "minItems": 1, "items": {"$ref": "#/definitions/plan_node"}})
}

fn hooks_reference() -> Value {
    json!({"allOf": [{"$ref": "#/definitions/hooks"}]})
}

fn termination_reference() -> Value {
    json!({"allOf": [{"$ref": "#/definitions/plan_termination"}]})
}

fn runs_schema() -> Value {
    json!({"anyOf": [positive_schema(), {"$ref": "#/definitions/plan_termination"}]})
}

fn completion_schema() -> Value {
    let words = OLD_WORDS.iter().map(|(word, _)| json!(word)).chain([Value::Null]);
    json!({"enum": words.collect::<Vec<_>>()})
}

fn commands_schema() -> Value {
    json!({"type": ["object", "null"], "additionalProperties": Text.to_schema()})
}

fn defaults_schema() -> Value {
    closed_map(key_schemas(&DEFAULTS_KEYS, PLAN_KEYS))
}

fn guardrails_schema() -> Value {
    closed_map(fields_of(GUARDRAIL_KEYS))
}

/// One name, or a list of names.
fn from_schema() -> Value {
    json!({"anyOf": [Text.to_schema(), Texts.to_schema()]})
}

fn unbuilt_schema() -> Value {
    json!({"type": "null"})
}

/// A whole number from 1, which may be written as text.
fn positive_schema() -> Value {
    json!({
        "type": ["integer", "string", "null"],
        "minimum": 1,
        "maximum": u32::MAX,
        "pattern": r"^\s*\+?0*[1-9][0-9]*\s*$",
    })
}

fn cost_schema() -> Value {
    json!({"type": ["number", "null"], "exclusiveMinimum": 0, "maximum": 1_000_000})
}

fn tokens_schema() -> Value {
    json!({"type": ["integer", "null"], "minimum": 1})
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_key_of_the_readers_has_one_row() {
        let texts =
            [PIPELINE_KEYS, STAGE_KEYS, NODE_KEYS, INPUT_KEYS, TERMINATION_KEYS, GUARDRAIL_KEYS];
        let known: Vec<&str> = texts.iter().flat_map(|text| split_words(text)).collect();
        for name in known.iter().chain(&DEFAULTS_KEYS) {
            let rows = PLAN_KEYS.iter().filter(|row| row.name == *name).count();
            assert_eq!(rows, 1, "{name}");
        }
        for row in PLAN_KEYS {
            assert!(known.contains(&row.name), "no reader knows `{}`", row.name);
        }
    }
}
