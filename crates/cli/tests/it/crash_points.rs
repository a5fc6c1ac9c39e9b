//! A firing is killed before each of its writes: a delivered halt still holds, a message is
//! delivered at least once, and a hook with `once` counts once.

use std::process::{Command, Output};

use gambrel_ledger::open_state_dir;
use gambrel_model::{Audience, Undelivered, Verdict};
use serde_json::json;

use crate::test_project::{TestProject, report_missing_part, text};

/// System calls that change files or write output.
const SYSCALLS: [&str; 5] = ["write", "rename", "fsync", "unlink", "flock"];
/// More calls of one kind than any firing makes.
const MAX_POINT_COUNT: usize = 200;
const HALT: &str = r#"printf '{"continue":false,"stopReason":"the budget is spent"}'"#;
const BASH: &str =
    r#"{"type":"tool_call","toolName":"bash","sessionId":"s","input":{"command":"ls"}}"#;
const READ: &str = r#"{"type":"tool_call","toolName":"read","sessionId":"s","input":{"path":"a"}}"#;
const PROMPT: &str = r#"{"hook_event_name":"UserPromptSubmit","session_id":"s","prompt":"hi"}"#;

pub fn can_trace() -> bool {
    let traced = Command::new("strace").args(["-o", "/dev/null", "true"]).output();
    let can = traced.is_ok_and(|output| output.status.success());
    if !can {
        report_missing_part("strace");
    }
    can
}

/// Fires, and kills the process when it is about to make the `nth` call of that name.
fn fire_killed_at(
    project: &TestProject,
    args: &[&str],
    event: &str,
    call: &str,
    nth: usize,
) -> Output {
    let inject = format!("inject={call}:signal=SIGKILL:when={nth}");
    let mut command = Command::new("strace");
    command.args(["-o", "/dev/null", "-e", &inject, crate::test_project::program()]);
    command.args(args).env_clear().envs(project.env.clone());
    let mut child = command
        .current_dir(&project.root)
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    // A process that is killed early does not read.
    let _unread = std::io::Write::write_all(&mut stdin, event.as_bytes());
    drop(stdin);
    child.wait_with_output().unwrap()
}

/// Runs `check` in a new project for every point at which a firing can be killed.
fn kill_everywhere(check: impl Fn(&str, usize) -> Output) {
    if !can_trace() {
        return;
    }
    let mut killed = 0;
    for call in SYSCALLS {
        let last = (1..MAX_POINT_COUNT).find(|nth| check(call, *nth).status.success());
        killed += last.unwrap_or_else(|| panic!("{call}: it never got through")) - 1;
    }
    assert!(killed > 10, "it was killed {killed} times only");
}

#[test]
fn a_delivered_halt_still_holds() {
    kill_everywhere(|call, nth| {
        let project = TestProject::new();
        project.guard(HALT, 5);
        let output = fire_killed_at(&project, &["fire", "--from", "omp"], BASH, call, nth);
        let later = text(&project.run(&["fire", "--from", "omp"], READ.as_bytes()).stdout);
        let delivered = text(&output.stdout).contains("budget");
        assert!(!delivered || later.contains("the budget is spent"), "{call} {nth}: {later}");
        output
    });
}

#[test]
fn delivers_a_message_at_least_once() {
    kill_everywhere(|call, nth| {
        let project = TestProject::new();
        let ledger = open_state_dir(project.base.join("state"));
        let session_key = format!("s@{}", project.root.display());
        let words = Verdict::with_only_message(Audience::AgentNow, "<the build is green>");
        let message = Undelivered::new("d", "a hook", words);
        ledger
            .update_session(&session_key, &mut |state| state.keep_undelivered(message.clone()))
            .unwrap();
        let output = fire_killed_at(&project, &["fire", "--from", "claude"], PROMPT, call, nth);
        let fire = || text(&project.run(&["fire", "--from", "claude"], PROMPT.as_bytes()).stdout);
        let (later, last) = (fire(), fire());
        let all = text(&output.stdout) + &later;
        assert!(all.contains("<the build is green>"), "{call} {nth}: {all}");
        assert!(!last.contains("green"), "{call} {nth}: delivered again: {last}");
        output
    });
}

#[test]
fn a_once_hook_counts_until_its_answer_is_delivered() {
    kill_everywhere(|call, nth| {
        let project = TestProject::new();
        let hook =
            "{type: command, command: \"echo x >> runs; echo heard >&2; exit 2\", once: true}";
        let skill = format!("---\nhooks:\n  PreToolUse:\n    - hooks:\n        - {hook}\n---\n");
        project.file(".claude/skills/deploy/SKILL.md", &skill);
        let event = |name: &str, tool: &str, input: serde_json::Value| {
            json!({"hook_event_name": name, "session_id": "s", "tool_name": tool,
                   "tool_input": input, "tool_response": "ok"})
            .to_string()
        };
        let used = event("PostToolUse", "Skill", json!({"skill": "deploy"}));
        project.run(&["fire", "--from", "claude"], used.as_bytes());
        let read = event("PreToolUse", "Read", json!({"file_path": "a"}));
        let output = fire_killed_at(&project, &["fire", "--from", "claude"], &read, call, nth);
        let fire = || text(&project.run(&["fire", "--from", "claude"], read.as_bytes()).stdout);
        let (later, last) = (fire(), fire());
        let all = text(&output.stdout) + &later;
        assert!(all.contains("heard"), "{call} {nth}: {all}");
        assert!(!last.contains("heard"), "{call} {nth}: {last}");
        output
    });
}

/// An unreadable event names no session. The next session receives the message.
#[test]
fn delivers_a_message_for_any_session_at_least_once() {
    kill_everywhere(|call, nth| {
        let project = TestProject::new();
        let hosted = ["fire", "--from", "claude", "--hosted"];
        project.run(&hosted, b"{\"hook_event_name\": \"Stop\"");
        let output = fire_killed_at(&project, &hosted, PROMPT, call, nth);
        let fire = || text(&project.run(&hosted, PROMPT.as_bytes()).stdout);
        let (later, last) = (fire(), fire());
        let all = text(&output.stdout) + &later;
        assert!(all.contains("could not read"), "{call} {nth}: {all}");
        assert!(!last.contains("could not read"), "{call} {nth}: delivered again: {last}");
        output
    });
}
