//! The four example modules of oh-my-pi's hook documentation, unchanged.

use gambrel_script::{Ask, AskKind, ScriptSettings};
use serde_json::{Value, json};
use std::sync::Arc;

use crate::stand::{Stand, bash, emit};

const BLOCK: &str = include_str!("../../../cli/tests/it/fixtures/omp/block-unsafe-bash.ts");
const REDACT: &str = include_str!("../../../cli/tests/it/fixtures/omp/redact-output.ts");
const CONTEXT: &str = include_str!("../../../cli/tests/it/fixtures/omp/filter-context.ts");
const HANDOFF: &str = include_str!("../../../cli/tests/it/fixtures/omp/handoff-command.ts");

#[test]
fn blocks_without_a_person() {
    let stand = Stand::new();
    stand.write("guard.ts", BLOCK);
    let answer = stand.answer("guard.ts", bash("rm -rf /"));
    assert_eq!(answer["results"], json!([{"block": true, "reason": "rm -rf blocked (no UI)"}]));
    assert_eq!(answer["truthy"], json!([true]));
    assert_eq!(answer["handlers"], 1);
    assert_eq!(answer.get("event"), None);
    let answer = stand.answer("guard.ts", bash("ls"));
    assert_eq!((&answer["results"], &answer["truthy"]), (&json!([null]), &json!([false])));
}

#[test]
fn asks_a_person() {
    for yes in [true, false] {
        let asked = Arc::new(std::sync::Mutex::new(Vec::<Ask>::new()));
        let heard = Arc::clone(&asked);
        let ask = move |ask: &Ask| {
            heard.lock().unwrap().push(ask.clone());
            Some(Value::Bool(yes))
        };
        let settings = ScriptSettings { ask: Some(Arc::new(ask)), ..Default::default() };
        let stand = Stand::with(settings);
        let path = stand.write("guard.ts", BLOCK);
        let mut body = bash("rm -rf /");
        body["ctx"]["hasUI"] = json!(true);
        let answer = stand.answer("guard.ts", body);
        let denied = json!({"block": true, "reason": "user denied command"});
        assert_eq!(answer["results"], if yes { json!([null]) } else { json!([denied]) });
        let asked = asked.lock().unwrap();
        assert_eq!(asked.len(), 1);
        assert_eq!(asked[0].kind, AskKind::Confirm);
        assert_eq!(asked[0].title, "Dangerous command");
        assert_eq!(asked[0].message.as_deref(), Some("Allow: rm -rf /"));
        assert_eq!(asked[0].event, "tool_call");
        assert_eq!(asked[0].module, path.display().to_string());
    }
}

#[test]
fn redacts_output() {
    let stand = Stand::new();
    stand.write("redact.ts", REDACT);
    let event = json!({"type": "tool_result", "toolName": "read", "isError": false,
        "content": [{"type": "text", "text": "a API_KEY=123 b"}, {"type": "image", "data": "x"}]});
    let answer = stand.answer("redact.ts", emit(event));
    let expected = json!([{"content": [{"type": "text", "text": "a API_KEY=[REDACTED] b"},
                                       {"type": "image", "data": "x"}]}]);
    assert_eq!(answer["results"], expected);
    assert_eq!(answer.get("event"), None);
}

#[test]
fn changes_the_context() {
    let stand = Stand::new();
    stand.write("context.ts", CONTEXT);
    let event = json!({"type": "context", "messages": [
        {"role": "custom", "customType": "debug-only"}, {"role": "user", "content": "hi"}]});
    let mut body = emit(event);
    body["chain"] = json!({"messages": "true"});
    body["fresh"] = json!(true);
    let answer = stand.answer("context.ts", body);
    let expected = json!([{"messages": [{"role": "user", "content": "hi"}]}]);
    assert_eq!(answer["results"], expected);
}

#[test]
fn registers_and_runs_a_command() {
    let stand = Stand::new();
    stand.write("handoff.ts", HANDOFF);
    let listed = stand.answer("handoff.ts", json!({"op": "commands"}));
    let expected =
        json!([{"name": "handoff", "description": "Create a new session with setup message"}]);
    assert_eq!(listed["commands"], expected);
    let body = json!({"op": "command", "name": "handoff", "args": "",
                      "ctx": {"cwd": "/", "session": {"file": "/s.jsonl"}}});
    let answer = stand.answer("handoff.ts", body);
    assert_eq!(answer["errors"], json!([]));
    let effects = answer["effects"].as_array().unwrap();
    assert_eq!(effects[0]["type"], "waitForIdle");
    assert_eq!(effects[1]["type"], "newSession");
    assert_eq!(effects[1]["parentSession"], "/s.jsonl");
    assert_eq!(effects[1]["setup"][0]["method"], "appendMessage");
    assert_eq!(effects[1]["setup"][0]["args"][0]["role"], "user");
}
