//! An event that cannot be read: a tool gate is refused, any other event of a live host passes and
//! the user is told by the session's next reply.

use serde_json::Value;

use crate::ground::{BASH_LS, Ground, text};

const HOSTED: [&str; 4] = ["fire", "--from", "claude", "--hosted"];

fn reply(output: &std::process::Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", text(&output.stderr)))
}

#[test]
fn with_its_name_on_the_command_line_a_tool_gate_is_refused() {
    let ground = Ground::new();
    for stdin in ["", "not json", "[]", "{\"tool_name\": \"Bash\", "] {
        let mut args = HOSTED.to_vec();
        args.extend(["--event", "PreToolUse"]);
        let output = ground.run(&args, stdin.as_bytes());
        assert_eq!(output.status.code(), Some(0), "{stdin:?}: {}", text(&output.stderr));
        let own = &reply(&output)["hookSpecificOutput"];
        assert_eq!(own["permissionDecision"], "deny", "{stdin:?}");
        let reason = own["permissionDecisionReason"].as_str().unwrap();
        assert!(reason.contains("could not read this event"), "{reason}");
    }
}

#[test]
fn salvages_the_event_name_from_the_payload() {
    let ground = Ground::new();
    let broken = BASH_LS.replace('}', "");
    for args in [&HOSTED[..], &HOSTED[..3]] {
        let output = ground.run(args, broken.as_bytes());
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        assert_eq!(reply(&output)["hookSpecificOutput"]["permissionDecision"], "deny");
    }
    let copilot = r#"{"hookName":"permissionRequest","toolName":"bash","toolInput":{"#;
    let output = ground.run(&HOSTED, copilot.as_bytes());
    assert_eq!(reply(&output)["behavior"], "deny");
    let decision = ground.decide("claude", &broken);
    assert_eq!((&decision["ruling"], &decision["moment"]), (&"deny".into(), &"tool.before".into()));
}

#[test]
fn the_event_is_named_where_the_payload_does_not() {
    let ground = Ground::new();
    ground.guard("echo no >&2; exit 2", 5);
    let nameless = BASH_LS.replace("\"hook_event_name\":\"PreToolUse\",", "");
    let args = ["fire", "--from", "claude", "--event", "PreToolUse"];
    let output = ground.run(&args, nameless.as_bytes());
    assert_eq!(reply(&output)["hookSpecificOutput"]["permissionDecisionReason"], "no");
}

#[test]
fn other_unreadable_events_pass_and_are_reported_later() {
    let ground = Ground::new();
    let broken = r#"{"hook_event_name":"PostToolUse","session_id":"s","#;
    for stdin in [broken, "garbage"] {
        let output = ground.run(&HOSTED, stdin.as_bytes());
        assert_eq!(output.status.code(), Some(0));
        assert_eq!((text(&output.stdout), text(&output.stderr)), (String::new(), String::new()));
    }
    let log = text(&ground.run(&["log", "--json"], b"").stdout);
    assert_eq!(log.matches("not JSON").count(), 2, "the journal has both: {log}");
    let end = r#"{"hook_event_name":"SessionEnd","session_id":"s","reason":"other"}"#;
    assert_eq!(text(&ground.run(&HOSTED, end.as_bytes()).stdout), "", "the host discards it");
    let next = ground.run(&HOSTED, BASH_LS.as_bytes());
    let told = reply(&next)["systemMessage"].as_str().unwrap().to_owned();
    assert!(told.contains("PostToolUse") && told.contains("could not read"), "{told}");
    assert_eq!(told.matches("could not read").count(), 2, "also the one without a session: {told}");
    let after = ground.run(&HOSTED, BASH_LS.as_bytes());
    assert_eq!(text(&after.stdout), "", "once is enough");
}

#[test]
fn without_a_host_only_a_tool_gate_is_refused() {
    let ground = Ground::new();
    let stop = r#"{"hook_event_name":"Stop","session_id":"s","#;
    for stdin in [stop, "garbage"] {
        let output = ground.run(&HOSTED[..3], stdin.as_bytes());
        assert_eq!(output.status.code(), Some(64), "{stdin}");
        assert!(!output.stderr.is_empty());
    }
    let call = r#"{"type":"tool_call","toolName":"bash","input":{"#;
    let output = ground.run(&["fire", "--from", "omp"], call.as_bytes());
    assert_eq!(reply(&output)["block"], true);
}

#[test]
fn event_flag_wins_over_names_in_the_payload() {
    let ground = Ground::new();
    let inside =
        r#"{"tool_input":{"hook_event_name":"SessionEnd"},"hook_event_name":"PreToolUse", tru"#;
    let other = r#"{"hook_event_name":"SessionEnd","tool_in"#;
    for stdin in [inside, other] {
        let mut args = HOSTED.to_vec();
        args.extend(["--event", "PreToolUse"]);
        let output = ground.run(&args, stdin.as_bytes());
        assert_eq!(reply(&output)["hookSpecificOutput"]["permissionDecision"], "deny", "{stdin}");
    }
    for stdin in [
        r#"{"hook_event_name":"Pre\u0054oolUse","x":1e999}"#,
        r#"{"hook_event_name":"PostToolUse","hook_event_name":"PreToolUse","x":"#,
    ] {
        let output = ground.run(&HOSTED, stdin.as_bytes());
        assert_eq!(reply(&output)["hookSpecificOutput"]["permissionDecision"], "deny", "{stdin}");
    }
    let permission = r#"{"tool_input":{"hook_event_name":"SessionEnd"},"hook_event_name":"PermissionRequest","x"#;
    let output = ground.run(&HOSTED, permission.as_bytes());
    assert_eq!(reply(&output)["hookSpecificOutput"]["decision"]["behavior"], "deny");
}

#[test]
fn recognises_misspelled_event_names_at_a_gate() {
    let ground = Ground::new();
    ground.file(
        ".gambrel/hooks.yaml",
        "hooks: {on_tool_before: [{rule: {block: ls, fact: TOOL_COMMAND, message: no}}]}\n",
    );
    for name in ["preToolUse", "BeforeTool", "PreToolUseX"] {
        let mut args = HOSTED.to_vec();
        args.extend(["--event", "PreToolUse"]);
        let event = BASH_LS.replace("PreToolUse", name);
        let output = ground.run(&args, event.as_bytes());
        assert_eq!(
            reply(&output)["hookSpecificOutput"]["permissionDecisionReason"],
            "no",
            "{name}"
        );
    }
}
