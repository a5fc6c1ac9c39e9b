//! A server that is started for one call: its answers, its failures, and that nothing of it stays.

use std::path::{Path, PathBuf};
use std::time::Duration;

use gambrel_actions::{McpAction, WebSettings};
use gambrel_model::request::to_body;
use gambrel_model::{Call, End, Limits, Outcome, ToolRequest};
use serde_json::{Value, json};

use crate::receiver::run;
use crate::stand::{Stand, eventually, in_time, unstarted};

fn server() -> PathBuf {
    let exe = std::env::current_exe().unwrap();
    let path = exe.parent().and_then(Path::parent).unwrap().join("examples/mcp_server");
    assert!(path.exists(), "{} is missing: build the examples of this crate", path.display());
    path
}

fn call(stand: &Stand, mode: &str, tool: &str, input: Value) -> Call {
    let request = ToolRequest {
        server: "test".to_owned(),
        tool: tool.to_owned(),
        input,
        ..ToolRequest::default()
    };
    let program = server();
    Call { body: to_body(&request), ..stand.exec(&[program.to_str().unwrap(), mode]) }
}

fn ran(stand: &Stand, call: &Call) -> Outcome {
    let settings = WebSettings { settings: stand.settings.clone(), ..WebSettings::default() };
    let outcome = run(&McpAction::new(settings), call);
    in_time(&outcome, call);
    stand.nobody_is_left();
    outcome
}

#[test]
fn a_tool_answers() {
    let stand = Stand::new();
    let mut wanted = call(&stand, "plain", "echo", json!({ "text": "quote \" and ü\n" }));
    wanted.env.push(("COLOUR".to_owned(), "red".to_owned()));
    let outcome = ran(&stand, &wanted);
    assert_eq!(outcome.end, End::Answered, "{outcome:?}");
    assert!(outcome.is_success());
    let folder = stand.dir.path().file_name().unwrap().to_str().unwrap();
    let text = format!("quote \" and ü\n\nred in {folder}");
    assert_eq!(outcome.stdout.text(), text);
    let answer = outcome.answer.unwrap();
    assert_eq!(answer["content"][0]["text"], "quote \" and ü\n");
    assert_eq!(answer["structuredContent"], json!({ "tool": "echo" }));
    assert_eq!(answer["isError"], false);
    assert_eq!(outcome.command[1], "plain");
}

#[test]
fn an_isolated_server_answers() {
    let mut stand = Stand::new();
    stand.settings.isolate = true;
    let mut wanted = call(&stand, "plain", "echo", json!({ "text": "a" }));
    let program = server();
    let line = format!("echo $$ > number; exec '{}' plain", program.display());
    wanted.program = stand.sh(&line).program;
    let outcome = ran(&stand, &wanted);
    assert!(outcome.is_success(), "{outcome:?}");
    assert_eq!(std::fs::read_to_string(stand.path("number")).unwrap(), "1\n");
}

#[test]
fn an_answer_without_text_is_its_structure() {
    let stand = Stand::new();
    let outcome = ran(&stand, &call(&stand, "plain", "shape", json!({})));
    assert!(outcome.is_success(), "{outcome:?}");
    assert_eq!(outcome.stdout.text(), r#"{"a":1}"#);
}

#[test]
fn a_tool_fails_or_is_unknown() {
    let stand = Stand::new();
    let outcome = ran(&stand, &call(&stand, "plain", "fail", Value::Null));
    assert_eq!(outcome.failure.as_deref(), Some("the tool failed: out of paper"));
    assert_eq!(
        (outcome.end, outcome.answer.unwrap()["isError"].clone()),
        (End::Answered, true.into())
    );
    let outcome = ran(&stand, &call(&stand, "plain", "nothing", json!({})));
    let fault = outcome.failure.unwrap();
    assert!(fault.contains("nothing") && fault.contains("-32602"), "{fault}");
    let outcome = ran(&stand, &call(&stand, "plain", "echo", json!([1])));
    assert!(unstarted(&outcome).contains("not an object"), "{outcome:?}");
}

#[test]
fn a_server_that_cannot_start_or_ends_says_why() {
    let stand = Stand::new();
    let mut missing = call(&stand, "plain", "echo", json!({}));
    missing.program = gambrel_model::Program::Exec(vec!["/no/such/server".to_owned()]);
    assert!(unstarted(&ran(&stand, &missing)).contains("/no/such/server"));
    for (mode, words) in [("dies", "handshake"), ("dies-later", "before it had answered")] {
        let outcome = ran(&stand, &call(&stand, mode, "echo", json!({})));
        let why = unstarted(&outcome);
        assert!(why.contains(words) && why.contains("no licence"), "{mode}: {why}");
        assert!(why.len() < 3000, "{}", why.len());
    }
}

#[test]
fn one_that_hangs_or_floods_is_late_and_gone() {
    let stand = Stand::new();
    for mode in ["hangs", "hangs-later", "floods", "floods-line", "stubborn"] {
        let mut wanted = call(&stand, mode, "echo", json!({}));
        wanted.limits = Limits { timeout: Duration::from_millis(700), ..Limits::default() };
        let outcome = ran(&stand, &wanted);
        assert_eq!(outcome.end, End::TimedOut, "{mode}: {outcome:?}");
        wanted.limits = Limits { budget: Some(Duration::from_millis(600)), ..Limits::default() };
        let outcome = ran(&stand, &wanted);
        assert_eq!(outcome.end, End::TimedOut, "{mode}: {outcome:?}");
        assert!(outcome.elapsed < Duration::from_secs(2), "{mode}: {:?}", outcome.elapsed);
    }
}

#[test]
fn what_a_good_server_leaves_is_gone_too() {
    let stand = Stand::new();
    let outcome = ran(&stand, &call(&stand, "leaves", "echo", json!({ "text": "x" })));
    assert_eq!(outcome.end, End::Answered, "{outcome:?}");
    assert_eq!(outcome.answer.unwrap()["content"][0]["text"], "x");
}

#[test]
fn what_nobody_waits_for_is_called_all_the_same() {
    let stand = Stand::new();
    let mut wanted = call(&stand, "plain", "mark", json!({}));
    wanted.limits.blocking = false;
    let outcome = run(&McpAction::new(WebSettings::default()), &wanted);
    assert_eq!(outcome.end, End::Detached);
    eventually("the tool's mark", || stand.path("mark").exists());
    stand.nobody_is_left();
}
