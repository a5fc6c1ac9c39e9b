//! Hooks that were skipped or gave no answer are told to the user in the caller's own channel, with
//! their name and what to do, once per session and state.

use serde_json::Value;

use crate::ground::{BASH_LS, Ground, text};

const START: &str = r#"{"hook_event_name":"SessionStart","session_id":"s","source":"startup"}"#;
const HOSTED: [&str; 4] = ["fire", "--from", "claude", "--hosted"];

fn guarded(command: &str) -> Ground {
    let ground = Ground::new().with("GAMBREL_TRUST", "store");
    hook(&ground, command);
    ground
}

fn hook(ground: &Ground, command: &str) {
    let text = format!(
        "hooks:\n  on_tool_before:\n    - {{name: my guard, type: shell, command: '{command}', await: true}}\n"
    );
    ground.file(".gambrel/hooks.yaml", &text);
}

fn message(ground: &Ground, event: &str) -> String {
    let output = ground.run(&HOSTED, event.as_bytes());
    assert_eq!(output.status.code(), Some(0));
    match output.stdout.is_empty() {
        true => String::new(),
        false => {
            let reply: Value = serde_json::from_slice(&output.stdout).unwrap();
            reply["systemMessage"].as_str().unwrap_or_default().to_owned()
        }
    }
}

#[test]
fn reports_untrusted_hooks_at_session_start() {
    let ground = guarded("true");
    let told = message(&ground, START);
    assert!(told.contains("my guard") && told.contains("gambrel trust"), "{told}");
    assert_eq!(message(&ground, BASH_LS), "", "once per session");
    let other = BASH_LS.replace("\"s\"", "\"t\"");
    assert!(message(&ground, &other).contains("my guard"), "another session is told at its gate");
    assert_eq!(message(&ground, &other), "");
}

#[test]
fn reports_a_changed_hook_again() {
    let ground = guarded("true");
    assert!(ground.run(&["trust", "--all", "--yes"], b"").status.success());
    assert_eq!(message(&ground, START), "");
    assert_eq!(message(&ground, BASH_LS), "", "nothing to tell");
    hook(&ground, "exit 0");
    let told = message(&ground, BASH_LS);
    assert!(told.contains("my guard") && told.contains("changed"), "{told}");
    assert_eq!(message(&ground, BASH_LS), "");
}

#[test]
fn reports_a_failed_hook_with_name_and_reason() {
    for (command, reason) in [("./nowhere", "not started"), ("kill -9 $$", "signal 9")] {
        let ground = guarded(command);
        assert!(ground.run(&["trust", "--all", "--yes"], b"").status.success());
        let output = ground.run(&HOSTED, BASH_LS.as_bytes());
        let told = text(&output.stdout);
        assert!(told.contains("my guard") && told.contains(reason), "{command}: {told}");
        let all = told + &text(&output.stderr);
        assert!(!all.contains("not asked"), "it was asked: {all}");
        assert_eq!(message(&ground, BASH_LS), "", "once per session and state");
    }
}

#[test]
fn reports_a_failure_at_the_next_event_with_a_reply() {
    let ground = Ground::new();
    ground.file(
        ".gambrel/hooks.yaml",
        "hooks: {on_notification: [{name: bell, type: shell, command: ./nowhere, await: true}]}\n",
    );
    let notification = r#"{"hook_event_name":"Notification","session_id":"s","message":"m","notification_type":"idle"}"#;
    let output = ground.run(&HOSTED, notification.as_bytes());
    assert_eq!(text(&output.stdout), "", "the host discards it");
    assert!(message(&ground, BASH_LS).contains("bell"));
}

