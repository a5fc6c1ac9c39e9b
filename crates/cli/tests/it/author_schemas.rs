//! The schemas of `.gambrel/hooks.yaml`, pipelines and stages accept and refuse the same values as
//! the readers of those files: a value is tried under every key, and `gambrel check` is asked too.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::schema_fixture::schema_errors;
use crate::test_project::TestProject;

/// Values of every shape, at the limits of some keys.
fn sample_values() -> Vec<Value> {
    vec![
        json!(null),
        json!(true),
        json!(0),
        json!(5),
        json!(-1),
        json!(1.5),
        json!(101),
        json!(70_000),
        json!(""),
        json!("text"),
        json!("3"),
        json!("get"),
        json!("abort"),
        json!("https://example.com"),
        json!("http://10.0.0.1/"),
        json!("http://localhost:1/"),
        json!(["a"]),
        json!([{"a": 1}]),
        json!({"a": "b"}),
        json!({"a": {"b": "c"}}),
        json!({"type": "fixed"}),
        json!({"block": "x"}),
        json!({"block": "x", "ask": "y"}),
    ]
}

/// A complaint that a schema must refuse too: an error, or a key at the wrong place.
fn is_refusal(complaint: &Value) -> bool {
    let message = complaint["message"].as_str().unwrap();
    // What only the parser of conditions, the search for files, or the other keys can tell.
    let beyond_schemas = [
        "this hook fails every time",
        "stands here without quotes",
        "the condition is empty",
        "is not an agent",
        "has no prompt",
        "no stage `",
        "is no node before",
    ];
    let is_misplaced =
        message.starts_with("unknown field") || message.contains("belongs to `type:");
    (complaint["severity"] == "error" || is_misplaced)
        && !beyond_schemas.iter().any(|text| message.contains(text))
}

/// Compares schema and reader for one document per line of a file. `before` are the lines above.
fn compare(project: &TestProject, path: &str, before: &str, documents: &[(String, Value)]) {
    let schema = project.json(&["schema", "unified"]);
    let lines: Vec<String> = documents.iter().map(|(line, _)| line.clone()).collect();
    project.file(path, &format!("{before}{}\n", lines.join("\n")));
    let found = project.json(&["check", "--json"]);
    let first = before.lines().count() + 1;
    for ((line, document), number) in documents.iter().zip(first..) {
        let here = |complaint: &&Value| complaint["line"] == json!(number);
        let complaints: Vec<&Value> =
            found["complaints"].as_array().unwrap().iter().filter(here).collect();
        let refused = complaints.iter().any(|complaint| is_refusal(complaint));
        let errors = schema_errors(&schema, document, "");
        assert_eq!(refused, !errors.is_empty(), "{line}\n{complaints:?}\n{errors:?}");
    }
}

fn action(kind: &str) -> Value {
    match kind {
        "shell" => json!({"type": "shell", "command": "true"}),
        "webhook" => json!({"type": "webhook", "url": "https://example.com"}),
        "spawn" => json!({"type": "spawn", "pipeline": "p"}),
        _ => json!({"type": "rule", "block": "x"}),
    }
}

/// Every key of any action type, and an unknown one.
fn action_keys(schema: &Value) -> Vec<String> {
    let kinds = ["shell", "webhook", "spawn", "rule"];
    let keys = |kind: &str| schema["definitions"][kind]["properties"].as_object().unwrap().clone();
    let mut names: Vec<String> = kinds.iter().flat_map(|kind| keys(kind)).map(|(k, _)| k).collect();
    names.push("nonsense".to_owned());
    names.sort();
    names.dedup();
    names
}

#[test]
fn accepts_the_actions_that_the_reader_accepts() {
    let project = TestProject::new();
    let keys = action_keys(&project.json(&["schema", "unified"]));
    assert!(keys.len() > 30, "{keys:?}");
    let at_tools = ["tools", "matcher", "redact", "rule"];
    let all: Vec<&str> = keys.iter().map(String::as_str).collect();
    // What differs between hook points is tried at three of them.
    let points = [
        ("on_tool_before", &all[..]),
        ("on_permission_denied", &at_tools),
        ("on_error", &at_tools),
    ];
    for (point, keys) in points {
        let mut documents = Vec::new();
        for (kind, key) in ["shell", "webhook", "spawn", "rule"]
            .iter()
            .flat_map(|kind| keys.iter().map(move |key| (kind, key)))
        {
            for value in sample_values() {
                let mut action = action(kind);
                if *kind == "rule" && ["rule", "ask", "say", "redact"].contains(key) {
                    action.as_object_mut().unwrap().remove("block");
                }
                action[key] = value;
                documents.push((format!("  - {action}"), json!({"hooks": {point: [action]}})));
            }
        }
        let before = format!("hooks:\n {point}:\n");
        compare(&project, ".gambrel/hooks.yaml", &before, &documents);
    }
}

