//! The same modules and events through the product's own `HookRunner` and through `gambrel fire`
//! decide alike. The modules are in `fixtures/omp/modules.txt`; each receives every event here.

use serde_json::{Value, json};

use crate::runner_comparison::{Comparison, Difference, compare, truthy};
use crate::test_project::TestProject;

pub const MODULES: &str = include_str!("fixtures/omp/modules.txt");
const RUNNER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/fixtures/omp/real-runner.ts");

/// The intended differences.
const DIFFERENCES: &[Difference] = &[(
    "the event is shared or fresh",
    "*",
    "handlers of one module share an event; another module gets its own copy",
)];

/// The events of oh-my-pi's hook runner.
pub fn events() -> Vec<Value> {
    let tool = json!({"toolName": "bash", "toolCallId": "1", "input": {"command": "ls"}});
    let messages = json!([{"role": "user", "content": "one"}, {"role": "user", "content": "two"}]);
    let with = |base: &Value, more: Value| {
        let mut event = base.clone();
        event.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        event
    };
    let content = json!([{"type": "text", "text": "old"}]);
    vec![
        with(&tool, json!({"type": "tool_call"})),
        with(
            &tool,
            json!({"type": "tool_result", "content": content, "details": {"old": 1}, "isError": false}),
        ),
        with(&tool, json!({"type": "tool_result", "content": content, "isError": true})),
        json!({"type": "context", "messages": messages}),
        json!({"type": "before_agent_start", "prompt": "go"}),
        json!({"type": "session_before_switch", "reason": "new"}),
        json!({"type": "session_before_branch", "entryId": "1"}),
        json!({"type": "session_before_compact", "preparation": {}, "branchEntries": []}),
        json!({"type": "session_before_tree", "preparation": {"targetId": "1"}}),
        json!({"type": "session.compacting", "sessionId": "s", "messages": messages}),
        json!({"type": "session_start"}),
        json!({"type": "agent_end", "messages": messages}),
        json!({"type": "turn_end", "turnIndex": 1, "message": {"role": "assistant", "content": []}, "toolResults": []}),
        json!({"type": "todo_reminder", "todos": [], "attempt": 1, "maxAttempts": 3}),
    ]
}

/// Turns a result into what the host would do.
pub fn normalize(event: &Value, mut report: Value) -> Value {
    let result = report["result"].take();
    report.as_object_mut().unwrap().remove("unloaded");
    let field = |name: &str, old: &Value| match result.get(name) {
        Some(new) if !new.is_null() => new.clone(),
        _ => old.clone(),
    };
    report["result"] = match event["type"].as_str().unwrap() {
        "tool_call" if result["block"] == true => {
            json!({"block": true, "reason": result["reason"]})
        }
        "tool_call" => json!({"block": false}),
        "tool_result" => json!({
            "content": field("content", &event["content"]),
            "details": field("details", &event["details"]),
        }),
        "context" => json!({"messages": field("messages", &event["messages"])}),
        "before_agent_start" => json!({"message": result["message"]}),
        name if name.starts_with("session_before") => {
            let mut kept = result.as_object().cloned().unwrap_or_default();
            let cancel = kept.remove("cancel");
            // gambrel adds a reason; callers of the runner read only `cancel`.
            kept.remove("reason");
            json!({"cancel": cancel.is_some_and(|c| truthy(&c)), "more": kept})
        }
        "session.compacting" => {
            let fields = ["context", "prompt", "preserveData"];
            fields.iter().map(|name| (*name, result[*name].clone())).collect()
        }
        _ => result,
    };
    // A failed tool call is reported by its reason alone.
    if event["type"] == "tool_call" {
        report["errors"] = json!([]);
    }
    report
}

#[test]
fn decides_like_the_real_hook_runner() {
    let comparison = Comparison {
        runner: RUNNER,
        modules: MODULES.into(),
        events: events(),
        normalize,
        differences: DIFFERENCES,
    };
    compare(&TestProject::new(), &comparison);
}
