//! The real opencode as the agent of a run: messages, permissions, a person's approval and the task
//! board.

use serde_json::{Value, json};

use super::model_server::{ModelCall, ModelServer, read_messages, tool_results};
use super::setup::{DECIDE, StartedRun, describe_requests, project_with_agent};
use crate::acp_fixture::{add_command, command_to, lines, ruling};
use crate::external_tools::find_tool;
use crate::offline::{run_offline, test_name};
use crate::run_fixture::state;
use crate::test_project::TestProject;

#[cfg(target_arch = "aarch64")]
const PROGRAM: &str = "opencode-linux-arm64/bin/opencode";
#[cfg(not(target_arch = "aarch64"))]
const PROGRAM: &str = "opencode-linux-x64/bin/opencode";

fn in_opencode<S: FnOnce(&str)>(test: S) {
    let Some(program) = find_tool(PROGRAM, "runs with the real opencode") else { return };
    let script = format!("#!/bin/sh\nexec '{}' \"$@\"\n", program.display());
    run_offline(test_name::<S>(), || test(&script));
}

/// Settings with a model on loopback. opencode asks about commands, edits and tools of the board.
fn configure(project: TestProject, model: &ModelServer) -> TestProject {
    let options = json!({"baseURL": model.url("/v1"), "apiKey": "none"});
    let limit = json!({"context": 100_000, "output": 10_000});
    let models = json!({"m1": {"tool_call": true, "limit": limit}});
    let provider =
        json!({"npm": "@ai-sdk/openai-compatible", "options": options, "models": models});
    let settings = json!({
        "provider": {"fake": provider}, "model": "fake/m1", "small_model": "fake/m1",
        "permission": {"edit": "ask", "bash": "ask", "gambrel_*": "ask"}, "autoupdate": false, "share": "disabled",
    });
    let place = project.base.join("home/.config/opencode/opencode.json");
    project.file(place.to_str().unwrap(), &settings.to_string());
    let off = ["AUTOUPDATE", "MODELS_FETCH", "LSP_DOWNLOAD", "DEFAULT_PLUGINS"];
    off.iter().fold(project, |project, word| project.with(&format!("OPENCODE_DISABLE_{word}"), "1"))
}

fn shell(command: &str) -> ModelCall {
    ("bash", json!({"command": command, "description": "as the script says"}))
}

fn update_task(status: &str) -> ModelCall {
    ("gambrel_task-update", json!({"id": "1", "status": status}))
}

/// Allows, refuses or asks about a command by the words in it.
fn add_gates(project: &TestProject) {
    for (decision, reason) in
        [("deny", "nobody touches denied files"), ("ask", "really?"), ("allow", "")]
    {
        project.file(&format!("{decision}.json"), &ruling(decision, reason).to_string());
    }
    let gate = "call=$(cat); case \"$call\" in *denied.txt*) cat deny.json;; *asked.txt*) \
                cat ask.json;; *parser*) cat allow.json; touch seen-task;; *) cat allow.json;; esac";
    add_command(project, "PreToolUse", gate);
    add_command(
        project,
        "TaskCompleted",
        "test -e seen || { touch seen; echo tests are missing >&2; exit 2; }",
    );
}

/// The last request of the conversation that contains a text.
fn last_request(model: &ModelServer, words: &str) -> Value {
    let contains = |request: &Value| read_messages(request).join("\n").contains(words);
    let found = model.requests().into_iter().rfind(contains);
    found.unwrap_or_else(|| panic!("no request with {words}: {}", describe_requests(model)))
}

