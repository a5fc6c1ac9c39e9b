//! The end of a session waits a moment only; what nobody waits for may take longer, and a process
//! that is killed long after its hook's firing is on record.

use serde_json::json;

use crate::ground::{Ground, processes_naming, until};

const END: &str = r#"{"hook_event_name":"SessionEnd","session_id":"s","reason":"clear"}"#;

fn at_the_end(ground: &Ground, hook: &serde_json::Value) {
    let settings = json!({"hooks": {"SessionEnd": [{"hooks": [hook]}]}});
    ground.file(".claude/settings.json", &settings.to_string());
}

#[test]
fn an_async_hook_finishes() {
    let ground = Ground::new();
    at_the_end(
        &ground,
        &json!({"type": "command", "command": "sleep 2.5; echo x > done", "async": true}),
    );
    let decision = ground.decide("claude", END);
    assert_eq!(decision["trail"][0]["outcome"], "detached");
    until("it has done its work", || ground.root.join("done").exists());
}

#[test]
fn what_a_hook_leaves_running_finishes() {
    let ground = Ground::new();
    let command = "nohup sh -c 'sleep 2.5; echo x > done' >/dev/null 2>&1 &";
    at_the_end(&ground, &json!({"type": "command", "command": command}));
    for budget in [&["--budget", "2"][..], &[]] {
        let args = [&["fire", "--from", "claude"], budget].concat();
        ground.run(&args, END.as_bytes());
        until("it has done its work", || ground.root.join("done").exists());
        std::fs::remove_file(ground.root.join("done")).unwrap();
    }
}

#[test]
fn what_is_killed_at_the_hooks_own_time_is_on_record() {
    let ground = Ground::new();
    let path = ground.script("stay.sh", "#!/bin/sh\nsleep 300 & wait\n");
    let command = format!("'{}' >/dev/null 2>&1 &", path.display());
    at_the_end(&ground, &json!({"type": "command", "command": command, "timeout": 2}));
    let decision = ground.decide("claude", END);
    let step = &decision["trail"][0];
    assert_eq!(step["outcome"], "exited", "{step}");
    assert!(step["why"].as_str().unwrap().contains("leak: "), "{step}");
    let id = decision["id"].as_str().unwrap();
    let late = || ground.json(&["show", id, "--json"])["late"][0].clone();
    until("it is recorded", || late()["outcome"] == "leak");
    assert_eq!(late()["hook"], step["hook"]);
    assert!(late()["remarks"][0].as_str().unwrap().contains("killed"), "{}", late());
    until("and gone", || processes_naming(&path).is_empty());
}
