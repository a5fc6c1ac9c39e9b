//! A server started for one call: its answers, its failures, and the end of all its processes.

use std::path::{Path, PathBuf};
use std::time::Duration;

use gambrel_actions::{McpAction, WebSettings};
use gambrel_model::request::to_body;
use gambrel_model::{Call, End, Limits, Outcome, ToolRequest};
use serde_json::{Value, json};

use crate::hook_fixture::{HookFixture, assert_in_time, start_failure, wait_until};
use crate::http_receiver::run_call;

fn server_program() -> PathBuf {
    let exe = std::env::current_exe().unwrap();
    let path = exe.parent().and_then(Path::parent).unwrap().join("examples/mcp_server");
    assert!(path.exists(), "{} is missing: build the examples of this crate", path.display());
    path
}

fn tool_call(fixture: &HookFixture, mode: &str, tool: &str, input: Value) -> Call {
    let request = ToolRequest {
        server: "test".to_owned(),
        tool: tool.to_owned(),
        input,
        ..ToolRequest::default()
    };
    let program = server_program();
    Call { body: to_body(&request), ..fixture.exec_call(&[program.to_str().unwrap(), mode]) }
}

fn run_tool(fixture: &HookFixture, call: &Call) -> Outcome {
    let settings = WebSettings { settings: fixture.settings.clone(), ..WebSettings::default() };
    let outcome = run_call(&McpAction::new(settings), call);
    assert_in_time(&outcome, call);
    fixture.assert_no_processes_left();
    outcome
}

#[test]
fn returns_the_answer_of_a_tool() {
    let fixture = HookFixture::new();
    let mut wanted = tool_call(&fixture, "plain", "echo", json!({ "text": "quote \" and ü\n" }));
    wanted.env.push(("COLOUR".to_owned(), "red".to_owned()));
    let outcome = run_tool(&fixture, &wanted);
    assert_eq!(outcome.end, End::Answered, "{outcome:?}");
    assert!(outcome.is_success());
    let folder = fixture.dir.path().file_name().unwrap().to_str().unwrap();
    let text = format!("quote \" and ü\n\nred in {folder}");
    assert_eq!(outcome.stdout.to_text(), text);
    let answer = outcome.answer.unwrap();
    assert_eq!(answer["content"][0]["text"], "quote \" and ü\n");
    assert_eq!(answer["structuredContent"], json!({ "tool": "echo" }));
    assert_eq!(answer["isError"], false);
    assert_eq!(outcome.command[1], "plain");
}

#[test]
fn isolates_the_server() {
    let mut fixture = HookFixture::new();
    fixture.settings.isolate = true;
    let mut wanted = tool_call(&fixture, "plain", "echo", json!({ "text": "a" }));
    let program = server_program();
    let line = format!("echo $$ > number; exec '{}' plain", program.display());
    wanted.program = fixture.sh_call(&line).program;
    let outcome = run_tool(&fixture, &wanted);
    assert!(outcome.is_success(), "{outcome:?}");
    assert_eq!(std::fs::read_to_string(fixture.path("number")).unwrap(), "1\n");
}

#[test]
fn returns_structured_content_without_text() {
    let fixture = HookFixture::new();
    let outcome = run_tool(&fixture, &tool_call(&fixture, "plain", "shape", json!({})));
    assert!(outcome.is_success(), "{outcome:?}");
    assert_eq!(outcome.stdout.to_text(), r#"{"a":1}"#);
}

#[test]
fn reports_failed_and_unknown_tools() {
    let fixture = HookFixture::new();
    let outcome = run_tool(&fixture, &tool_call(&fixture, "plain", "fail", Value::Null));
    assert_eq!(outcome.failure.as_deref(), Some("the tool failed: out of paper"));
    assert_eq!(
        (outcome.end, outcome.answer.unwrap()["isError"].clone()),
        (End::Answered, true.into())
    );
    let outcome = run_tool(&fixture, &tool_call(&fixture, "plain", "nothing", json!({})));
    let fault = outcome.failure.unwrap();
    assert!(fault.contains("nothing") && fault.contains("-32602"), "{fault}");
    let outcome = run_tool(&fixture, &tool_call(&fixture, "plain", "echo", json!([1])));
    assert!(start_failure(&outcome).contains("not an object"), "{outcome:?}");
}

#[test]
fn reports_why_a_server_failed() {
    let fixture = HookFixture::new();
    let mut missing = tool_call(&fixture, "plain", "echo", json!({}));
    missing.program = gambrel_model::Program::Exec(vec!["/no/such/server".to_owned()]);
    assert!(start_failure(&run_tool(&fixture, &missing)).contains("/no/such/server"));
    for (mode, words) in [("dies", "handshake"), ("dies-later", "before it answered")] {
        let outcome = run_tool(&fixture, &tool_call(&fixture, mode, "echo", json!({})));
        let why = start_failure(&outcome);
        assert!(why.contains(words) && why.contains("no licence"), "{mode}: {why}");
        assert!(why.len() < 3000, "{}", why.len());
    }
}

#[test]
fn kills_a_server_that_hangs_or_floods() {
    let fixture = HookFixture::new();
    for mode in ["hangs", "hangs-later", "floods", "floods-line", "stubborn"] {
        let mut wanted = tool_call(&fixture, mode, "echo", json!({}));
        wanted.limits = Limits { timeout: Duration::from_millis(700), ..Limits::default() };
        let outcome = run_tool(&fixture, &wanted);
        assert_eq!(outcome.end, End::TimedOut, "{mode}: {outcome:?}");
        wanted.limits = Limits { budget: Some(Duration::from_millis(600)), ..Limits::default() };
        let outcome = run_tool(&fixture, &wanted);
        assert_eq!(outcome.end, End::TimedOut, "{mode}: {outcome:?}");
        assert!(outcome.elapsed < Duration::from_secs(2), "{mode}: {:?}", outcome.elapsed);
    }
}

#[test]
fn kills_leftovers_of_a_successful_server() {
    let fixture = HookFixture::new();
    let outcome =
        run_tool(&fixture, &tool_call(&fixture, "leaves", "echo", json!({ "text": "x" })));
    assert_eq!(outcome.end, End::Answered, "{outcome:?}");
    assert_eq!(outcome.answer.unwrap()["content"][0]["text"], "x");
}

#[test]
fn calls_a_tool_in_the_background() {
    let fixture = HookFixture::new();
    let mut wanted = tool_call(&fixture, "plain", "mark", json!({}));
    wanted.limits.blocking = false;
    let outcome = run_call(&McpAction::new(WebSettings::default()), &wanted);
    assert_eq!(outcome.end, End::Detached);
    wait_until("the tool's mark", || fixture.path("mark").exists());
    fixture.assert_no_processes_left();
}
