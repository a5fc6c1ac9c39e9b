//! Runs the four example modules of oh-my-pi's hook documentation, unchanged.

use gambrel_script::{Question, QuestionKind, ScriptSettings};
use serde_json::{Value, json};
use std::sync::Arc;

use crate::module_dir::{ModuleDir, bash_body, emit_body};

const BLOCK: &str = include_str!("../../../cli/tests/it/fixtures/omp/block-unsafe-bash.ts");
const REDACT: &str = include_str!("../../../cli/tests/it/fixtures/omp/redact-output.ts");
const CONTEXT: &str = include_str!("../../../cli/tests/it/fixtures/omp/filter-context.ts");
const HANDOFF: &str = include_str!("../../../cli/tests/it/fixtures/omp/handoff-command.ts");

#[test]
fn blocks_without_a_user() {
    let dir = ModuleDir::new();
    dir.write_file("guard.ts", BLOCK);
    let answer = dir.answer("guard.ts", bash_body("rm -rf /"));
    assert_eq!(answer["results"], json!([{"block": true, "reason": "rm -rf blocked (no UI)"}]));
    assert_eq!(answer["truthy"], json!([true]));
    assert_eq!(answer["handlers"], 1);
    assert_eq!(answer.get("event"), None);
    let answer = dir.answer("guard.ts", bash_body("ls"));
    assert_eq!((&answer["results"], &answer["truthy"]), (&json!([null]), &json!([false])));
}

#[test]
fn asks_the_user() {
    for yes in [true, false] {
        let asked = Arc::new(std::sync::Mutex::new(Vec::<Question>::new()));
        let questions = Arc::clone(&asked);
        let ask = move |ask: &Question| {
            questions.lock().unwrap().push(ask.clone());
            Some(Value::Bool(yes))
        };

        let settings = ScriptSettings { ask: Some(Arc::new(ask)), ..Default::default() };
        let dir = ModuleDir::with_settings(settings);
        let path = dir.write_file("guard.ts", BLOCK);
        let mut body = bash_body("rm -rf /");
        body["ctx"]["hasUI"] = json!(true);
        let answer = dir.answer("guard.ts", body);

        let denied = json!({"block": true, "reason": "user denied command"});
        assert_eq!(answer["results"], if yes { json!([null]) } else { json!([denied]) });
        let asked = asked.lock().unwrap();
        assert_eq!(asked.len(), 1);
        assert_eq!(asked[0].kind, QuestionKind::Confirm);
        assert_eq!(asked[0].title, "Dangerous command");
        assert_eq!(asked[0].message.as_deref(), Some("Allow: rm -rf /"));
        assert_eq!(asked[0].event, "tool_call");
        assert_eq!(asked[0].module, path.display().to_string());
    }
}

#[test]
fn redacts_output() {
    let dir = ModuleDir::new();
    dir.write_file("redact.ts", REDACT);
    let event = json!({"type": "tool_result", "toolName": "read", "isError": false,
        "content": [{"type": "text", "text": "a API_KEY=123 b"}, {"type": "image", "data": "x"}]});
    let answer = dir.answer("redact.ts", emit_body(event));
    let expected = json!([{"content": [{"type": "text", "text": "a API_KEY=[REDACTED] b"},
                                       {"type": "image", "data": "x"}]}]);
    assert_eq!(answer["results"], expected);
    assert_eq!(answer.get("event"), None);
}

#[test]
fn filters_the_context() {
    let dir = ModuleDir::new();
    dir.write_file("context.ts", CONTEXT);
    let event = json!({"type": "context", "messages": [
        {"role": "custom", "customType": "debug-only"}, {"role": "user", "content": "hi"}]});
    let mut body = emit_body(event);
    body["chain"] = json!({"messages": "true"});
    body["fresh"] = json!(true);
    let answer = dir.answer("context.ts", body);
    let expected = json!([{"messages": [{"role": "user", "content": "hi"}]}]);
    assert_eq!(answer["results"], expected);
}

#[test]
fn registers_and_runs_a_command() {
    let dir = ModuleDir::new();
    dir.write_file("handoff.ts", HANDOFF);
    let listed = dir.answer("handoff.ts", json!({"op": "commands"}));
    let expected =
        json!([{"name": "handoff", "description": "Create a new session with setup message"}]);
    assert_eq!(listed["commands"], expected);
    let body = json!({"op": "command", "name": "handoff", "args": "",
                      "ctx": {"cwd": "/", "session": {"file": "/s.jsonl"}}});
    let answer = dir.answer("handoff.ts", body);
    assert_eq!(answer["errors"], json!([]));

    let effects = answer["effects"].as_array().unwrap();
    assert_eq!(effects[0]["type"], "waitForIdle");
    assert_eq!(effects[1]["type"], "newSession");
    assert_eq!(effects[1]["parentSession"], "/s.jsonl");
    assert_eq!(effects[1]["setup"][0]["method"], "appendMessage");
    assert_eq!(effects[1]["setup"][0]["args"][0]["role"], "user");
}
