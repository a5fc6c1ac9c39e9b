//! Context above the memory limit: the agent receives its beginning and the path of a file with
//! every byte.

use serde_json::{Value, json};

use crate::test_project::{TestProject, text};

/// Submits a prompt with the hook `talk.sh`, and returns the reply.
fn submit_prompt(project: &TestProject) -> Vec<u8> {
    let hook = json!({"type": "command", "command": "./talk.sh"});
    let settings = json!({"hooks": {"UserPromptSubmit": [{"hooks": [hook]}]}});
    project.file(".claude/settings.json", &settings.to_string());
    let event = r#"{"hook_event_name":"UserPromptSubmit","session_id":"s","prompt":"hi"}"#;
    project.run(&["fire", "--from", "claude"], event.as_bytes()).stdout
}

#[test]
fn stores_twenty_megabytes_of_context_in_a_file() {
    let project = TestProject::new();
    project.script(
        "talk.sh",
        "#!/bin/sh\ncat >/dev/null\nhead -c 20000000 /dev/zero | tr '\\0' x\necho END\n",
    );
    let reply: Value = serde_json::from_slice(&submit_prompt(&project)).unwrap();
    let context = reply["hookSpecificOutput"]["additionalContext"].as_str().unwrap();
    let (preview, note) = context.split_once("\n… (20000004 bytes; all of it: ").unwrap();
    assert_eq!(preview, "x".repeat(2_000));
    let all = std::fs::read(note.strip_suffix(')').unwrap()).unwrap();
    assert_eq!(text(&all), "x".repeat(20_000_000) + "END\n");
}

#[test]
fn redacts_stored_context_and_keeps_it_private() {
    let project = TestProject::new().with("DB_PASSWORD", "hunter2-hunter2");
    let secrets = project.base.join("home/.config/gambrel/secrets.env");
    std::fs::create_dir_all(secrets.parent().unwrap()).unwrap();
    std::fs::write(secrets, "HOOK_KEY=kept-in-a-file\n").unwrap();
    project.script(
        "talk.sh",
        "#!/bin/sh\ncat >/dev/null\nhead -c 12000 /dev/zero | tr '\\0' x\necho $DB_PASSWORD kept-in-a-file END\n",
    );
    submit_prompt(&project);
    let folder = project.base.join("state/tool-results");
    let mode = std::os::unix::fs::MetadataExt::mode(&std::fs::metadata(&folder).unwrap());
    assert_eq!(mode & 0o777, 0o700);
    let file = std::fs::read_dir(folder).unwrap().next().unwrap().unwrap().path();
    let kept = std::fs::read_to_string(file).unwrap();
    let end = kept.trim_start_matches('x').trim();
    assert_eq!(end, "[redacted:DB_PASSWORD] [redacted:HOOK_KEY] END");
}

#[test]
fn redacts_team_hook_logs_and_keeps_them_json() {
    let project = TestProject::new()
        .with("DB_PASSWORD", "hunter2-hunter2")
        .with("PIN_TOKEN", "7355608")
        .with("PI_TEAMS_HOOKS_ENABLED", "1");
    let hooks = project.base.join("hooks");
    let project = project.with("PI_TEAMS_HOOKS_DIR", hooks.to_str().unwrap());
    project.script("../hooks/on_task_completed.sh", "#!/bin/sh\necho $DB_PASSWORD END\n");
    let team = project.base.join("team");
    let event = json!({"version": 1, "event": "task_completed",
        "team": {"id": "t", "dir": team, "taskListId": "l", "style": "normal"},
        "task": {"id": "1", "subject": "s", "status": "completed", "metadata": {"n": 7_355_608}}});
    project.run(&["fire", "--from", "teams"], event.to_string().as_bytes());
    let log = std::fs::read_dir(team.join("hook-logs")).unwrap().next().unwrap().unwrap().path();
    let log: Value = serde_json::from_slice(&std::fs::read(log).unwrap()).unwrap();
    assert_eq!(log["result"]["stdout"], "[redacted:DB_PASSWORD] END\n", "{log}");
    assert!(!log.to_string().contains("7355608"), "{log}");
}
