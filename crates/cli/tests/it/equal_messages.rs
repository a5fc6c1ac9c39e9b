//! Equal messages of two firings are both delivered.

use crate::test_project::{TestProject, text};

#[test]
fn delivers_equal_messages_of_two_firings() {
    let project = TestProject::new();
    project.file(
        ".iteratr.hooks.yml",
        r#"{version: 1, hooks: {post_iteration: [{command: "echo tests are red", pipe_output: true}]}}"#,
    );
    let stop = r#"{"hook_event_name":"Stop","session_id":"s","stop_hook_active":false}"#;
    for _ in 0..2 {
        let output = project.run(&["fire", "--from", "claude"], stop.as_bytes());
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    }

    let prompt = r#"{"hook_event_name":"UserPromptSubmit","session_id":"s","prompt":"go on"}"#;
    let reply = project.run(&["fire", "--from", "claude"], prompt.as_bytes());
    let reply = text(&reply.stdout);
    assert_eq!(reply.matches("tests are red").count(), 2, "{reply}");

    let again = project.run(&["fire", "--from", "claude"], prompt.as_bytes());
    assert!(!text(&again.stdout).contains("tests are red"), "{}", text(&again.stdout));
}
