//! An agent of the Agent Client Protocol finds the task board as a server in its session.

use serde_json::json;

use crate::acp_fixture::{acp_project_with, add_command, lines, received, run_acp};
use crate::run_fixture::run_folder;

#[test]
fn the_agent_adds_a_task_that_is_refused_and_then_completed() {
    let call = |name: &str, arguments| json!({"name": name, "arguments": arguments});
    let done = json!({"id": "1", "status": "completed"});
    let first = json!([
        call("task-add", json!({"tasks": [{"content": "write the parser"}]})),
        call("task-update", json!({"id": "1", "status": "in_progress"})),
        call("task-update", done.clone()),
    ]);
    let second = json!([call("task-update", done)]);
    let script = json!({
        "prompts": [[]],
        "iterations": {"1": [[{"tools": first}]], "2": [[{"tools": second}]]},
    });
    let project = acp_project_with(2, "", &script);
    add_command(
        &project,
        "TaskCompleted",
        "test -e seen || { touch seen; echo tests are missing >&2; exit 2; }",
    );
    run_acp(&project, 0);
    let server = &received(&project, "session/new")[0]["params"]["mcpServers"][0];
    let folder = run_folder(&project, "work");
    for variable in [
        json!({"name": "GAMBREL_SESSION", "value": "work"}),
        json!({"name": "GAMBREL_RUN_DIR", "value": folder}),
    ] {
        assert!(server["env"].as_array().unwrap().contains(&variable), "{server}");
    }
    let answers = lines(&project, "tool-answers");
    assert_eq!(answers.len(), 4, "{answers:?}");
    assert!(answers[2].starts_with("error: ") && answers[2].contains("tests are missing"));
    let tasks = project.json(&["task", "list", "--json"]);
    assert_eq!(tasks[0]["status"], "completed", "{tasks}");
    assert_eq!(tasks[0]["subject"], "write the parser", "{tasks}");
}
