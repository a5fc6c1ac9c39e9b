//! Events that cannot be read: a tool gate is denied. Other events of a live host pass, and the
//! session's next reply reports them.

use serde_json::Value;

use crate::test_project::{BASH_LS, TestProject, text};

const HOSTED: [&str; 4] = ["fire", "--from", "claude", "--hosted"];

fn reply(output: &std::process::Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", text(&output.stderr)))
}

#[test]
fn denies_a_tool_gate_named_on_the_command_line() {
    let project = TestProject::new();
    for stdin in ["", "not json", "[]", "{\"tool_name\": \"Bash\", "] {
        let mut args = HOSTED.to_vec();
        args.extend(["--event", "PreToolUse"]);
        let output = project.run(&args, stdin.as_bytes());
        assert_eq!(output.status.code(), Some(0), "{stdin:?}: {}", text(&output.stderr));
        let own = &reply(&output)["hookSpecificOutput"];
        assert_eq!(own["permissionDecision"], "deny", "{stdin:?}");
        let reason = own["permissionDecisionReason"].as_str().unwrap();
        assert!(reason.contains("could not read this event"), "{reason}");
    }
}

#[test]
fn salvages_the_event_name_from_the_payload() {
    let project = TestProject::new();
    let broken = BASH_LS.replace('}', "");
    for args in [&HOSTED[..], &HOSTED[..3]] {
        let output = project.run(args, broken.as_bytes());
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        assert_eq!(reply(&output)["hookSpecificOutput"]["permissionDecision"], "deny");
    }
    let copilot = r#"{"hookName":"permissionRequest","toolName":"bash","toolInput":{"#;
    let output = project.run(&HOSTED, copilot.as_bytes());
    assert_eq!(reply(&output)["behavior"], "deny");
    let decision = project.decide("claude", &broken);
    assert_eq!((&decision["ruling"], &decision["moment"]), (&"deny".into(), &"tool.before".into()));
}

#[test]
fn takes_the_event_name_from_the_flag() {
    let project = TestProject::new();
    project.guard("echo no >&2; exit 2", 5);
    let nameless = BASH_LS.replace("\"hook_event_name\":\"PreToolUse\",", "");
    let args = ["fire", "--from", "claude", "--event", "PreToolUse"];
    let output = project.run(&args, nameless.as_bytes());
    assert_eq!(reply(&output)["hookSpecificOutput"]["permissionDecisionReason"], "no");
}

#[test]
fn other_unreadable_events_pass_and_are_reported_later() {
    let project = TestProject::new();
    let broken = r#"{"hook_event_name":"PostToolUse","session_id":"s","#;
    for stdin in [broken, "garbage"] {
        let output = project.run(&HOSTED, stdin.as_bytes());
        assert_eq!(output.status.code(), Some(0));
        assert_eq!((text(&output.stdout), text(&output.stderr)), (String::new(), String::new()));
    }
    let log = text(&project.run(&["log", "--json"], b"").stdout);
    assert_eq!(log.matches("not JSON").count(), 2, "the journal has both: {log}");
    let end = r#"{"hook_event_name":"SessionEnd","session_id":"s","reason":"other"}"#;
    assert_eq!(text(&project.run(&HOSTED, end.as_bytes()).stdout), "", "the host discards it");
    let next = project.run(&HOSTED, BASH_LS.as_bytes());
    let message = reply(&next)["systemMessage"].as_str().unwrap().to_owned();
    assert!(message.contains("PostToolUse") && message.contains("could not read"), "{message}");
    assert_eq!(
        message.matches("could not read").count(),
        2,
        "also the one without a session: {message}"
    );
    let after = project.run(&HOSTED, BASH_LS.as_bytes());
    assert_eq!(text(&after.stdout), "", "once is enough");
}

#[test]
fn denies_only_tool_gates_without_a_host() {
    let project = TestProject::new();
    let stop = r#"{"hook_event_name":"Stop","session_id":"s","#;
    for stdin in [stop, "garbage"] {
        let output = project.run(&HOSTED[..3], stdin.as_bytes());
        assert_eq!(output.status.code(), Some(64), "{stdin}");
        assert!(!output.stderr.is_empty());
    }
    let call = r#"{"type":"tool_call","toolName":"bash","input":{"#;
    let output = project.run(&["fire", "--from", "omp"], call.as_bytes());
    assert_eq!(reply(&output)["block"], true);
}

#[test]
fn event_flag_wins_over_names_in_the_payload() {
    let project = TestProject::new();
    let inside =
        r#"{"tool_input":{"hook_event_name":"SessionEnd"},"hook_event_name":"PreToolUse", tru"#;
    let other = r#"{"hook_event_name":"SessionEnd","tool_in"#;
    for stdin in [inside, other] {
        let mut args = HOSTED.to_vec();
        args.extend(["--event", "PreToolUse"]);
        let output = project.run(&args, stdin.as_bytes());
        assert_eq!(reply(&output)["hookSpecificOutput"]["permissionDecision"], "deny", "{stdin}");
    }
    for stdin in [
        r#"{"hook_event_name":"Pre\u0054oolUse","x":1e999}"#,
        r#"{"hook_event_name":"PostToolUse","hook_event_name":"PreToolUse","x":"#,
    ] {
        let output = project.run(&HOSTED, stdin.as_bytes());
        assert_eq!(reply(&output)["hookSpecificOutput"]["permissionDecision"], "deny", "{stdin}");
    }
    let permission = r#"{"tool_input":{"hook_event_name":"SessionEnd"},"hook_event_name":"PermissionRequest","x"#;
    let output = project.run(&HOSTED, permission.as_bytes());
    assert_eq!(reply(&output)["hookSpecificOutput"]["decision"]["behavior"], "deny");
}

#[test]
fn recognises_misspelled_event_names_at_a_gate() {
    let project = TestProject::new();
    project.file(
        ".gambrel/hooks.yaml",
        "hooks: {on_tool_before: [{rule: {block: ls, fact: TOOL_COMMAND, message: no}}]}\n",
    );
    for name in ["preToolUse", "BeforeTool", "PreToolUseX"] {
        let mut args = HOSTED.to_vec();
        args.extend(["--event", "PreToolUse"]);
        let event = BASH_LS.replace("PreToolUse", name);
        let output = project.run(&args, event.as_bytes());
        assert_eq!(
            reply(&output)["hookSpecificOutput"]["permissionDecisionReason"],
            "no",
            "{name}"
        );
    }
}