/// Both refuse what the comparison above would also pass if both accepted it.
#[test]
fn refuses_values_of_a_wrong_type() {
    let project = TestProject::new();
    let schema = project.json(&["schema", "unified"]);
    for (kind, key, value) in [
        ("shell", "env", json!({"a": {"b": "c"}})),
        ("shell", "env", json!(["a"])),
        ("shell", "await", json!("yes")),
        ("shell", "timeout", json!("5m")),
        ("shell", "name", json!(["a"])),
        ("webhook", "headers", json!({"a": ["b"]})),
        ("webhook", "sign", json!({"a": "b"})),
        ("webhook", "sign", json!([{"a": "b"}])),
        ("webhook", "method", json!("FETCH")),
        ("spawn", "inputs", json!("text")),
        ("rule", "message", json!({"a": "b"})),
        ("shell", "comand", json!("ls")),
    ] {
        let mut action = action(kind);
        action[key] = value;
        let document = json!({"hooks": {"on_tool_before": [&action]}});
        assert_ne!(schema_errors(&schema, &document, ""), Vec::<String>::new(), "{action}");
        let line = format!("  - {action}");
        compare(&project, ".gambrel/hooks.yaml", "hooks:\n on_tool_before:\n", &[(line, document)]);
    }
}

#[test]
fn accepts_the_files_that_the_reader_accepts() {
    let project = TestProject::new();
    for key in ["hooks", "version", "disable_global_hooks", "nonsense"] {
        for value in sample_values() {
            // What is under `hooks` is another test's.
            if value.as_object().is_some_and(|map| !map.is_empty()) && key == "hooks" {
                continue;
            }
            let line = format!("{key}: {value}");
            compare(&project, ".gambrel/hooks.yaml", "", &[(line, json!({key: value}))]);
        }
    }
}

/// Compares the schema of a stage or pipeline with `check` for each value of a key.
fn compare_plans(name: &str, keys: &[&str], file: impl Fn(&str, &Value) -> Value) {
    let project = TestProject::new();
    let schema = project.json(&["schema", name]);
    let mut paths = Vec::new();
    let mut documents = Vec::new();
    for (key, value) in
        keys.iter().flat_map(|key| sample_values().into_iter().map(move |value| (*key, value)))
    {
        let folder = format!("plans/{}", paths.len());
        let document = file(key, &value);
        let lines = document.as_object().unwrap().iter().map(|(k, v)| format!("{k}: {v}\n"));
        let path = project.file(&format!("{folder}/{name}.yaml"), &lines.collect::<String>());
        project.file(&format!("{folder}/prompt.md"), "Work.\n");
        paths.push(path.to_string_lossy().into_owned());
        documents.push((format!("{key}: {value}"), document));
    }
    let mut words = vec!["check", "--json"];
    words.extend(paths.iter().map(String::as_str));
    let found = project.json(&words);
    for ((line, document), path) in documents.iter().zip(&paths) {
        let here = |complaint: &&Value| complaint["file"] == json!(path);
        let complaints: Vec<&Value> =
            found["complaints"].as_array().unwrap().iter().filter(here).collect();
        let refused = complaints.iter().any(|complaint| is_refusal(complaint));
        let errors = schema_errors(&schema, document, "");
        assert_eq!(refused, !errors.is_empty(), "{line}\n{complaints:?}\n{errors:?}");
    }
}

#[test]
fn accepts_the_stages_that_the_reader_accepts() {
    let keys = "name description termination provider model delay commit check_before context \
                output_path commands guardrails permissions items output_parse nonsense";
    let keys: Vec<&str> = keys.split_whitespace().collect();
    compare_plans("stage", &keys, |key, value| {
        let mut stage =
            json!({"name": "s", "termination": {"type": "fixed", "iterations": 2}, "delay": 0});
        stage[key] = value.clone();
        stage
    });
    let keys = "type iterations max min_iterations consensus command check_before nonsense";
    let keys: Vec<&str> = keys.split_whitespace().collect();
    compare_plans("stage", &keys, |key, value| {
        let mut termination = json!({"type": "fixed"});
        termination[key] = value.clone();
        json!({"name": "s", "termination": termination})
    });
    compare_plans("stage", &["completion", "min_iterations", "consensus"], |key, value| {
        let mut stage = json!({"name": "s", "completion": "fixed-n"});
        stage[key] = value.clone();
        stage
    });
}

