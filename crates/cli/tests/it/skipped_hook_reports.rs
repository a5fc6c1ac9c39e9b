//! gambrel reports skipped and failed hooks to the user through the caller's own channel, with name
//! and next step, once per session and state.

use serde_json::Value;

use crate::test_project::{BASH_LS, TestProject, text};

const START: &str = r#"{"hook_event_name":"SessionStart","session_id":"s","source":"startup"}"#;
const HOSTED: [&str; 4] = ["fire", "--from", "claude", "--hosted"];

fn untrusted_guard(command: &str) -> TestProject {
    let project = TestProject::new().with("GAMBREL_TRUST", "store");
    write_hook(&project, command);
    project
}

fn write_hook(project: &TestProject, command: &str) {
    let text = format!(
        "hooks:\n  on_tool_before:\n    - {{name: my guard, type: shell, command: '{command}', await: true}}\n"
    );
    project.file(".gambrel/hooks.yaml", &text);
}

fn system_message(project: &TestProject, event: &str) -> String {
    let output = project.run(&HOSTED, event.as_bytes());
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
    let project = untrusted_guard("true");
    let message = system_message(&project, START);
    assert!(message.contains("my guard") && message.contains("gambrel trust"), "{message}");
    assert_eq!(system_message(&project, BASH_LS), "", "once per session");
    let other = BASH_LS.replace("\"s\"", "\"t\"");
    assert!(
        system_message(&project, &other).contains("my guard"),
        "another session is informed at its gate"
    );
    assert_eq!(system_message(&project, &other), "");
}

#[test]
fn reports_a_changed_hook_again() {
    let project = untrusted_guard("true");
    assert!(project.run(&["trust", "--all", "--yes"], b"").status.success());
    assert_eq!(system_message(&project, START), "");
    assert_eq!(system_message(&project, BASH_LS), "", "nothing to report");
    write_hook(&project, "exit 0");
    let message = system_message(&project, BASH_LS);
    assert!(message.contains("my guard") && message.contains("changed"), "{message}");
    assert_eq!(system_message(&project, BASH_LS), "");
}

#[test]
fn reports_a_failed_hook_with_name_and_reason() {
    for (command, reason) in [("./nowhere", "not started"), ("kill -9 $$", "signal 9")] {
        let project = untrusted_guard(command);
        assert!(project.run(&["trust", "--all", "--yes"], b"").status.success());
        let output = project.run(&HOSTED, BASH_LS.as_bytes());
        let reply = text(&output.stdout);
        assert!(reply.contains("my guard") && reply.contains(reason), "{command}: {reply}");
        let all = reply + &text(&output.stderr);
        assert!(!all.contains("not asked"), "it was asked: {all}");
        assert_eq!(system_message(&project, BASH_LS), "", "once per session and state");
    }
}

#[test]
fn reports_a_failure_at_the_next_event_with_a_reply() {
    let project = TestProject::new();
    project.file(
        ".gambrel/hooks.yaml",
        "hooks: {on_notification: [{name: bell, type: shell, command: ./nowhere, await: true}]}\n",
    );
    let notification = r#"{"hook_event_name":"Notification","session_id":"s","message":"m","notification_type":"idle"}"#;
    let output = project.run(&HOSTED, notification.as_bytes());
    assert_eq!(text(&output.stdout), "", "the host discards it");
    assert!(system_message(&project, BASH_LS).contains("bell"));
}

#[test]
fn uses_the_channel_of_each_caller() {
    let project = untrusted_guard("true");
    let call = r#"{"type":"tool_call","toolName":"bash","toolCallId":"1","sessionId":"s","input":{"command":"ls"}}"#;
    let output = project.run(&["fire", "--from", "omp"], call.as_bytes());
    assert!(text(&output.stdout).contains("notices"), "{}", text(&output.stdout));
    let project = untrusted_guard("true");
    project.file(
        ".gambrel/hooks.yaml",
        "hooks: {on_iteration_start: [{name: my guard, type: shell, command: 'true'}]}\n",
    );
    let start = r#"{"hook":"pre_iteration","vars":{"session":"s","iteration":"1"}}"#;
    let output = project.run(&["fire", "--from", "iteratr"], start.as_bytes());
    assert_eq!(text(&output.stdout), "", "stdout is the agent's");
    assert!(text(&output.stderr).contains("my guard"), "{}", text(&output.stderr));
}

#[test]
fn reports_unknown_events_once() {
    let project = TestProject::new();
    let settings = r#"{"hooks":{"Quux":[{"hooks":[{"type":"command","command":"true"}]}]}}"#;
    project.file(".claude/settings.json", settings);
    assert!(system_message(&project, BASH_LS).contains("unknown event `Quux`"));
    assert_eq!(system_message(&project, BASH_LS), "");
}

#[test]
fn install_and_check_count_untrusted_hooks() {
    let project = untrusted_guard("true").with_gambrel_on_path();
    for args in [["install", "claude"].as_slice(), &["check"]] {
        let printed = text(&project.run(args, b"").stdout);
        assert!(printed.contains("1 hook does not run until you trust it"), "{args:?}: {printed}");
    }
    assert_eq!(project.json(&["check", "--json"])["waiting_for_trust"], 1);
}

#[test]
fn reports_a_failed_claude_code_hook_once() {
    let project = TestProject::new();
    project.guard("kill -9 $$", 5);
    let reply = text(&project.run(&["fire", "--from", "claude"], BASH_LS.as_bytes()).stdout);
    assert!(reply.contains("kill -9") && reply.contains("signal 9"), "{reply}");
    let again = project.run(&["fire", "--from", "claude"], BASH_LS.as_bytes());
    assert_eq!(text(&again.stdout), "");
}

#[test]
fn reports_a_module_that_throws_after_a_tool() {
    let project = TestProject::new();
    let module = "export default (pi) => pi.on('tool_result', () => { throw new Error('redactor died') });\n";
    project.file(".omp/hooks/r.ts", module);
    let event = r#"{"hook_event_name":"PostToolUse","session_id":"s","tool_name":"Bash","tool_input":{"command":"x"},"tool_response":{"stdout":"key"}}"#;
    let message = system_message(&project, event);
    assert!(message.contains("r.ts") && message.contains("redactor died"), "{message}");
}

#[test]
fn groups_skipped_hooks_by_reason() {
    let project = TestProject::new().with("GAMBREL_TRUST", "store");
    let hooks = (0..8).map(|n| format!("{{name: guard {n}, type: shell, command: 'true'}}"));
    let hooks = hooks.collect::<Vec<_>>().join(", ");
    project.file(".gambrel/hooks.yaml", &format!("hooks: {{on_tool_before: [{hooks}]}}\n"));
    let message = system_message(&project, START);
    assert_eq!(message.lines().count(), 1, "{message}");
    for n in 0..8 {
        assert!(message.contains(&format!("guard {n}")), "{message}");
    }
}

#[test]
fn notices_on_stderr_are_printed_once() {
    let project = TestProject::new().with("GAMBREL_TRUST", "store");
    project
        .file(".iteratr.hooks.yml", "version: 1\nhooks:\n  pre_iteration: [{command: echo hi}]\n");
    let start = r#"{"hook":"pre_iteration","vars":{"session":"s","iteration":"1"}}"#;
    let first = project.run(&["fire", "--from", "iteratr"], start.as_bytes());
    assert_eq!(text(&first.stderr).matches("untrusted").count(), 1, "{}", text(&first.stderr));
    let second = project.run(&["fire", "--from", "iteratr"], start.as_bytes());
    assert!(!text(&second.stderr).contains("untrusted"), "{}", text(&second.stderr));
}
