//! `gambrel schema` prints the schemas of the repository, and events and replies of the cases match
//! them.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::schema_fixture::schema_errors;
use crate::test_project::{TestProject, text};

/// Expected mismatches: the beginning of each complaint.
const ODD: &[&str] = &[
    // An unknown error name shows how names are distinguished from patterns.
    "the narrow events take a hyphen as a pattern and the others as a name: event.error",
];

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Every step of every case with an event from Claude Code: the case's name and the step.
fn claude_steps() -> Vec<(String, Value)> {
    let mut steps = Vec::new();
    let entries = std::fs::read_dir(repository().join("contracts")).unwrap();
    let folders = entries.map(|entry| entry.unwrap().path()).filter(|path| path.is_dir());
    for folder in folders {
        for file in std::fs::read_dir(folder).unwrap() {
            let path = file.unwrap().path();
            if !path.to_string_lossy().ends_with(".case.yaml") {
                continue;
            }
            let file = std::fs::read_to_string(&path).unwrap();
            let file: Value = serde_saphyr::from_str(&file).unwrap();
            for case in file["cases"].as_array().unwrap() {
                let alone = json!([{"fire": case["fire"], "expect": case["expect"]}]);
                let all = if case["steps"].is_array() { &case["steps"] } else { &alone };
                let name = case["name"].as_str().unwrap();
                let named = all.as_array().unwrap().iter().map(|s| (name.to_owned(), s.clone()));
                steps.extend(named.filter(|(_, step)| step["fire"]["from"] == "claude"));
            }
        }
    }
    steps
}

#[test]
fn every_event_has_both_schemas() {
    let whole = TestProject::new().json(&["schema", "claude"]);
    assert_eq!(whole["$schema"], "http://json-schema.org/draft-07/schema#");
    let events = whole["events"].as_object().unwrap();
    assert_eq!(events.len(), 33);
    for (name, event) in events {
        assert_eq!(event["input"]["properties"]["hook_event_name"]["const"], **name);
        let common = ["hook_event_name", "session_id", "transcript_path", "cwd"];
        let required = event["input"]["required"].as_array().unwrap();
        assert!(
            common.iter().all(|field| required.contains(&json!(field))),
            "{name}: {required:?}"
        );
        assert_eq!(event["input"]["additionalProperties"], true);
        let own = &event["output"]["properties"]["hookSpecificOutput"];
        assert_eq!(own["properties"]["hookEventName"]["const"], **name);
    }
}

#[test]
fn prints_the_schemas_of_one_event() {
    let project = TestProject::new();
    let both = project.json(&["schema", "claude", "PreToolUse"]);
    assert_eq!(both["input"], project.json(&["schema", "claude", "PreToolUse", "--input"]));
    assert_eq!(both["output"], project.json(&["schema", "claude", "PreToolUse", "--output"]));
    assert_ne!(both["input"], both["output"]);
}

#[test]
fn refuses_wrong_arguments() {
    let project = TestProject::new();
    for args in [
        &["schema"][..],
        &["schema", "cobol"],
        &["schema", "claude", "PreEverything"],
        &["schema", "claude", "--input"],
        &["schema", "unified", "PreToolUse"],
        &["schema", "claude", "Stop", "--input", "--output"],
    ] {
        let output = project.run(args, b"");
        assert_eq!(output.status.code(), Some(64), "{args:?}: {}", text(&output.stdout));
        assert!(output.stdout.is_empty() && !output.stderr.is_empty(), "{args:?}");
    }
}

#[test]
fn matches_the_schemas_in_the_repository() {
    let project = TestProject::new();
    let whole = project.json(&["schema", "claude"]);
    let folder = repository().join("schemas/claude");
    let events = whole["events"].as_object().unwrap();
    for (name, event) in events {
        for way in ["input", "output"] {
            let path = folder.join(format!("{name}.{way}.json"));
            let there = std::fs::read_to_string(&path).unwrap_or_default();
            let fresh = format!("{:#}\n", event[way]);
            assert!(there == fresh, "{name}.{way}.json is stale: run cargo xtask schemas");
        }
    }
    assert_eq!(std::fs::read_dir(folder).unwrap().count(), 2 * events.len());
    for name in ["unified", "pipeline", "stage"] {
        let there = std::fs::read(repository().join(format!("schemas/{name}.json"))).unwrap();
        let fresh = project.run(&["schema", name], b"").stdout;
        assert!(there == fresh, "{name}.json is stale: run cargo xtask schemas");
    }
    let served = project.run(&["schema", "claude", "Stop", "--output"], b"").stdout;
    assert_eq!(
        served,
        std::fs::read(repository().join("schemas/claude/Stop.output.json")).unwrap()
    );
}

#[test]
fn samples_match_their_schemas() {
    let project = TestProject::new();
    let whole = project.json(&["schema", "claude"]);
    for (name, schemas) in whole["events"].as_object().unwrap() {
        let sample = project.json(&["sample", "claude", name]);
        let errors = schema_errors(&schemas["input"], &sample, "event");
        assert_eq!(errors, Vec::<String>::new(), "{name}: {sample}");
    }
}

#[test]
fn events_of_cases_match_their_schemas() {
    let whole = TestProject::new().json(&["schema", "claude"]);
    let mut found = Vec::new();
    let mut looked_at = 0;
    for (name, step) in claude_steps() {
        let event = &step["fire"]["event"];
        // An unknown event has no schema.
        let known = event["hook_event_name"].as_str().and_then(|e| whole["events"].get(e));
        let Some(schemas) = known else { continue };
        // A case leaves out fields that it does not test.
        let complaints = schema_errors(&schemas["input"], event, "event").into_iter();
        let complaints = complaints.filter(|complaint| !complaint.ends_with(" is missing"));
        found.extend(complaints.map(|c| format!("{name}: {c}")));
        looked_at += 1;
    }
    for odd in ODD {
        assert!(found.iter().any(|c| c.starts_with(odd)), "fits by now, so it is not odd: {odd}");
    }
    found.retain(|c| !ODD.iter().any(|odd| c.starts_with(odd)));
    assert!(found.is_empty(), "{}", found.join("\n"));
    assert!(looked_at > 100, "only {looked_at} events");
}

