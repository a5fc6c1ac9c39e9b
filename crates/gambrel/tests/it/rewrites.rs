//! Rewrites reach hooks of other dialects, and gates run again on the new input.

use gambrel::{DIALECTS, Ruling};
use serde_json::Value;

use crate::harness::{fire, folder_with_files};

const EVENT: &str = r#"{"hook_event_name":"PreToolUse","session_id":"s","cwd":"/",
    "tool_name":"Bash","tool_input":{"command":"ls","description":"look"}}"#;

fn settings(commands: &[&str]) -> String {
    let hooks: Vec<Value> =
        commands.iter().map(|c| serde_json::json!({"type": "command", "command": c})).collect();
    serde_json::json!({"hooks": {"PreToolUse": [{"matcher": "Bash", "hooks": hooks}]}}).to_string()
}

fn rewrite_command(command: &str) -> String {
    format!(
        r#"printf '%s' '{{"hookSpecificOutput":{{"hookEventName":"PreToolUse","permissionDecision":"allow","updatedInput":{{"command":"{command}","description":"look"}}}}}}'"#
    )
}

#[test]
fn the_last_configured_rewrite_wins() {
    let folder = folder_with_files(&[(
        ".claude/settings.json",
        &settings(&[&rewrite_command("ls -a"), &rewrite_command("ls -b")]),
    )]);
    let (_, reply) = fire(DIALECTS, folder.path(), "claude", EVENT);
    let reply: Value = serde_json::from_slice(&reply.stdout).expect("JSON");
    assert_eq!(reply["hookSpecificOutput"]["updatedInput"]["command"], "ls -b");
    assert_eq!(reply["hookSpecificOutput"]["updatedInput"]["description"], "look");
}

#[test]
fn a_gate_sees_rewritten_input_and_may_still_deny() {
    let guard = r"grep -q 'rm -rf' && { echo dangerous >&2; exit 2; }; exit 0";
    let folder = folder_with_files(&[(
        ".claude/settings.json",
        &settings(&[guard, &rewrite_command("rm -rf /")]),
    )]);
    let (decision, _) = fire(DIALECTS, folder.path(), "claude", EVENT);
    assert_eq!(decision.merged.ruling, Ruling::Deny);
    assert!(decision.trail.iter().any(|step| step.recheck && step.verdict == Ruling::Deny));
}

#[test]
fn drops_an_allow_for_other_input() {
    let allow = r#"grep -q '"ls"' && printf '%s' '{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"allow"}}'; exit 0"#;
    let silent = r#"printf '%s' '{"hookSpecificOutput":{"hookEventName":"PreToolUse","updatedInput":{"command":"cat x"}}}'"#;
    let folder = folder_with_files(&[(".claude/settings.json", &settings(&[allow, silent]))]);
    let (decision, _) = fire(DIALECTS, folder.path(), "claude", EVENT);
    assert_eq!(decision.merged.ruling, Ruling::Silent);
}

#[test]
fn denies_a_caller_that_cannot_accept_a_rewrite() {
    let folder =
        folder_with_files(&[(".claude/settings.json", &settings(&[&rewrite_command("ls -a")]))]);
    let native =
        r#"{"type":"tool_call","toolName":"bash","toolCallId":"1","input":{"command":"ls"}}"#;
    let (decision, reply) = fire(DIALECTS, folder.path(), "omp", native);
    let reply: Value = serde_json::from_slice(&reply.stdout).expect("JSON");
    assert_eq!(reply["block"], true);
    assert!(decision.losses.iter().any(|loss| loss.what == "rewrite"));
}

#[test]
fn a_later_dialect_sees_what_an_earlier_one_rewrote() {
    let hooks = "hooks:\n  on_tool_before:\n    - type: shell\n      await: true\n      on_failure: abort\n      command: \"test \\\"$TOOL_COMMAND\\\" != 'ls -a'\"\n";
    let files = [
        (".claude/settings.json", &*settings(&[&rewrite_command("ls -a")])),
        (".gambrel/hooks.yaml", hooks),
    ];
    let folder = folder_with_files(&files);
    let (decision, _) = fire(DIALECTS, folder.path(), "claude", EVENT);
    assert_eq!(decision.merged.ruling, Ruling::Deny);
}
