//! Context that is too large even to be held: the agent gets its beginning, and the file that it is
//! told of has every byte.

use serde_json::{Value, json};

use crate::ground::{Ground, text};

/// What a prompt is told where `talk.sh` is the hook.
fn prompted(ground: &Ground) -> Vec<u8> {
    let hook = json!({"type": "command", "command": "./talk.sh"});
    let settings = json!({"hooks": {"UserPromptSubmit": [{"hooks": [hook]}]}});
    ground.file(".claude/settings.json", &settings.to_string());
    let event = r#"{"hook_event_name":"UserPromptSubmit","session_id":"s","prompt":"hi"}"#;
    ground.run(&["fire", "--from", "claude"], event.as_bytes()).stdout
}

#[test]
fn twenty_megabytes_of_context_are_in_the_file_that_is_named() {
    let ground = Ground::new();
    ground.script(
        "talk.sh",
        "#!/bin/sh\ncat >/dev/null\nhead -c 20000000 /dev/zero | tr '\\0' x\necho END\n",
    );
    let reply: Value = serde_json::from_slice(&prompted(&ground)).unwrap();
    let told = reply["hookSpecificOutput"]["additionalContext"].as_str().unwrap();
    let (preview, note) = told.split_once("\n… (20000004 bytes; all of it: ").unwrap();
    assert_eq!(preview, "x".repeat(2_000));
    let all = std::fs::read(note.strip_suffix(')').unwrap()).unwrap();
    assert_eq!(text(&all), "x".repeat(20_000_000) + "END\n");
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
    prompted(&ground);
    let folder = ground.base.join("state/tool-results");
    let mode = std::os::unix::fs::MetadataExt::mode(&std::fs::metadata(&folder).unwrap());
    assert_eq!(mode & 0o777, 0o700);
    let file = std::fs::read_dir(folder).unwrap().next().unwrap().unwrap().path();
    let kept = std::fs::read_to_string(file).unwrap();
    let end = kept.trim_start_matches('x').trim();
    assert_eq!(end, "[redacted:DB_PASSWORD] [redacted:HOOK_KEY] END");
}

#[test]
fn the_log_of_a_team_hook_has_no_secrets_in_it_and_stays_json() {
    let ground = Ground::new()
        .with("DB_PASSWORD", "hunter2-hunter2")
        .with("PIN_TOKEN", "7355608")
        .with("PI_TEAMS_HOOKS_ENABLED", "1");
    let hooks = ground.base.join("hooks");
    let ground = ground.with("PI_TEAMS_HOOKS_DIR", hooks.to_str().unwrap());
    ground.script("../hooks/on_task_completed.sh", "#!/bin/sh\necho $DB_PASSWORD END\n");
    let team = ground.base.join("team");
    let event = json!({"version": 1, "event": "task_completed",
        "team": {"id": "t", "dir": team, "taskListId": "l", "style": "normal"},
        "task": {"id": "1", "subject": "s", "status": "completed", "metadata": {"n": 7_355_608}}});
    ground.run(&["fire", "--from", "teams"], event.to_string().as_bytes());
    let log = std::fs::read_dir(team.join("hook-logs")).unwrap().next().unwrap().unwrap().path();
    let log: Value = serde_json::from_slice(&std::fs::read(log).unwrap()).unwrap();
    assert_eq!(log["result"]["stdout"], "[redacted:DB_PASSWORD] END\n", "{log}");
    assert!(!log.to_string().contains("7355608"), "{log}");
}
