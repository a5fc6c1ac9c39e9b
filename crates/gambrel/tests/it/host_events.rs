//! Events that a Rust host builds reach hooks of every dialect, in their own words.

use gambrel::{Gambrel, HostEvent, Moment, Ruling, Setup, ToolCall, ToolOutput, TrustMode};
use serde_json::{Value, json};

use crate::harness::folder_with_files;

/// A folder whose hooks of Claude Code append what they receive to the file `seen`.
fn recording_host(events: &[&str]) -> (tempfile::TempDir, Gambrel) {
    let hook = json!([{"hooks": [{"type": "command", "command": "cat >> seen"}]}]);
    let hooks = events.iter().map(|event| ((*event).to_owned(), hook.clone()));
    let settings = json!({"hooks": Value::Object(hooks.collect())}).to_string();
    let folder = folder_with_files(&[(".claude/settings.json", &settings)]);
    let mut setup = Setup::in_memory(folder.path());
    setup.options.trust = TrustMode::All;
    (folder, Gambrel::new(setup))
}

fn seen(folder: &tempfile::TempDir) -> Vec<Value> {
    let text = std::fs::read_to_string(folder.path().join("seen")).unwrap_or_default();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn each_event_reaches_its_hooks() {
    let names = [
        "SessionStart",
        "UserPromptSubmit",
        "PreToolUse",
        "PostToolUse",
        "PostToolUseFailure",
        "TaskCompleted",
        "Stop",
        "SessionEnd",
    ];
    let (folder, gambrel) = recording_host(&names);
    let call = ToolCall::new("bash", json!({"command": "make"})).with_id("7");
    let events = [
        HostEvent::session_start("s", "startup"),
        HostEvent::prompt("s", "fix the parser"),
        HostEvent::tool_before("s", &call),
        HostEvent::tool_after("s", &call, &ToolOutput::text("done")),
        HostEvent::tool_failed("s", &call, "no rule to make target"),
        HostEvent::task_completed("s", "3", "parser").with_iteration(2),
        HostEvent::iteration_end("s").with_iteration(2),
        HostEvent::session_end("s", "other"),
    ];
    for event in &events {
        let fired = gambrel.fire_event(event).unwrap();
        assert_eq!(fired.decision.merged.ruling, Ruling::Silent, "{event:?}");
        assert_eq!(fired.decision.complaints, [], "{event:?}");
    }
    let seen = seen(&folder);
    let received: Vec<&str> =
        seen.iter().map(|event| event["hook_event_name"].as_str().unwrap()).collect();
    assert_eq!(received, names);
    assert!(seen.iter().all(|event| event["session_id"] == "s"), "{seen:?}");
    assert_eq!(seen[0]["source"], "startup");
    assert_eq!(seen[1]["prompt"], "fix the parser");
    assert_eq!(seen[2]["tool_name"], "Bash");
    assert_eq!(seen[2]["tool_input"]["command"], "make");
    assert_eq!(seen[2]["tool_use_id"], "7");
    assert!(seen[3]["tool_response"].to_string().contains("done"), "{}", seen[3]);
    assert!(seen[4].to_string().contains("no rule to make target"), "{}", seen[4]);
    assert_eq!(seen[5]["task_subject"], "parser");
}

#[test]
fn facts_without_a_method_are_set_by_hand() {
    let event = HostEvent::new(Moment::Notification, "s")
        .with_facts(|facts| facts.cause = Some("idle".into()))
        .in_folder("/tmp")
        .with_stage("build")
        .with_var("TICKET", "42");
    let expected = json!({"moment": "notification", "session": "s", "cwd": "/tmp",
        "facts": {"cause": "idle", "stage": "build", "vars": {"TICKET": "42"}}});
    assert_eq!(event.to_json(), expected);
}