#[test]
fn hooks_and_a_person_decide_and_the_board_refuses() {
    in_opencode(|program| {
        let tasks = json!({"tasks": [{"content": "write the parser"}]});
        let first = vec![
            shell("touch denied.txt"),
            shell("touch allowed.txt"),
            shell("touch asked.txt"),
            ("gambrel_task-add", tasks),
            update_task("in_progress"),
            update_task("completed"),
            shell(DECIDE),
        ];
        let second = vec![update_task("completed"), shell(DECIDE)];
        let model = ModelServer::start(vec![("number 1.", first), ("number 2.", second)]);
        let project = configure(project_with_agent("opencode", program, "deny"), &model);
        add_gates(&project);

        let mut run = StartedRun::start(&project, "opencode");
        let id = run.wait_for_question();
        assert!(!project.root.join("asked.txt").exists(), "it ran before the answer");
        command_to(&project, &["approve", &id]);
        let printed = run.wait_for_success();
        let all = format!("{printed}\n{}", describe_requests(&model));
        assert_eq!(state(&project, "work")["history"].as_array().unwrap().len(), 2, "{all}");

        // What hooks say is in the first request, before the prompt.
        let received = read_messages(&model.requests()[0]).join("\n");
        let at = |words: &str| received.find(words).unwrap_or_else(|| panic!("no {words}: {all}"));
        assert!(at("from the start") < at("from iteration 1"), "{all}");
        assert!(at("from iteration 1") < at("Work on work, number 1."), "{all}");

        let ran = |file: &str| project.root.join(file).exists();
        assert!(!ran("denied.txt") && ran("allowed.txt") && ran("asked.txt"), "{all}");
        let last = last_request(&model, "number 1.");
        let reason = "nobody touches denied files";
        assert!(read_messages(&last).iter().any(|message| message.contains(reason)), "{all}");
        let results = tool_results(&last);
        assert_eq!(results.len(), 7, "{all}");
        assert!(results[5].contains("tests are missing"), "{all}");

        let last = last_request(&model, "number 2.");
        let received = read_messages(&last).join("\n");
        assert!(
            received.contains("from iteration 2") && !received.contains("iteration 1"),
            "{all}"
        );
        assert!(ran("seen-task"), "hooks did not see the task: {all}");
        let board = project.json(&["task", "list", "--json"]);
        assert_eq!(board[0]["subject"], "write the parser", "{all}");
        assert_eq!(board[0]["status"], "completed", "{all}");
    });
}

#[test]
fn hooks_see_what_a_call_does_to_a_file() {
    in_opencode(|program| {
        let read = ("read", json!({"filePath": "new.txt"}));
        let write = ("write", json!({"filePath": "new.txt", "content": "one\n"}));
        let edit = json!({"filePath": "new.txt", "oldString": "one", "newString": "two"});
        let first = vec![write, shell(DECIDE)];
        let second = vec![read, ("edit", edit), shell(DECIDE)];
        let model = ModelServer::start(vec![("number 1.", first), ("number 2.", second)]);
        let project = configure(project_with_agent("opencode", program, "allow"), &model);
        let gate = "cat > call; grep -q new.txt call && { cat call; echo; } >> seen; true";
        add_command(&project, "PreToolUse", gate);

        let printed = StartedRun::start(&project, "opencode").wait_for_success();
        let all = format!("{printed}\n{}", describe_requests(&model));
        assert!(!all.contains("does not say what the call does"), "{all}");
        let seen = lines(&project, "seen");
        let seen = seen.iter().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        let seen: Vec<Value> = seen.collect();
        assert_eq!(seen.len(), 2, "{seen:?} {all}");
        let path = project.root.join("new.txt");
        for (call, tool) in seen.iter().zip(["Write", "Edit"]) {
            assert_eq!(call["tool_name"], tool, "{call}");
            assert_eq!(call["tool_input"]["file_path"], json!(path), "{call}");
        }
        assert_eq!(seen[0]["tool_input"]["content"], "one\n", "{seen:?}");
        let edit = &seen[1]["tool_input"];
        let words = |key: &str| edit[key].as_str().unwrap_or_default().trim();
        assert_eq!((words("old_string"), words("new_string")), ("one", "two"), "{edit}");
        assert_eq!(std::fs::read_to_string(path).unwrap(), "two\n", "{all}");
    });
}
