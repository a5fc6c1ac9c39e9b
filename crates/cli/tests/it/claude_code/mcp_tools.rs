//! Claude Code calls the tools of the task board after `install claude --mcp`.

use serde_json::{Value, json};

use super::session::Session;
use super::versions::in_each_version;

const ARGS: [&str; 8] = [
    "--mcp-config",
    ".mcp.json",
    "--strict-mcp-config",
    "--permission-mode",
    "default",
    "--allowedTools",
    "mcp__gambrel__task-add",
    "mcp__gambrel__task-update",
];

#[test]
fn the_model_works_on_the_board() {
    in_each_version(|claude| {
        let session = Session::new(claude);
        let hook = "[ -e report.txt ] || { echo 'no report.txt' >&2; exit 2; }";
        let hook = json!({"type": "command", "command": hook});
        let settings = json!({"hooks": {"TaskCompleted": [{"hooks": [hook]}]}});
        session.project.file(".claude/settings.json", &settings.to_string());
        session.gambrel(&["install", "claude", "--mcp"]);
        session.gambrel(&["trust", "--all", "--yes"]);
        let update = |id: &str, status: &str| {
            ("mcp__gambrel__task-update", json!({"id": id, "status": status}))
        };
        let tasks = json!([{"content": "Write the report"}, {"content": "Read it", "priority": 0}]);
        let answer = session.prompt_calls(
            vec![
                ("mcp__gambrel__task-add", json!({"tasks": tasks})),
                update("TAS-2", "in_progress"),
                update("TAS-1", "in_progress"),
                update("TAS-2", "completed"),
            ],
            &ARGS,
        );
        let listed = session.gambrel(&["task", "list", "--json"]);
        let listed: Value = serde_json::from_slice(&listed.stdout).unwrap();
        let board: Vec<_> = listed.as_array().unwrap().iter().collect();
        assert_eq!(board.len(), 2, "{answer}");
        assert_eq!(board[0]["subject"], "Write the report", "{answer}");
        assert_eq!(board[0]["status"], "pending", "{answer}");
        assert_eq!(board[1]["status"], "in_progress", "{answer}");
        let busy = "error: TAS-2 is in progress: only one task may be";
        assert!(answer.tool_result(2).contains(busy), "{answer}");
        let refused = answer.tool_result(3);
        assert!(refused.contains("error: ") && refused.contains("no report.txt"), "{answer}");

        session.project.file("report.txt", "done\n");
        let answer = session.prompt_calls(vec![update("TAS-2", "completed")], &ARGS);
        let shown = session.gambrel(&["task", "show", "2", "--json"]);
        let shown: Value = serde_json::from_slice(&shown.stdout).unwrap();
        assert_eq!(shown["status"], "completed", "{answer}");
    });
}