#[test]
fn accepts_the_pipelines_that_the_reader_accepts() {
    let keys = "name description version inputs commands defaults provider model nodes permissions \
                commit hooks output_parse nonsense";
    let keys: Vec<&str> = keys.split_whitespace().collect();
    compare_plans("pipeline", &keys, |key, value| {
        let mut pipeline = json!({"name": "p", "nodes": [{"id": "a", "prompt": "x"}]});
        pipeline[key] = value.clone();
        pipeline
    });
    let keys = "id name stage loop prompt description provider model context runs termination \
                inputs delay commit guardrails parallel pipeline nonsense";
    let keys: Vec<&str> = keys.split_whitespace().collect();
    compare_plans("pipeline", &keys, |key, value| {
        // `id` counts before `name`, so a node has one of them.
        let mut node = if key == "name" { json!({}) } else { json!({"id": "b"}) };
        node["prompt"] = json!("y");
        node[key] = value.clone();
        json!({"name": "p", "nodes": [{"id": "a", "prompt": "x"}, node]})
    });
    compare_plans("pipeline", &["from", "select", "from_initial", "nonsense"], |key, value| {
        let node = json!({"id": "b", "prompt": "y", "inputs": {key: value}});
        json!({"name": "p", "nodes": [{"id": "a", "prompt": "x"}, node]})
    });
}

/// The schema of a file, by its place.
fn schema_of(path: &Path) -> Option<&'static str> {
    let has_folder = |name: &str| path.iter().any(|part| part == name);
    match path.file_name()?.to_str()? {
        "hooks.yaml" if has_folder(".gambrel") => Some("unified"),
        "stage.yaml" => Some("stage"),
        name if has_folder("pipelines") && name.ends_with(".yaml") => Some("pipeline"),
        _ => None,
    }
}

fn add_examples(folder: &Path, files: &mut Vec<(&'static str, PathBuf)>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            add_examples(&path, files);
        } else if let Some(schema) = schema_of(&path) {
            files.push((schema, path));
        }
    }
}

/// Files of examples and starters, with the schema that they name or belong to.
fn shipped_files() -> Vec<(&'static str, PathBuf)> {
    let mut files = Vec::new();
    add_examples(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples"), &mut files);
    let starters = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/init/starters");
    for (schema, name) in [
        ("unified", "hooks.yaml"),
        ("stage", "ralph_stage.yaml"),
        ("pipeline", "refine.yaml"),
        ("pipeline", "tdd.yaml"),
    ] {
        files.push((schema, starters.join(name)));
    }
    files
}

#[test]
fn accepts_examples_and_starters() {
    let project = TestProject::new();
    let files = shipped_files();
    for (name, least) in [("unified", 18), ("stage", 2), ("pipeline", 3)] {
        let count = files.iter().filter(|(schema, _)| *schema == name).count();
        assert!(count >= least, "{name}: {files:?}");
    }
    for (name, path) in files {
        let text = std::fs::read_to_string(&path).unwrap();
        let document: Value = serde_saphyr::from_str(&text).unwrap();
        let schema = project.json(&["schema", name]);
        let errors = schema_errors(&schema, &document, "");
        assert!(errors.is_empty(), "{}: {errors:?}", path.display());
    }
}

#[test]
fn names_every_hook_point_of_the_contract() {
    let schema = TestProject::new().json(&["schema", "unified"]);
    let points = schema["definitions"]["hooks"]["properties"].as_object().unwrap();
    for name in ["on_session_start", "on_iteration_complete", "on_tool_before", "on_file_changed"] {
        assert!(points.contains_key(name), "{name}");
    }
    // The neutral name of a point of agent-pipelines is an alias.
    assert!(points.contains_key("on_iteration_end"));
    let shell = &schema["definitions"]["shell"]["properties"];
    assert_eq!(shell["timeout"]["default"], 300);
    assert_eq!(schema["definitions"]["spawn"]["properties"]["await"]["default"], true);
}
