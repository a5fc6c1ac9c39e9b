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

#[test]
fn what_is_kept_of_it_has_no_secrets_in_it_and_is_for_the_user_alone() {
    let ground = Ground::new().with("DB_PASSWORD", "hunter2-hunter2");
    let secrets = ground.base.join("home/.config/gambrel/secrets.env");
    std::fs::create_dir_all(secrets.parent().unwrap()).unwrap();
    std::fs::write(secrets, "HOOK_KEY=kept-in-a-file\n").unwrap();
    ground.script(
        "talk.sh",
        "#!/bin/sh\ncat >/dev/null\nhead -c 12000 /dev/zero | tr '\\0' x\necho $DB_PASSWORD kept-in-a-file END\n",
    );
    let hook = json!({"type": "command", "command": "./talk.sh"});
    let settings = json!({"hooks": {"UserPromptSubmit": [{"hooks": [hook]}]}});
    ground.file(".claude/settings.json", &settings.to_string());
    let event = r#"{"hook_event_name":"UserPromptSubmit","session_id":"s","prompt":"hi"}"#;
    ground.run(&["fire", "--from", "claude"], event.as_bytes());
    let folder = ground.base.join("state/tool-results");
    let mode = std::os::unix::fs::MetadataExt::mode(&std::fs::metadata(&folder).unwrap());
    assert_eq!(mode & 0o777, 0o700);
    let file = std::fs::read_dir(folder).unwrap().next().unwrap().unwrap().path();
    let kept = std::fs::read_to_string(file).unwrap();
    let end = kept.trim_start_matches('x').trim();
    assert_eq!(end, "[redacted:DB_PASSWORD] [redacted:HOOK_KEY] END");
}
