//! The neutral form of events, for programs without a dialect: facts reach hooks, and the reply is
//! the decision.

use serde_json::{Value, json};

use crate::test_project::{TestProject, text};

fn fire(project: &TestProject, event: &Value) -> Value {
    let output = project.run(&["fire", "--from", "gambrel"], event.to_string().as_bytes());
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn the_reply_is_the_decision() {
    let project = TestProject::new();
    let hooks = json!({"hooks": {
        "on_tool_before": [{"rule": {"block": "rm -rf", "fact": "TOOL_COMMAND", "message": "no"}}],
        "on_tool_after": [{"rule": {"redact": "sk-\\w+", "with": "[key]"}}],
        "on_iteration_start": [{"rule": {"say": "production", "message": "read-only"}}],
    }});
    project.file(".gambrel/hooks.yaml", &hooks.to_string());
    let tool =
        |command: &str| json!({"kind": "shell", "name": "run", "args": {"command": command}});
    for (command, ruling) in [("rm -rf build", "deny"), ("ls", "silent")] {
        let facts = json!({"tool": tool(command)});
        let event = json!({"moment": "tool.before", "session": "s", "facts": facts});
        assert_eq!(fire(&project, &event)["ruling"], ruling, "{command}");
    }
    let mut done = tool("env");
    done["result"] = json!({"content": [{"type": "text", "text": "sk-abc"}]});
    let event = json!({"moment": "tool.after", "session": "s", "facts": {"tool": done}});
    let patch = fire(&project, &event)["patch"].take();
    assert_eq!(patch["output"]["content"][0]["text"], "[key]");
    let facts = json!({"prompt": "look at production"});
    let event = json!({"moment": "iteration.start", "session": "s", "facts": facts});
    assert_eq!(fire(&project, &event)["context"], json!(["read-only"]));
}

#[test]
fn variables_of_the_caller_reach_hooks_of_an_own_moment() {
    let project = TestProject::new();
    let command = "echo \"${TARGET} $TARGET\" > seen.txt";
    let action = json!({"type": "shell", "command": command, "await": true});
    let rule = json!({"rule": {"say": "prod", "fact": "TARGET", "message": "careful"}});
    let hooks = json!({"hooks": {"on_deploy_before": [action, rule]}});
    project.file(".gambrel/hooks.yaml", &hooks.to_string());
    let facts = json!({"vars": {"TARGET": "prod 1"}});
    let event = json!({"moment": "deploy.before", "session": "s", "facts": facts});
    assert_eq!(fire(&project, &event)["context"], json!(["careful"]));
    let seen = std::fs::read_to_string(project.root.join("seen.txt")).unwrap();
    assert_eq!(seen, "prod 1 prod 1\n");
}

#[test]
fn an_unreadable_tool_call_is_denied() {
    let project = TestProject::new();
    let broken = br#"{"moment": "tool.before", "session": "s", "#;
    let output = project.run(&["fire", "--from", "gambrel"], broken);
    let reply: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((output.status.code(), &reply["ruling"]), (Some(0), &json!("deny")));
    for event in ["garbage", r#"{"session": "s"}"#, r#"{"moment": "tool.after", "#] {
        let output = project.run(&["fire", "--from", "gambrel"], event.as_bytes());
        assert_eq!((output.status.code(), output.stdout.len()), (Some(64), 0), "{event}");
    }
}

#[test]
fn samples_of_all_moments_can_be_fired() {
    let project = TestProject::new();
    let list = project.json(&["sample", "gambrel", "--json"]);
    let moments = list.as_array().unwrap();
    assert!(moments.len() > 30, "{list}");
    for moment in moments {
        let name = moment["moment"].as_str().unwrap();
        let sample = project.json(&["sample", "gambrel", name, "--json"]);
        assert_eq!(fire(&project, &sample)["moment"], name);
    }
}
