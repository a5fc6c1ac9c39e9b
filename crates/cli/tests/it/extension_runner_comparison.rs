//! The same modules and events through the product's own `ExtensionRunner` and through `gambrel
//! fire` in the edition `extensions` decide alike.

use serde_json::{Value, json};

use crate::hook_runner_comparison;
use crate::runner_comparison::{Comparison, Difference, compare, truthy};
use crate::test_project::TestProject;

const MODULES: &str = include_str!("fixtures/omp/extension-modules.txt");
const RUNNER: &str =
    concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/fixtures/omp/extension-runner.ts");

const COPIED: &str = "messages are changed in place and returned";
const WHY_COPIED: &str = "only in the chain of context do changes in place reach another module";

/// The intended differences.
const DIFFERENCES: &[Difference] = &[
    (
        "the event is shared or fresh",
        "*",
        "handlers of one module share an event; another module gets its own copy",
    ),
    (
        "order of modules and handlers",
        "session_shutdown",
        "modules run in parallel; their requests are reported by module",
    ),
    ("the context", "*", "one context for both editions: hooks ask hasQueuedMessages"),
    (
        "what a handler does to its input",
        "tool_call",
        "the hooks edition: the input is not changed in place; a handler returns another",
    ),
    (
        "other input, then a later module's empty object",
        "tool_call",
        "a rewrite stands until another takes its place: an empty result does not undo a guard's",
    ),
    (COPIED, "session.compacting", WHY_COPIED),
    (COPIED, "agent_end", WHY_COPIED),
    (COPIED, "session_stop", WHY_COPIED),
];

fn events() -> Vec<Value> {
    let mut events = hook_runner_comparison::events();
    for event in events.iter_mut().filter(|event| event["type"] == "before_agent_start") {
        event["systemPrompt"] = json!(["base"]);
    }
    events.extend([
        json!({"type": "input", "text": "typed", "source": "interactive"}),
        json!({"type": "session_stop", "messages": [{"role": "user", "content": "one"}], "turn_id": 1, "session_id": "s", "stop_hook_active": false}),
        json!({"type": "user_bash", "command": "ls", "excludeFromContext": false, "cwd": "/"}),
        json!({"type": "user_python", "code": "1", "excludeFromContext": false, "cwd": "/"}),
        json!({"type": "message_end", "message": {"role": "user", "content": "one"}}),
        json!({"type": "tool_approval_requested", "sessionId": "s", "toolName": "bash", "toolCallId": "1", "approvalMode": "always-ask"}),
        json!({"type": "session_shutdown"}),
    ]);
    events
}

fn normalize(event: &Value, mut report: Value) -> Value {
    let result = report["result"].take();
    report.as_object_mut().unwrap().remove("unloaded");
    let field = |name: &str| match result.get(name) {
        Some(new) if !new.is_null() => new.clone(),
        _ => event[name].clone(),
    };
    report["result"] = match event["type"].as_str().unwrap() {
        "tool_call" if result["block"] == true => {
            json!({"block": true, "reason": result["reason"]})
        }
        "tool_call" => json!({"input": field("input")}),
        "tool_result" => json!({
            "content": field("content"),
            "details": field("details"),
            "isError": truthy(&field("isError")),
        }),
        "before_agent_start" => {
            let none = json!([]);
            let messages = result.get("messages").unwrap_or(&none);
            json!({"messages": messages, "systemPrompt": field("systemPrompt")})
        }
        "input" if result.get("handled").is_some_and(truthy) => json!({"handled": true}),
        "input" => json!({"text": field("text"), "images": field("images")}),
        "session_stop" => continuation(&result),
        "user_bash" | "user_python" => result["result"].clone(),
        "tool_approval_requested" | "message_end" | "session_shutdown" => Value::Null,
        _ => {
            report["result"] = result;
            return hook_runner_comparison::normalize(event, report);
        }
    };
    if event["type"] == "tool_call" {
        report["errors"] = json!([]);
    }
    report
}

/// The text with which the host continues the session, if it does.
fn continuation(result: &Value) -> Value {
    let text_of = |name: &str| result[name].as_str().filter(|text| !text.is_empty());
    let (more, reason) = (text_of("additionalContext"), text_of("reason"));
    match (&result["decision"], &result["continue"]) {
        (decision, _) if decision == "block" => json!(reason.or(more).unwrap_or("the host's own")),
        (_, Value::Bool(true)) => json!(more.or(reason)),
        _ => Value::Null,
    }
}

#[test]
fn decides_like_the_real_extension_runner() {
    let comparison = Comparison {
        runner: RUNNER,
        modules: format!("{}{MODULES}", hook_runner_comparison::MODULES),
        events: events(),
        normalize,
        differences: DIFFERENCES,
    };
    compare(&TestProject::new().with("GAMBREL_OMP_EDITION", "extensions"), &comparison);
}
