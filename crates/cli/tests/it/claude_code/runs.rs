//! `gambrel run` with the real Claude Code as its agent: gambrel guards the tool calls inside it, and
//! each hook runs once, by the agent or by the run.

use serde_json::json;

use super::session::Session;
use super::versions::in_each_version;
use crate::run_fixture::{state, trace};

const STAGE: &str = "name: work\ndelay: 0\ntermination: {type: fixed, iterations: 2}\n\
    provider: 'command:claude -p --permission-mode default --allowedTools Bash'\n";

#[test]
fn hooks_guard_an_agent_in_a_run_and_run_once() {
    in_each_version(|claude| {
        let session = Session::new(claude);
        let append = |line: &str| format!("echo {line} >> trace");
        let shell = |line: &str| json!([{"type": "shell", "await": true, "command": append(line)}]);
        let rule = json!({"block": "touch denied", "message": "nobody touches denied files"});
        session.write_hooks(&json!({
            "on_iteration_start": shell("run-start"),
            "on_iteration_complete": shell("run-complete"),
            "on_tool_before": [{"rule": rule}],
        }));
        let own = |line: &str| json!([{"hooks": [{"type": "command", "command": append(line)}]}]);
        let hooks = json!({
            "UserPromptSubmit": own("own-prompt"), "PreToolUse": own("own-tool"),
            "Stop": own("own-stop"),
        });
        session.project.file(".claude/settings.json", &json!({"hooks": hooks}).to_string());
        session.project.file(".gambrel/stages/work/stage.yaml", STAGE);
        session.project.file(".gambrel/stages/work/prompt.md", "Do what the script says.\n");
        session.gambrel(&["install", "claude"]);
        session.gambrel(&["trust", "--all", "--yes"]);

        let decide = "printf '{\"decision\":\"continue\"}' > \"$STATUS\"";
        let commands = ["touch denied.txt", "touch allowed.txt", decide];
        let (code, stderr, requests) = session.run(&commands, &["work"]);
        assert_eq!(code, Some(0), "{stderr}");
        assert_eq!(state(&session.project, "work")["history"].as_array().unwrap().len(), 2);
        assert!(!session.has("denied.txt") && session.has("allowed.txt"), "{stderr}");
        let reached = |words: &str| {
            requests.iter().filter(|request| request.to_string().contains(words)).count()
        };
        assert!(reached("nobody touches denied files") > 0, "{stderr}");
        assert!(reached("Do what the script says.") > 0, "{stderr}");
        let iteration = [
            "run-start",
            "own-prompt",
            "own-tool",
            "own-tool",
            "own-tool",
            "own-stop",
            "run-complete",
        ];
        assert_eq!(trace(&session.project), [iteration, iteration].concat(), "{stderr}");
    });
}
