//! A project with a stage whose agent is the scripted agent of the Agent Client Protocol.

use std::process::Output;

use serde_json::{Value, json};

use crate::acp_agent::AGENT_VARIABLE;
use crate::run_fixture::{project_with_stage, run_folder};
use crate::test_project::{TestProject, text, wait_until};

/// The stage `work` with one iteration, and more keys of it.
pub fn acp_project(stage: &str, script: &Value) -> TestProject {
    acp_project_with(1, stage, script)
}

pub fn acp_project_with(iterations: u32, stage: &str, script: &Value) -> TestProject {
    let termination = format!("termination: {{type: fixed, iterations: {iterations}}}\n{stage}");
    let project = project_with_stage(&termination);
    project.file("acp.json", &script.to_string());
    let program = std::env::current_exe().unwrap();
    project.script(
        "acp-agent",
        &format!(
            "#!/bin/sh\n{AGENT_VARIABLE}=1 exec '{}' --exact acp_agent::plays_its_script --nocapture \
             3>&1 >/dev/null\n",
            program.display()
        ),
    );
    project
}

/// A script with these steps for each prompt.
pub fn prompts(prompts: &[Value]) -> Value {
    json!({"prompts": prompts})
}

/// A tool call that runs a command.
pub fn command_call(id: &str, command: &str) -> Value {
    json!({
        "toolCallId": id, "kind": "execute", "title": "bash", "status": "pending",
        "rawInput": {"command": command},
    })
}

/// A hook of Claude Code at an event that answers with this JSON.
pub fn add_hook(project: &TestProject, event: &str, answer: &Value) {
    project.file("answer.json", &answer.to_string());
    add_command(project, event, "cat answer.json");
}

/// A command as a hook of Claude Code.
pub fn add_command(project: &TestProject, event: &str, command: &str) {
    let path = project.root.join(".claude/settings.json");
    let known = std::fs::read(&path).unwrap_or_else(|_| b"{\"hooks\":{}}".to_vec());
    let mut settings: Value = serde_json::from_slice(&known).unwrap();
    settings["hooks"][event] = json!([{"hooks": [{"type": "command", "command": command}]}]);
    project.file(".claude/settings.json", &settings.to_string());
}

/// The answer of a hook before a tool call.
pub fn ruling(decision: &str, reason: &str) -> Value {
    json!({"hookSpecificOutput": {
        "hookEventName": "PreToolUse", "permissionDecision": decision,
        "permissionDecisionReason": reason,
    }})
}

pub const RUN: [&str; 4] = ["run", "work", "--agent", "acp:./acp-agent"];

/// Runs the stage and expects an exit code.
pub fn run_acp(project: &TestProject, code: i32) -> Output {
    run_acp_with(project, &[], code)
}

pub fn run_acp_with(project: &TestProject, args: &[&str], code: i32) -> Output {
    let output = project.run(&[&RUN, args].concat(), b"");
    assert_eq!(output.status.code(), Some(code), "{}", text(&output.stderr));
    output
}

/// Lines of a file of the project.
pub fn lines(project: &TestProject, name: &str) -> Vec<String> {
    let text = std::fs::read_to_string(project.root.join(name)).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

/// Messages that the agent received with this method.
pub fn received(project: &TestProject, method: &str) -> Vec<Value> {
    let parse = |line: &String| -> Option<Value> { serde_json::from_str(line).ok() };
    let all = lines(project, "received.jsonl");
    all.iter().filter_map(parse).filter(|message| message["method"] == method).collect()
}

/// The texts of the blocks of each prompt that the agent received.
pub fn prompts_received(project: &TestProject) -> Vec<Vec<String>> {
    let texts = |message: &Value| -> Vec<String> {
        let blocks = message["params"]["prompt"].as_array().unwrap();
        blocks.iter().map(|block| block["text"].as_str().unwrap().to_owned()).collect()
    };
    received(project, "session/prompt").iter().map(texts).collect()
}

/// A file of an iteration.
pub fn iteration_file(project: &TestProject, iteration: u32, name: &str) -> String {
    let path = format!("stage-00-work/iterations/{iteration:03}/{name}");
    std::fs::read_to_string(run_folder(project, "work").join(path)).unwrap_or_default()
}

/// Waits for an open question that is not in `known`, and returns its id and the whole.
pub fn wait_for_question(project: &TestProject, known: &[String]) -> (String, Value) {
    let mut found = None;
    wait_until("the run asks", || {
        let output = project.run(&["approvals", "--json"], b"");
        let tickets: Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
        let tickets = tickets.as_array().cloned().unwrap_or_default();
        let is_new = |ticket: &Value| {
            ticket["state"] == "open" && !known.iter().any(|id| ticket["ticket"] == id.as_str())
        };
        found = tickets.into_iter().find(is_new);
        found.is_some()
    });
    let ticket = found.unwrap();
    (ticket["ticket"].as_str().unwrap().to_owned(), ticket)
}

pub fn command_to(project: &TestProject, args: &[&str]) {
    let output = project.run(args, b"");
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
}