#[test]
fn uses_the_channel_of_each_caller() {
    let ground = guarded("true");
    let call = r#"{"type":"tool_call","toolName":"bash","toolCallId":"1","sessionId":"s","input":{"command":"ls"}}"#;
    let output = ground.run(&["fire", "--from", "omp"], call.as_bytes());
    assert!(text(&output.stdout).contains("notices"), "{}", text(&output.stdout));
    let ground = guarded("true");
    ground.file(
        ".gambrel/hooks.yaml",
        "hooks: {on_iteration_start: [{name: my guard, type: shell, command: 'true'}]}\n",
    );
    let start = r#"{"hook":"pre_iteration","vars":{"session":"s","iteration":"1"}}"#;
    let output = ground.run(&["fire", "--from", "iteratr"], start.as_bytes());
    assert_eq!(text(&output.stdout), "", "stdout is the agent's");
    assert!(text(&output.stderr).contains("my guard"), "{}", text(&output.stderr));
}

#[test]
fn reports_unknown_events_once() {
    let ground = Ground::new();
    let settings = r#"{"hooks":{"Quux":[{"hooks":[{"type":"command","command":"true"}]}]}}"#;
    ground.file(".claude/settings.json", settings);
    assert!(message(&ground, BASH_LS).contains("unknown event `Quux`"));
    assert_eq!(message(&ground, BASH_LS), "");
}

#[test]
fn install_and_check_count_untrusted_hooks() {
    let ground = guarded("true").with_gambrel_on_path();
    for args in [["install", "claude"].as_slice(), &["check"]] {
        let said = text(&ground.run(args, b"").stdout);
        assert!(said.contains("1 hook does not run until you trust it"), "{args:?}: {said}");
    }
    assert_eq!(ground.json(&["check", "--json"])["waiting_for_trust"], 1);
}

#[test]
fn reports_a_failed_claude_code_hook_once() {
    let ground = Ground::new();
    ground.guard("kill -9 $$", 5);
    let told = text(&ground.run(&["fire", "--from", "claude"], BASH_LS.as_bytes()).stdout);
    assert!(told.contains("kill -9") && told.contains("signal 9"), "{told}");
    let again = ground.run(&["fire", "--from", "claude"], BASH_LS.as_bytes());
    assert_eq!(text(&again.stdout), "");
}

#[test]
fn reports_a_module_that_throws_after_a_tool() {
    let ground = Ground::new();
    let module = "export default (pi) => pi.on('tool_result', () => { throw new Error('redactor died') });\n";
    ground.file(".omp/hooks/r.ts", module);
    let event = r#"{"hook_event_name":"PostToolUse","session_id":"s","tool_name":"Bash","tool_input":{"command":"x"},"tool_response":{"stdout":"key"}}"#;
    let told = message(&ground, event);
    assert!(told.contains("r.ts") && told.contains("redactor died"), "{told}");
}

#[test]
fn groups_skipped_hooks_by_reason() {
    let ground = Ground::new().with("GAMBREL_TRUST", "store");
    let hooks = (0..8).map(|n| format!("{{name: guard {n}, type: shell, command: 'true'}}"));
    let hooks = hooks.collect::<Vec<_>>().join(", ");
    ground.file(".gambrel/hooks.yaml", &format!("hooks: {{on_tool_before: [{hooks}]}}\n"));
    let told = message(&ground, START);
    assert_eq!(told.lines().count(), 1, "{told}");
    for n in 0..8 {
        assert!(told.contains(&format!("guard {n}")), "{told}");
    }
}

#[test]
fn notices_on_stderr_are_printed_once() {
    let ground = Ground::new().with("GAMBREL_TRUST", "store");
    ground
        .file(".iteratr.hooks.yml", "version: 1\nhooks:\n  pre_iteration: [{command: echo hi}]\n");
    let start = r#"{"hook":"pre_iteration","vars":{"session":"s","iteration":"1"}}"#;
    let first = ground.run(&["fire", "--from", "iteratr"], start.as_bytes());
    assert_eq!(text(&first.stderr).matches("untrusted").count(), 1, "{}", text(&first.stderr));
    let second = ground.run(&["fire", "--from", "iteratr"], start.as_bytes());
    assert!(!text(&second.stderr).contains("untrusted"), "{}", text(&second.stderr));
}
