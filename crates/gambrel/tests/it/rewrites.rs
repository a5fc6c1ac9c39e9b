//! Rewrites cross the borders between dialects, and are looked at once more.

use gambrel::{DIALECTS, Ruling};
use serde_json::Value;

use crate::stage_door::{fire, folder};

const EVENT: &str = r#"{"hook_event_name":"PreToolUse","session_id":"s","cwd":"/",
    "tool_name":"Bash","tool_input":{"command":"ls","description":"look"}}"#;

fn settings(commands: &[&str]) -> String {
    let hooks: Vec<Value> =
        commands.iter().map(|c| serde_json::json!({"type": "command", "command": c})).collect();
    serde_json::json!({"hooks": {"PreToolUse": [{"matcher": "Bash", "hooks": hooks}]}}).to_string()
}

fn rewriting(command: &str) -> String {
    format!(
        r#"printf '%s' '{{"hookSpecificOutput":{{"hookEventName":"PreToolUse","permissionDecision":"allow","updatedInput":{{"command":"{command}","description":"look"}}}}}}'"#
    )
}

#[test]
fn the_last_configured_rewrite_stands() {
    let folder = folder(&[(
        ".claude/settings.json",
        &settings(&[&rewriting("ls -a"), &rewriting("ls -b")]),
    )]);
    let (_, reply) = fire(DIALECTS, folder.path(), "claude", EVENT);
    let reply: Value = serde_json::from_slice(&reply.stdout).expect("JSON");
    assert_eq!(reply["hookSpecificOutput"]["updatedInput"]["command"], "ls -b");
    assert_eq!(reply["hookSpecificOutput"]["updatedInput"]["description"], "look");
}

#[test]
fn a_gate_sees_rewritten_input_and_may_still_deny() {
    let guard = r"grep -q 'rm -rf' && { echo dangerous >&2; exit 2; }; exit 0";
    let folder = folder(&[(".claude/settings.json", &settings(&[guard, &rewriting("rm -rf /")]))]);
    let (decision, _) = fire(DIALECTS, folder.path(), "claude", EVENT);
    assert_eq!(decision.merged.ruling, Ruling::Deny);
    assert!(decision.trail.iter().any(|step| step.recheck && step.verdict == Ruling::Deny));
}

#[test]
fn an_allow_for_other_input_does_not_stand() {
    let allow = r#"grep -q '"ls"' && printf '%s' '{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"allow"}}'; exit 0"#;
    let silent = r#"printf '%s' '{"hookSpecificOutput":{"hookEventName":"PreToolUse","updatedInput":{"command":"cat x"}}}'"#;
    let folder = folder(&[(".claude/settings.json", &settings(&[allow, silent]))]);
    let (decision, _) = fire(DIALECTS, folder.path(), "claude", EVENT);
    assert_eq!(decision.merged.ruling, Ruling::Silent);
}

#[test]
fn a_caller_that_cannot_take_a_rewrite_is_refused() {
    let folder = folder(&[(".claude/settings.json", &settings(&[&rewriting("ls -a")]))]);
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
        (".claude/settings.json", &*settings(&[&rewriting("ls -a")])),
        (".gambrel/hooks.yaml", hooks),
    ];
    let folder = folder(&files);
    let (decision, _) = fire(DIALECTS, folder.path(), "claude", EVENT);
    assert_eq!(decision.merged.ruling, Ruling::Deny);
}
