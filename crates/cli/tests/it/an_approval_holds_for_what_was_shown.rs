//! A person's yes allows exactly the input that was shown: other input is another ticket, and what
//! was not shown as a whole is not allowed.

use serde_json::{Value, json};

use crate::approval_scene::{Scene, TIMEOUT};
use crate::ground::text;

fn gate() -> Scene {
    let scene = Scene::new();
    scene.hang("on_tool_before", TIMEOUT);
    scene
}

/// What Claude Code is told by a hook that has one second.
fn hosted(scene: &Scene, tool: &str, input: Value) -> Value {
    let event = json!({"hook_event_name": "PreToolUse", "session_id": "s", "tool_name": tool,
        "tool_input": input, "tool_use_id": "1"});
    let args = ["fire", "--from", "claude", "--hosted", "--budget", "1"];
    let output = scene.ground.run(&args, event.to_string().as_bytes());
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap_or(Value::Null)
}

fn ruling(told: &Value) -> &str {
    told["hookSpecificOutput"]["permissionDecision"].as_str().unwrap_or("silent")
}

/// Approves the one question that waits.
fn approve(scene: &Scene) -> Value {
    let id = scene.ticket_of("s");
    let ticket = scene.tickets(&[]).remove(0);
    let done = scene.ground.json(&["approve", &id, "--message", "go", "--json"]);
    assert_eq!(done["status"], "recorded");
    ticket
}

fn shown(ticket: &Value, name: &str) -> Option<String> {
    let shown = ticket["shown"].as_array().unwrap().iter().find(|fact| fact["name"] == name)?;
    Some(shown["text"].as_str().unwrap().to_owned())
}

#[test]
fn an_answer_for_one_input_allows_no_other() {
    let scene = gate();
    assert_eq!(ruling(&hosted(&scene, "Bash", json!({"command": "deploy"}))), "deny");
    approve(&scene);
    let other = hosted(&scene, "Bash", json!({"command": "deploy --force"}));
    assert_eq!(ruling(&other), "deny", "{other}");
    let second = scene.ticket_of("s");
    assert!(other.to_string().contains(&second), "{other}");
    let allowed = hosted(&scene, "Bash", json!({"command": "deploy"}));
    assert_eq!(ruling(&allowed), "allow", "{allowed}");
    let context = &allowed["hookSpecificOutput"]["additionalContext"];
    assert!(context.as_str().unwrap().contains("the approver says: go"), "{allowed}");
    assert_eq!(scene.ticket_of("s"), second, "the other question still waits");
}

#[test]
fn fields_beside_a_command_are_shown_and_make_another_question() {
    let scene = gate();
    let loose = json!({"command": "deploy", "dangerouslyDisableSandbox": true});
    hosted(&scene, "Bash", loose.clone());
    let ticket = approve(&scene);
    let input = shown(&ticket, "Input").unwrap();
    assert!(input.contains("dangerouslyDisableSandbox"), "{ticket}");
    let plain = hosted(&scene, "Bash", json!({"command": "deploy"}));
    assert_eq!(ruling(&plain), "deny", "{plain}");
    let allowed = hosted(&scene, "Bash", loose);
    assert_eq!(ruling(&allowed), "allow", "{allowed}");
}

#[test]
fn input_that_is_too_long_to_be_shown_is_not_allowed() {
    let scene = gate();
    let long = json!({"command": format!("echo {} && deploy", "x".repeat(4_000))});
    hosted(&scene, "Bash", long.clone());
    let ticket = approve(&scene);
    let command = shown(&ticket, "Command").unwrap();
    assert!(command.ends_with("… (the rest is not shown)"), "{command}");
    let told = hosted(&scene, "Bash", long);
    assert_eq!(ruling(&told), "silent", "{told}");
    assert!(told["systemMessage"].as_str().unwrap().contains("only the beginning"), "{told}");
    assert_eq!(scene.heard()["action"], "approve");
}
