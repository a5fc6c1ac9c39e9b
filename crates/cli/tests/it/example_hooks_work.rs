//! The three hooks of `examples/document-driven`, and the faults that their originals had.

use std::path::Path;

use serde_json::{Value, json};

use crate::ground::{Ground, text};

fn ground() -> Ground {
    let ground = Ground::new();
    let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/document-driven/.");
    let copied = std::process::Command::new("cp").arg("-r").arg(example).arg(&ground.root).status();
    assert!(copied.unwrap().success());
    ground
}

fn fire(ground: &Ground, event: &Value) -> Value {
    let output = ground.run(&["fire", "--from", "claude"], event.to_string().as_bytes());
    assert!(output.status.success(), "{}", text(&output.stderr));
    if output.stdout.is_empty() {
        Value::Null
    } else {
        serde_json::from_slice(&output.stdout).unwrap()
    }
}

fn prompt(ground: &Ground, prompt: &str) -> String {
    let event = json!({"hook_event_name": "UserPromptSubmit", "session_id": "s", "prompt": prompt});
    let reply = fire(ground, &event);
    reply["hookSpecificOutput"]["additionalContext"].as_str().unwrap_or_default().to_owned()
}

fn start(ground: &Ground) -> String {
    let event = json!({"hook_event_name": "SessionStart", "session_id": "s", "source": "startup"});
    let reply = fire(ground, &event);
    reply["hookSpecificOutput"]["additionalContext"].as_str().unwrap_or_default().to_owned()
}

#[test]
fn a_session_is_pointed_to_its_files() {
    let ground = ground();
    let told = start(&ground);
    assert!(told.contains("3. PRD.md") && told.contains("4. epics/EPIC-01-first.md"), "{told}");
    ground.file("PRD.md", "Version: 0.6\n");
    assert!(!start(&ground).contains("4. "));
    ground.file("PRD.md", "**Version**: 0.10.2\n");
    assert!(start(&ground).contains("4. epics"));
}

#[test]
fn a_sparse_epic_is_said_to_be() {
    // The original died without a word in exactly this case.
    let told = prompt(&ground(), "please start epic 1");
    assert!(told.contains("sparse") && told.contains("EPIC-01-first.md"), "{told}");
}

#[test]
fn a_quotation_mark_hides_nothing() {
    let told = prompt(&ground(), "he said \"go\" \\ so start EPIC-01 now");
    assert!(told.contains("sparse"), "{told}");
    for phrase in ["start\nepic 1", "begin epic_01", "work on Epic #1"] {
        assert!(prompt(&ground(), phrase).contains("sparse"), "{phrase}");
    }
}

#[test]
fn dense_broad_missing_and_fine_epics() {
    let ground = ground();
    assert!(prompt(&ground, "implement epic 9").contains("no file"));
    ground.file("epics/EPIC-02.md", &"word ".repeat(4_000));
    assert!(prompt(&ground, "implement epic 2").contains("dense"));
    let ids: String = (1..=11).map(|n| format!("API-{n} ")).collect();
    ground.file("epics/EPIC-03.md", &ids);
    assert!(prompt(&ground, "gate check for epic 3").contains("broad: 11"));
    ground.file("epics/EPIC-04.md", "API-1 says all there is to say");
    assert_eq!(prompt(&ground, "implement epic 4"), "");
    assert_eq!(prompt(&ground, "what is the weather"), "");
}

fn stop(ground: &Ground, lines: &[Value], active: bool) -> Value {
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    let path = ground.file("transcript.jsonl", &text);
    fire(
        ground,
        &json!({"hook_event_name": "Stop", "session_id": "s", "transcript_path": path, "stop_hook_active": active}),
    )
}

fn user(text: &str) -> Value {
    json!({"type": "user", "message": {"role": "user", "content": text}})
}

fn edit(path: &str) -> Value {
    json!({"type": "assistant", "message": {"content": [{"type": "tool_use", "name": "Edit", "input": {"file_path": path}}]}})
}

#[test]
fn a_stop_without_edits_is_silent() {
    // The original found ".js" in "transcript.jsonl" and fired at every stop.
    let ground = ground();
    assert_eq!(
        stop(&ground, &[user("hi"), edit("notes.jsonl"), edit("README.md")], false),
        Value::Null
    );
}

#[test]
fn a_stop_after_edits_reminds() {
    let ground = ground();
    let told = stop(&ground, &[user("hi"), edit("src/a \\\"b\\\".rs"), edit("src/app.js")], false);
    let message = told["systemMessage"].as_str().unwrap();
    assert!(message.contains("src/app.js") && message.contains("2 files"), "{message}");
}

#[test]
fn edits_of_an_earlier_turn_do_not_count() {
    let ground = ground();
    assert_eq!(stop(&ground, &[user("hi"), edit("src/a.rs"), user("thanks")], false), Value::Null);
    assert_eq!(stop(&ground, &[user("hi"), edit("src/a.rs")], true), Value::Null);
}
