//! What people and agents read about the board: messages of hooks for the user, and a board of a newer
//! version.

use std::os::unix::fs::FileExt;

use serde_json::{Value, json};

use crate::mcp_client::McpClient;
use crate::run_fixture::{project_with_stage, run_to};
use crate::test_project::{TestProject, text};

/// Hooks of Claude Code that tell the user something at a new and at a completed task. The second
/// one refuses while the file `refuse` exists.
fn project_with_messages() -> TestProject {
    let project = TestProject::new();
    let hook = |message: &str, more: &str| {
        let answer = json!({"systemMessage": message}).to_string();
        json!({"hooks": [{"type": "command", "command": format!("{more} echo '{answer}'")}]})
    };
    let refuse = "[ ! -e refuse ] || { echo '{\"systemMessage\":\"look at CI\",\
                  \"continue\":false,\"stopReason\":\"tests are red\"}'; exit 0; };";
    let settings = json!({"hooks": {
        "TaskCreated": [hook("a new task", "")],
        "TaskCompleted": [hook("tests are green", refuse)],
    }});
    project.file(".claude/settings.json", &settings.to_string());
    project
}

#[test]
fn the_command_line_shows_messages_for_the_user() {
    let project = project_with_messages();
    let added = project.run(&["task", "add", "Write it", "--json"], b"");
    assert_eq!(text(&added.stderr).matches("a new task").count(), 1, "{}", text(&added.stderr));
    let added: Value = serde_json::from_slice(&added.stdout).unwrap();
    assert_eq!(added["messages"], json!(["a new task"]));

    project.file("refuse", "");
    let refused = project.run(&["task", "done", "1"], b"");
    assert_eq!(refused.status.code(), Some(1));
    let shown = text(&refused.stderr);
    assert!(shown.contains("tests are red") && shown.contains("look at CI"), "{shown}");
    std::fs::remove_file(project.root.join("refuse")).unwrap();

    let done = project.run(&["task", "done", "1"], b"");
    assert_eq!(done.status.code(), Some(0));
    assert!(text(&done.stderr).contains("tests are green"), "{}", text(&done.stderr));
    // A change without hooks has no such key.
    let changed = project.json(&["task", "update", "1", "--priority", "1", "--json"]);
    assert_eq!(changed.get("messages"), None);
}

#[test]
fn answers_of_tools_contain_messages_for_the_user() {
    let project = project_with_messages();
    let mut client = McpClient::in_session(&project, "night");
    let tasks = json!([{"content": "one"}, {"content": "two", "status": "in_progress"}]);
    let added = client.call("task-add", json!({"tasks": tasks}));
    assert_eq!(added["added"][0]["messages"], json!(["a new task"]));
    assert_eq!(added["added"][1]["messages"], json!(["a new task"]));
    assert_eq!(added["added"][1]["status"], "in_progress");
    project.file("refuse", "");
    let refused = client.refused_status("TAS-2", "completed");
    assert!(refused.contains("tests are red") && refused.contains("look at CI"), "{refused}");
    std::fs::remove_file(project.root.join("refuse")).unwrap();
    assert_eq!(client.set_status("TAS-2", "completed")["messages"], json!(["tests are green"]));
    assert_eq!(client.set_status("TAS-2", "completed").get("messages"), None);
}

#[test]
fn a_run_shows_messages_about_the_tasks_of_its_agent() {
    let project = project_with_stage("termination: {type: fixed, iterations: 1}");
    let source = project_with_messages();
    let settings = std::fs::read_to_string(source.root.join(".claude/settings.json")).unwrap();
    project.file(".claude/settings.json", &settings);
    project.file(
        "turns.yaml",
        "turns:\n  - tools: [{tool: mcp__gambrel__task-add, args: {tasks: [{content: one}]}}]\n",
    );
    let output = run_to(&project, &["work", "--agent", "script:turns.yaml"], 0);
    let shown = text(&output.stderr);
    assert_eq!(shown.matches("note: a new task").count(), 1, "{shown}");
}

/// The place of SQLite's `user_version` in a database.
const USER_VERSION_OFFSET: u64 = 60;

#[test]
fn a_board_of_a_newer_version_is_refused_with_a_remedy() {
    let project = TestProject::new();
    let mut client = McpClient::in_session(&project, "night");
    client.add("one");
    client.wait_for_end();
    let path = project.base.join("state/boards.db");
    let before = std::fs::read(&path).unwrap();
    let file = std::fs::File::options().write(true).open(&path).unwrap();
    file.write_all_at(&900_u32.to_be_bytes(), USER_VERSION_OFFSET).unwrap();
    drop(file);
    let newer = std::fs::read(&path).unwrap();

    let remedy = "it was written by a newer gambrel; use that one, or move the file away";
    for args in [&["task", "list"][..], &["task", "add", "two"], &["task", "done", "1"]] {
        let output = project.run(args, b"");
        assert_eq!(output.status.code(), Some(1), "{args:?}");
        let shown = text(&output.stderr);
        assert!(shown.contains(remedy) && shown.contains("boards.db"), "{args:?}: {shown}");
        assert_eq!(text(&output.stdout), "", "{args:?}");
    }
    let mut client = McpClient::in_session(&project, "night");
    for (tool, args) in [
        ("task-list", json!({})),
        ("task-add", json!({"tasks": [{"content": "two"}]})),
        ("task-update", json!({"id": "TAS-1", "status": "completed"})),
        ("note-add", json!({"content": "x"})),
        ("session-complete", json!({})),
    ] {
        let refused = client.refusal(tool, args);
        assert!(refused.starts_with("error: ") && refused.contains(remedy), "{tool}: {refused}");
        assert!(refused.contains("boards.db"), "{tool}: {refused}");
    }
    assert_eq!(std::fs::read(&path).unwrap(), newer, "the newer board is not changed");

    // The version that wrote it reads it again, and the same server goes on.
    std::fs::write(&path, before).unwrap();
    let listed = client.call("task-list", json!({}));
    assert_eq!(listed["tasks"].as_array().unwrap().len(), 1, "{listed}");
}
