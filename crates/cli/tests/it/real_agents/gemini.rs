//! The real Gemini CLI as the agent of a run: messages, and a call that a hook refuses.

use serde_json::json;

use super::model_server::{ModelCall, ModelServer, read_messages};
use super::setup::{DECIDE, StartedRun, describe_requests, project_with_agent};
use crate::acp_fixture::{add_command, ruling};
use crate::external_tools::find_tool;
use crate::offline::{run_offline, test_name};
use crate::run_fixture::state;
use crate::test_project::TestProject;

const PROGRAM: &str = "@google/gemini-cli/bundle/gemini.js";

fn in_gemini<S: FnOnce(&str)>(test: S) {
    let Some(program) = find_tool(PROGRAM, "runs with the real Gemini CLI") else { return };
    let script = format!("#!/bin/sh\nexec node '{}' \"$@\"\n", program.display());
    run_offline(test_name::<S>(), || test(&script));
}

/// Settings with a model on loopback. The approval mode is the default one. A model is named,
/// because otherwise another one is first asked how complex the prompt is.
fn configure(project: TestProject, model: &ModelServer) -> TestProject {
    let security = json!({
        "auth": {"selectedType": "gemini-api-key"}, "folderTrust": {"enabled": false},
    });
    let settings = json!({
        "security": security, "privacy": {"usageStatisticsEnabled": false},
        "general": {"enableAutoUpdate": false}, "model": {"name": "gemini-2.5-flash"},
    });
    let place = project.base.join("home/.gemini/settings.json");
    project.file(place.to_str().unwrap(), &settings.to_string());
    project.with("GEMINI_API_KEY", "none").with("GOOGLE_GEMINI_BASE_URL", &model.url(""))
}

fn shell(command: &str) -> ModelCall {
    ("run_shell_command", json!({"command": command, "description": "as the script says"}))
}

#[test]
fn a_hook_refuses_a_call_and_the_model_hears_why() {
    in_gemini(|program| {
        let calls = || vec![shell("touch denied.txt"), shell(DECIDE)];
        let model = ModelServer::start(vec![("number 1.", calls()), ("number 2.", calls())]);
        let project = configure(project_with_agent("gemini", program, "allow"), &model);
        project.file("deny.json", &ruling("deny", "nobody touches denied files").to_string());
        add_command(&project, "PreToolUse", "if grep -q denied.txt; then cat deny.json; fi");

        let printed = StartedRun::start(&project, "gemini").wait_for_success();
        let all = format!("{printed}\n{}", describe_requests(&model));
        assert_eq!(state(&project, "work")["history"].as_array().unwrap().len(), 2, "{all}");
        let received = read_messages(&model.requests()[0]).join("\n");
        let at = |words: &str| received.find(words).unwrap_or_else(|| panic!("no {words}: {all}"));
        assert!(at("from the start") < at("from iteration 1"), "{all}");
        assert!(at("from iteration 1") < at("Work on work, number 1."), "{all}");
        assert!(!project.root.join("denied.txt").exists(), "{all}");
        let reason = "nobody touches denied files";
        let received = |number: &str| {
            let all =
                model.requests().into_iter().map(|request| read_messages(&request).join("\n"));
            all.filter(|received| received.contains(number))
                .any(|received| received.contains(reason))
        };
        assert!(received("number 1.") && received("number 2."), "{all}");
    });
}