#[test]
fn replies_of_cases_match_their_schemas() {
    let whole = TestProject::new().json(&["schema", "claude"]);
    let mut found = Vec::new();
    let mut looked_at = 0;
    for (name, step) in claude_steps() {
        let event = step["fire"]["event"]["hook_event_name"].as_str().unwrap_or_default();
        let reply = &step["expect"]["reply"]["json"];
        let Some(schemas) = whole["events"].get(event).filter(|_| reply.is_object()) else {
            continue;
        };
        let complaints = schema_errors(&schemas["output"], reply, "reply");
        found.extend(complaints.into_iter().map(|c| format!("{name}: {c}")));
        looked_at += 1;
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
    assert!(looked_at > 10, "only {looked_at} replies");
}

#[test]
fn reports_documents_that_do_not_match() {
    let schemas = TestProject::new().json(&["schema", "claude", "PreToolUse"]);
    let event = json!({"hook_event_name": "Stop", "permission_mode": "reckless", "cwd": 1});
    let complaints = schema_errors(&schemas["input"], &event, "event").join("\n");
    for part in ["\"session_id\" is missing", "\"Stop\" is not", "\"reckless\" is none", "1 is not"]
    {
        assert!(complaints.contains(part), "{part}: {complaints}");
    }
    let reply = json!({"decision": "deny", "hookSpecificOutput": {"permissionDecision": "maybe"}});
    let complaints = schema_errors(&schemas["output"], &reply, "reply").join("\n");
    for part in ["\"deny\" is none", "\"maybe\" is none", "\"hookEventName\" is missing"] {
        assert!(complaints.contains(part), "{part}: {complaints}");
    }
}

#[test]
fn events_of_other_callers_match_the_schemas() {
    let foreign = [
        (
            "PreToolUse",
            "omp",
            json!({"type": "tool_call", "toolName": "bash", "toolCallId": "1", "input": {"command": "ls"}}),
        ),
        (
            "PostToolUse",
            "omp",
            json!({"type": "tool_result", "toolName": "read", "toolCallId": "1", "input": {"path": "a"}, "content": [{"type": "text", "text": "b"}], "isError": false}),
        ),
        (
            "PostToolUseFailure",
            "omp",
            json!({"type": "tool_result", "toolName": "read", "toolCallId": "1", "input": {"path": "a"}, "content": [{"type": "text", "text": "gone"}], "isError": true}),
        ),
        ("UserPromptSubmit", "omp", json!({"type": "before_agent_start", "prompt": "go"})),
        (
            "Stop",
            "unified",
            json!({"hook_point": "on_iteration_complete", "vars": {"SESSION": "s"}}),
        ),
        (
            "StopFailure",
            "unified",
            json!({"hook_point": "on_error", "vars": {"SESSION": "s", "ERROR": "odd"}}),
        ),
        ("SessionStart", "iteratr", json!({"hook": "session_start", "vars": {"session": "s"}})),
        ("SessionEnd", "iteratr", json!({"hook": "session_end", "vars": {"session": "s"}})),
        (
            "TaskCompleted",
            "teams",
            json!({"event": "task_completed", "team": {"id": "t"}, "member": "m", "task": {"id": "1", "subject": "x", "status": "completed"}}),
        ),
        ("TeammateIdle", "teams", json!({"event": "idle", "team": {"id": "t"}, "member": "m"})),
        ("PreCompact", "gambrel", json!({"moment": "compact.before", "session": "s", "facts": {}})),
        ("PostCompact", "gambrel", json!({"moment": "compact.after", "session": "s", "facts": {}})),
        (
            "SubagentStart",
            "gambrel",
            json!({"moment": "subagent.start", "session": "s", "facts": {"member": "m"}}),
        ),
        (
            "SubagentStop",
            "gambrel",
            json!({"moment": "subagent.stop", "session": "s", "facts": {"member": "m"}}),
        ),
        ("Notification", "gambrel", json!({"moment": "notification", "session": "s", "facts": {}})),
        (
            "TaskCreated",
            "gambrel",
            json!({"moment": "task.created", "session": "s", "facts": {"task": {"id": "1"}}}),
        ),
        (
            "PermissionRequest",
            "gambrel",
            json!({"moment": "tool.permission", "session": "s", "facts": {"tool": {"kind": "shell", "name": "shell", "input": {"command": "ls"}}}}),
        ),
    ];
    let project = TestProject::new();
    let hooks: serde_json::Map<String, Value> = foreign
        .iter()
        .map(|(event, ..)| {
            let command = format!("cat > input-{event}.json");
            ((*event).to_owned(), json!([{"hooks": [{"type": "command", "command": command}]}]))
        })
        .collect();
    project.file(".claude/settings.json", &json!({"hooks": hooks}).to_string());
    let schemas = project.json(&["schema", "claude"]);
    for (event, from, sent) in foreign {
        project.run(&["fire", "--from", from, "--json"], sent.to_string().as_bytes());
        let input = std::fs::read(project.root.join(format!("input-{event}.json")));
        let input: Value =
            serde_json::from_slice(&input.unwrap_or_else(|e| panic!("{event}: {e}"))).unwrap();
        let complaints = schema_errors(&schemas["events"][event]["input"], &input, event);
        assert!(complaints.is_empty(), "from {from}: {complaints:?}\n{input:#}");
    }
}
