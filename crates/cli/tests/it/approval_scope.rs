//! An approval allows exactly the input that was shown. Other input needs another ticket, and input
//! that was shown in part is not allowed.

use serde_json::{Value, json};

use crate::approval_fixture::{ApprovalFixture, TIMEOUT_SECS};
use crate::test_project::text;

fn gate_fixture() -> ApprovalFixture {
    let fixture = ApprovalFixture::new();
    fixture.add_question("on_tool_before", TIMEOUT_SECS);
    fixture
}

/// Fires as Claude Code with a budget of one second, and returns the reply.
fn fire_hosted(fixture: &ApprovalFixture, tool: &str, input: Value) -> Value {
    let event = json!({"hook_event_name": "PreToolUse", "session_id": "s", "tool_name": tool,
        "tool_input": input, "tool_use_id": "1"});
    let args = ["fire", "--from", "claude", "--hosted", "--budget", "1"];
    let output = fixture.project.run(&args, event.to_string().as_bytes());
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap_or(Value::Null)
}

fn ruling(reply: &Value) -> &str {
    reply["hookSpecificOutput"]["permissionDecision"].as_str().unwrap_or("silent")
}

/// Approves the only open ticket.
fn approve(fixture: &ApprovalFixture) -> Value {
    let id = fixture.open_ticket("s");
    let ticket = fixture.tickets(&[]).remove(0);
    let done = fixture.project.json(&["approve", &id, "--message", "go", "--json"]);
    assert_eq!(done["status"], "recorded");
    ticket
}

fn shown_fact(ticket: &Value, name: &str) -> Option<String> {
    let shown = ticket["shown"].as_array().unwrap().iter().find(|fact| fact["name"] == name)?;
    Some(shown["text"].as_str().unwrap().to_owned())
}

#[test]
fn approves_only_the_input_that_was_shown() {
    let fixture = gate_fixture();
    assert_eq!(ruling(&fire_hosted(&fixture, "Bash", json!({"command": "deploy"}))), "deny");
    approve(&fixture);
    let other = fire_hosted(&fixture, "Bash", json!({"command": "deploy --force"}));
    assert_eq!(ruling(&other), "deny", "{other}");
    let second = fixture.open_ticket("s");
    assert!(other.to_string().contains(&second), "{other}");
    let allowed = fire_hosted(&fixture, "Bash", json!({"command": "deploy"}));
    assert_eq!(ruling(&allowed), "allow", "{allowed}");
    let context = &allowed["hookSpecificOutput"]["additionalContext"];
    assert!(context.as_str().unwrap().contains("the approver says: go"), "{allowed}");
    assert_eq!(fixture.open_ticket("s"), second, "the other question still waits");
}

#[test]
fn shows_all_input_fields_and_asks_again_without_them() {
    let fixture = gate_fixture();
    let loose = json!({"command": "deploy", "dangerouslyDisableSandbox": true});
    fire_hosted(&fixture, "Bash", loose.clone());
    let ticket = approve(&fixture);
    let unsafe_field = shown_fact(&ticket, "input.dangerouslyDisableSandbox");
    assert_eq!(unsafe_field.as_deref(), Some("true"), "{ticket}");
    assert_eq!(shown_fact(&ticket, "input.command"), None, "it is shown as the command");
    let plain = fire_hosted(&fixture, "Bash", json!({"command": "deploy"}));
    assert_eq!(ruling(&plain), "deny", "{plain}");
    let allowed = fire_hosted(&fixture, "Bash", loose);
    assert_eq!(ruling(&allowed), "allow", "{allowed}");
}

#[test]
fn does_not_allow_input_that_is_too_long_to_show() {
    let fixture = gate_fixture();
    let long = json!({"command": format!("echo {} && deploy", "x".repeat(20_000))});
    fire_hosted(&fixture, "Bash", long.clone());
    let ticket = approve(&fixture);
    let command = shown_fact(&ticket, "Command").unwrap();
    assert!(command.ends_with("… (the rest is not shown)"), "{command}");
    let reply = fire_hosted(&fixture, "Bash", long);
    assert_eq!(ruling(&reply), "silent", "{reply}");
    assert!(reply["systemMessage"].as_str().unwrap().contains("only the beginning"), "{reply}");
    assert_eq!(fixture.recorded_answer()["action"], "approve");
}
