//! The three hooks of `examples/document-driven`, and the faults that their originals had.

use std::path::Path;

use serde_json::{Value, json};

use crate::test_project::{TestProject, text};

fn example_project() -> TestProject {
    let project = TestProject::new();
    let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/document-driven/.");
    let copied =
        std::process::Command::new("cp").arg("-r").arg(example).arg(&project.root).status();
    assert!(copied.unwrap().success());
    project
}

fn fire(project: &TestProject, event: &Value) -> Value {
    let output = project.run(&["fire", "--from", "claude"], event.to_string().as_bytes());
    assert!(output.status.success(), "{}", text(&output.stderr));
    if output.stdout.is_empty() {
        Value::Null
    } else {
        serde_json::from_slice(&output.stdout).unwrap()
    }
}

fn submit_prompt(project: &TestProject, prompt: &str) -> String {
    let event = json!({"hook_event_name": "UserPromptSubmit", "session_id": "s", "prompt": prompt});
    let reply = fire(project, &event);
    reply["hookSpecificOutput"]["additionalContext"].as_str().unwrap_or_default().to_owned()
}

fn start_session(project: &TestProject) -> String {
    let event = json!({"hook_event_name": "SessionStart", "session_id": "s", "source": "startup"});
    let reply = fire(project, &event);
    reply["hookSpecificOutput"]["additionalContext"].as_str().unwrap_or_default().to_owned()
}

#[test]
fn lists_files_at_session_start() {
    let project = example_project();
    let context = start_session(&project);
    assert!(
        context.contains("3. PRD.md") && context.contains("4. epics/EPIC-01-first.md"),
        "{context}"
    );
    project.file("PRD.md", "Version: 0.6\n");
    assert!(!start_session(&project).contains("4. "));
    project.file("PRD.md", "**Version**: 0.10.2\n");
    assert!(start_session(&project).contains("4. epics"));
}

#[test]
fn reports_a_sparse_epic() {
    // The original hook failed silently in this case.
    let context = submit_prompt(&example_project(), "please start epic 1");
    assert!(context.contains("sparse") && context.contains("EPIC-01-first.md"), "{context}");
}

#[test]
fn reads_prompts_with_quotation_marks() {
    let context = submit_prompt(&example_project(), "he said \"go\" \\ so start EPIC-01 now");
    assert!(context.contains("sparse"), "{context}");
    for phrase in ["start\nepic 1", "begin epic_01", "work on Epic #1"] {
        assert!(submit_prompt(&example_project(), phrase).contains("sparse"), "{phrase}");
    }
}

#[test]
fn classifies_epics() {
    let project = example_project();
    assert!(submit_prompt(&project, "implement epic 9").contains("no file"));
    project.file("epics/EPIC-02.md", &"word ".repeat(4_000));
    assert!(submit_prompt(&project, "implement epic 2").contains("dense"));
    let ids: String = (1..=11).map(|n| format!("API-{n} ")).collect();
    project.file("epics/EPIC-03.md", &ids);
    assert!(submit_prompt(&project, "gate check for epic 3").contains("broad: 11"));
    project.file("epics/EPIC-04.md", "API-1 says all there is to say");
    assert_eq!(submit_prompt(&project, "implement epic 4"), "");
    assert_eq!(submit_prompt(&project, "what is the weather"), "");
}

fn stop_session(project: &TestProject, lines: &[Value], active: bool) -> Value {
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    let path = project.file("transcript.jsonl", &text);
    fire(
        project,
        &json!({"hook_event_name": "Stop", "session_id": "s", "transcript_path": path, "stop_hook_active": active}),
    )
}

fn user_line(text: &str) -> Value {
    json!({"type": "user", "message": {"role": "user", "content": text}})
}

fn edit_line(path: &str) -> Value {
    json!({"type": "assistant", "message": {"content": [{"type": "tool_use", "name": "Edit", "input": {"file_path": path}}]}})
}

#[test]
fn a_stop_without_edits_is_silent() {
    // The original found ".js" in "transcript.jsonl" and fired at every stop.
    let project = example_project();
    assert_eq!(
        stop_session(
            &project,
            &[user_line("hi"), edit_line("notes.jsonl"), edit_line("README.md")],
            false
        ),
        Value::Null
    );
}

#[test]
fn reminds_at_a_stop_after_edits() {
    let project = example_project();
    let reply = stop_session(
        &project,
        &[user_line("hi"), edit_line("src/a \\\"b\\\".rs"), edit_line("src/app.js")],
        false,
    );
    let message = reply["systemMessage"].as_str().unwrap();
    assert!(message.contains("src/app.js") && message.contains("2 files"), "{message}");
}

#[test]
fn ignores_edits_of_an_earlier_turn() {
    let project = example_project();
    assert_eq!(
        stop_session(
            &project,
            &[user_line("hi"), edit_line("src/a.rs"), user_line("thanks")],
            false
        ),
        Value::Null
    );
    assert_eq!(
        stop_session(&project, &[user_line("hi"), edit_line("src/a.rs")], true),
        Value::Null
    );
}
