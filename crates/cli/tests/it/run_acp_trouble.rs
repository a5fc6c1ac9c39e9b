//! Trouble with agents of the Agent Client Protocol: clear errors, bounded memory, and nothing left
//! running.

use std::process::{Child, Output};

use serde_json::{Value, json};

use crate::acp_fixture::{
    RUN, acp_project, command_call, command_to, iteration_file, lines, prompts, received, run_acp,
    wait_for_question,
};
use crate::processes::{TOKEN, processes_with_token};
use crate::run_fixture::{count_type, state};
use crate::test_project::{TestProject, text, wait_until};

/// A project whose processes are known by a token.
fn project_with_token(name: &str, stage: &str, script: &Value) -> (TestProject, String) {
    let token = format!("acp-{name}-{}", std::process::id());
    (acp_project(stage, script).with(TOKEN, &token), token)
}

/// Runs an agent that fails, and expects this message and no process.
fn expect_failure(name: &str, script: &Value, message: &str) {
    let (project, token) = project_with_token(name, "", script);
    let output = run_acp(&project, 1);
    let shown = text(&output.stderr);
    assert!(shown.contains(message), "{name}: {shown}");
    assert_eq!(count_type(&project, "work", "error"), 1, "{name}");
    assert_eq!(state(&project, "work")["error"]["type"], "exit_code", "{name}");
    wait_until("nothing is left", || processes_with_token(&token).is_empty());
}

fn wait_for_end(run: Child, code: i32) -> Output {
    let output = run.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(code), "{}", text(&output.stderr));
    output
}

#[test]
fn an_agent_that_crashes_in_a_turn_fails_the_run() {
    let steps = json!([{"say": "half"}, {"stderr": "segmentation fault"}, {"exit": 7}]);
    let message = "ended before its turn did: it exited with code 7: segmentation fault";
    expect_failure("crash", &prompts(&[steps]), message);
}

#[test]
fn an_agent_that_crashes_at_a_question_closes_it() {
    let script = prompts(&[json!([
        {"update": {"sessionUpdate": "plan"}},
        {"ask_both": [command_call("c1", "deploy")]},
    ])]);
    let (project, token) = project_with_token("question", "permissions: ask", &script);
    let run = project.start(&RUN, b"");
    let (id, _) = wait_for_question(&project, &[]);
    let is_agent = |pid: &&i32| {
        let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        text(&line).contains("acp_agent")
    };
    let agents = processes_with_token(&token);
    agents.iter().filter(is_agent).for_each(|pid| crate::processes::kill(*pid));
    let output = wait_for_end(run, 1);
    assert!(text(&output.stderr).contains("signal 9 ended it"), "{}", text(&output.stderr));
    assert_eq!(project.run(&["approve", &id], b"").status.code(), Some(1));
}

#[test]
fn messages_that_cannot_be_read_fail_the_run() {
    let broken = "{\"jsonrpc\": \"2.0\", \"method\": ";
    let steps = json!([{"print": broken}, {"until_cancelled": true}]);
    expect_failure("malformed", &prompts(&[steps]), "sent a message that cannot be read");
    let steps = json!([{"print": "{\"jsonrpc\":\"2.0\"}"}, {"until_cancelled": true}]);
    expect_failure("empty", &prompts(&[steps]), "neither a request nor an answer");
}

#[test]
fn text_between_messages_is_not_an_error() {
    let steps = json!([{"print": "Loaded cached credentials."}, {"say": "words"}]);
    let project = acp_project("", &prompts(&[steps]));
    run_acp(&project, 0);
    assert_eq!(iteration_file(&project, 1, "output.md"), "words\n");
    assert!(iteration_file(&project, 1, "transcript.jsonl").contains("cached credentials"));
}

#[test]
fn a_newer_version_of_the_protocol_fails_the_run() {
    let script = json!({"version": 2, "prompts": [[]]});
    expect_failure("version", &script, "speaks version 2 of the Agent Client Protocol");
}

#[test]
fn an_agent_that_needs_a_login_says_so() {
    let script = json!({"refuses": "Authentication required", "prompts": [[]]});
    expect_failure("login", &script, "refuses `session/new`: Authentication required");
}

#[test]
fn an_agent_that_is_not_installed_fails_the_run() {
    let project = acp_project("", &prompts(&[json!([])]));
    let output = project.run(&["run", "work", "--agent", "acp:no-such-agent"], b"");
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stderr));
    assert!(text(&output.stderr).contains("no-such-agent"), "{}", text(&output.stderr));
}

#[test]
fn an_agent_that_refuses_its_turn_fails_the_run() {
    let steps = json!([{"stop": "refusal"}]);
    expect_failure("refusal", &prompts(&[steps]), "ended its turn with `refusal`");
    let steps = json!([{"stop": "cancelled"}]);
    expect_failure("cancelled", &prompts(&[steps]), "ended its turn with `cancelled`");
}

