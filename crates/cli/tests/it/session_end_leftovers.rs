//! The end of a session waits only briefly. Detached work may take longer, and the journal records
//! a process that is killed long after its firing.

use serde_json::json;

use crate::test_project::{TestProject, processes_naming, wait_until};

const END: &str = r#"{"hook_event_name":"SessionEnd","session_id":"s","reason":"clear"}"#;

fn write_session_end_hook(project: &TestProject, hook: &serde_json::Value) {
    let settings = json!({"hooks": {"SessionEnd": [{"hooks": [hook]}]}});
    project.file(".claude/settings.json", &settings.to_string());
}

#[test]
fn an_async_hook_finishes() {
    let project = TestProject::new();
    write_session_end_hook(
        &project,
        &json!({"type": "command", "command": "sleep 2.5; echo x > done", "async": true}),
    );
    let decision = project.decide("claude", END);
    assert_eq!(decision["trail"][0]["outcome"], "detached");
    wait_until("it has done its work", || project.root.join("done").exists());
}

#[test]
fn lets_background_processes_finish() {
    let project = TestProject::new();
    let command = "nohup sh -c 'sleep 2.5; echo x > done' >/dev/null 2>&1 &";
    write_session_end_hook(&project, &json!({"type": "command", "command": command}));
    for budget in [&["--budget", "2"][..], &[]] {
        let args = [&["fire", "--from", "claude"], budget].concat();
        project.run(&args, END.as_bytes());
        wait_until("it has done its work", || project.root.join("done").exists());
        std::fs::remove_file(project.root.join("done")).unwrap();
    }
}

#[test]
fn records_processes_killed_at_the_hooks_timeout() {
    let project = TestProject::new();
    let path = project.script("stay.sh", "#!/bin/sh\nsleep 300 & wait\n");
    let command = format!("'{}' >/dev/null 2>&1 &", path.display());
    write_session_end_hook(&project, &json!({"type": "command", "command": command, "timeout": 2}));
    let decision = project.decide("claude", END);
    let step = &decision["trail"][0];
    assert_eq!(step["outcome"], "exited", "{step}");
    assert!(step["why"].as_str().unwrap().contains("leak: "), "{step}");
    let id = decision["id"].as_str().unwrap();
    let late = || project.json(&["show", id, "--json"])["late"][0].clone();
    wait_until("it is recorded", || late()["outcome"] == "leak");
    assert_eq!(late()["hook"], step["hook"]);
    assert!(late()["remarks"][0].as_str().unwrap().contains("killed"), "{}", late());
    wait_until("and gone", || processes_naming(&path).is_empty());
}
