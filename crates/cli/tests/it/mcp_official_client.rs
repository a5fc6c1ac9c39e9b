//! `gambrel mcp` with the client of the official TypeScript SDK: it lists the tools and calls every
//! one.

use std::process::Command;
use std::time::Duration;

use serde_json::{Value, json};

use crate::external_tools::{find_tool, run_to_end};
use crate::test_project::TestProject;

const SDK: &str = "@modelcontextprotocol/sdk";
const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/fixtures/mcp/call-tools.mjs");
/// Longer than the calls take on a busy machine.
const CLIENT_TIMEOUT: Duration = Duration::from_secs(120);

#[test]
fn the_official_client_calls_every_tool() {
    let Some(sdk) = find_tool(SDK, "the official MCP client") else { return };
    let project = TestProject::new();
    let calls = json!([
        ["task-add", {"tasks": [{"content": "Write it", "priority": 1}]}],
        ["task-next", {}],
        ["task-update", {"id": "TAS-1", "status": "in_progress"}],
        ["session-complete", {}],
        ["task-update", {"id": "TAS-1", "status": "completed"}],
        ["task-list", {}],
        ["note-add", {"content": "Use it", "type": "tip"}],
        ["note-list", {"type": "tip"}],
        ["iteration-summary", {"summary": "wrote it"}],
        ["session-complete", {}],
    ]);
    let mut node = Command::new("node");
    node.arg(SCRIPT).arg(sdk).args([crate::test_project::program(), &calls.to_string()]);
    node.current_dir(&project.root).env_clear().envs(project.env.clone());
    let (code, stdout, stderr) = run_to_end(&mut node, CLIENT_TIMEOUT);
    assert_eq!(code, Some(0), "{stderr}");
    let report: Value = serde_json::from_str(&stdout).unwrap();

    let called = calls.as_array().unwrap().iter().map(|call| &call[0]);
    let tools = report["tools"].as_array().unwrap();
    assert_eq!(tools.len(), 8, "{report}");
    assert!(tools.iter().all(|tool| called.clone().any(|name| name == tool)), "{report}");
    let text = |at: usize| report["results"][at]["text"].as_str().unwrap();
    for (at, result) in report["results"].as_array().unwrap().iter().enumerate() {
        assert_eq!(result["isError"], at == 3, "{at}: {report}");
    }
    assert!(text(1).contains("\"TAS-1\""), "{report}");
    assert!(text(3).starts_with("error: cannot complete session: 1 task(s)"), "{report}");
    assert!(text(5).contains("\"completed\""), "{report}");
    assert!(text(7).contains("Use it"), "{report}");
    assert_eq!(project.json(&["task", "show", "1", "--json"])["status"], "completed");
}