#[test]
fn an_agent_that_asks_about_one_call_for_ever_fails_the_run() {
    let steps = json!([{"ask_for_ever": command_call("c1", "deploy")}]);
    expect_failure("insistent", &prompts(&[steps]), "asked for permission 10000 times in one turn");
}

#[test]
fn a_run_whose_agent_asks_for_ever_can_be_stopped() {
    let steps = json!([{"ask_for_ever": {"kind": "execute", "rawInput": {"command": "ls"}}}]);
    let (project, token) = project_with_token("endless", "", &prompts(&[steps]));
    let run = project.start(&RUN, b"");
    wait_until("the agent asks", || lines(&project, "answers").len() > 5);
    command_to(&project, &["stop", "work"]);
    wait_for_end(run, 143);
    wait_until("nothing is left", || processes_with_token(&token).is_empty());
}

#[test]
fn a_cancelled_agent_hears_it_and_ends() {
    let steps = json!([{"touch": "begun"}, {"until_cancelled": true}, {"touch": "told"}]);
    let (project, token) = project_with_token("cancel", "", &prompts(&[steps]));
    let run = project.start(&RUN, b"");
    wait_until("the agent works", || project.root.join("begun").exists());
    command_to(&project, &["stop", "work"]);
    wait_for_end(run, 143);
    assert!(project.root.join("told").exists());
    wait_until("nothing is left", || processes_with_token(&token).is_empty());
}

#[test]
fn an_agent_that_does_not_hear_a_cancel_is_ended() {
    let steps = json!([{"touch": "begun"}, {"hang": true}]);
    let (project, token) = project_with_token("deaf", "", &prompts(&[steps]));
    let run = project.start(&RUN, b"");
    wait_until("the agent works", || project.root.join("begun").exists());
    command_to(&project, &["stop", "work"]);
    wait_for_end(run, 143);
    assert!(received(&project, "session/cancel").is_empty());
    wait_until("nothing is left", || processes_with_token(&token).is_empty());
}

#[test]
fn an_agent_has_only_the_time_of_its_stage() {
    let stage = "guardrails: {max_runtime_seconds: 1}";
    let steps = json!([{"hang": true}]);
    let (project, token) = project_with_token("time", stage, &prompts(&[steps]));
    run_acp(&project, 0);
    assert_eq!(state(&project, "work")["completion_reason"], "max_runtime");
    wait_until("nothing is left", || processes_with_token(&token).is_empty());
}

#[test]
fn a_flood_of_updates_uses_little_memory() {
    let steps = json!([{"flood_mebibytes": 100}, {"touch": "flooded"}, {"wait_for": "measured"}]);
    let (project, _) = project_with_token("flood", "", &prompts(&[steps]));
    let run = project.start(&RUN, b"");
    let flooded = project.root.join("flooded");
    while !flooded.exists() {
        assert!(std::path::Path::new(&format!("/proc/{}", run.id())).exists());
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    let status = std::fs::read_to_string(format!("/proc/{}/status", run.id())).unwrap();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    let peak: u64 = peak.trim().trim_end_matches(" kB").parse().unwrap();
    project.file("measured", "");
    wait_for_end(run, 0);
    assert!(peak < 64 << 10, "{peak} KiB");
    for name in ["output.md", "transcript.jsonl"] {
        let length = iteration_file(&project, 1, name).len();
        assert!((60 << 20..=64 << 20).contains(&length), "{name} has {length} bytes");
    }
}

#[test]
fn open_calls_that_are_too_large_fail_the_run() {
    let steps = json!([{"flood_of_calls": 1 << 20}]);
    expect_failure(
        "heavy",
        &prompts(&[steps]),
        "open tool calls of the agent have more than 64 MiB",
    );
}

#[test]
fn a_message_that_is_too_long_fails_the_run() {
    let long = format!("{{\"jsonrpc\": \"2.0\", \"method\": \"{}\"}}", "x".repeat(9 << 20));
    let steps = json!([{"print": long}, {"until_cancelled": true}]);
    expect_failure("long", &prompts(&[steps]), "a message of more than 8 MiB");
}

#[test]
fn a_run_that_is_killed_at_a_question_asks_again() {
    let script = prompts(&[json!([{"ask": command_call("c1", "deploy")}])]);
    let (project, token) = project_with_token("kill", "permissions: ask", &script);
    let mut run = project.start(&RUN, b"");
    let (first, _) = wait_for_question(&project, &[]);
    run.kill().unwrap();
    run.wait().unwrap();
    wait_until("nothing is left", || processes_with_token(&token).is_empty());

    let run = project.start(&["resume", "work"], b"");
    let (second, _) = wait_for_question(&project, std::slice::from_ref(&first));
    assert_eq!(project.run(&["approve", &first], b"").status.code(), Some(1));
    command_to(&project, &["approve", &second]);
    wait_for_end(run, 0);
    assert_eq!(lines(&project, "answers"), ["allow_once"]);
    wait_until("nothing is left", || processes_with_token(&token).is_empty());
}
