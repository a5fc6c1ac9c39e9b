//! Context that is too large even to be held: the agent gets its beginning, and the file that it is
//! told of has every byte.

use serde_json::{Value, json};

use crate::ground::{Ground, text};

#[test]
fn three_megabytes_of_context_are_in_the_file_that_is_named() {
    let ground = Ground::new();
    ground.script(
        "talk.sh",
        "#!/bin/sh\ncat >/dev/null\nhead -c 3000000 /dev/zero | tr '\\0' x\necho END\n",
    );
    let hook = json!({"type": "command", "command": "./talk.sh"});
    let settings = json!({"hooks": {"UserPromptSubmit": [{"hooks": [hook]}]}});
    ground.file(".claude/settings.json", &settings.to_string());
    let event = r#"{"hook_event_name":"UserPromptSubmit","session_id":"s","prompt":"hi"}"#;
    let output = ground.run(&["fire", "--from", "claude"], event.as_bytes());
    let reply: Value = serde_json::from_slice(&output.stdout).unwrap();
    let told = reply["hookSpecificOutput"]["additionalContext"].as_str().unwrap();
    let (preview, note) = told.split_once("\n… (3000004 bytes; all of it: ").unwrap();
    assert_eq!(preview, "x".repeat(2_000));
    let all = std::fs::read(note.strip_suffix(')').unwrap()).unwrap();
    assert_eq!(text(&all), "x".repeat(3_000_000) + "END\n");
}
