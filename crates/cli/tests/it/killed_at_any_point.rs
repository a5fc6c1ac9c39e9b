//! A firing that is killed before any of its writes: a halt that was told holds, a message is told
//! at least once, and a hook that runs once is heard once.

use std::process::{Command, Output};

use gambrel::ledger::{LocalLedger, Redactor};
use gambrel::model::{Audience, Ledger, Undelivered, Verdict};
use serde_json::json;

use crate::ground::{Ground, text};

/// What changes files or tells somebody something.
const SYSCALLS: [&str; 5] = ["write", "rename", "fsync", "unlink", "flock"];
/// No firing has so many of one kind.
const MAX_POINT_COUNT: usize = 200;
const HALT: &str = r#"printf '{"continue":false,"stopReason":"the budget is spent"}'"#;
const BASH: &str =
    r#"{"type":"tool_call","toolName":"bash","sessionId":"s","input":{"command":"ls"}}"#;
const READ: &str = r#"{"type":"tool_call","toolName":"read","sessionId":"s","input":{"path":"a"}}"#;
const PROMPT: &str = r#"{"hook_event_name":"UserPromptSubmit","session_id":"s","prompt":"hi"}"#;

fn can_trace() -> bool {
    let traced = Command::new("strace").args(["-o", "/dev/null", "true"]).output();
    let can = traced.is_ok_and(|output| output.status.success());
    if !can {
        eprintln!("SKIPPED killed_at_any_point: strace cannot be used here");
        assert!(std::env::var_os("CI").is_none(), "strace is required in CI");
    }
    can
}

/// Fires, and kills the process when it is about to make the `nth` call of that name.
fn fire_killed_at(ground: &Ground, args: &[&str], event: &str, call: &str, nth: usize) -> Output {
    let inject = format!("inject={call}:signal=SIGKILL:when={nth}");
    let mut command = Command::new("strace");
    command.args(["-o", "/dev/null", "-e", &inject, env!("CARGO_BIN_EXE_gambrel")]);
    command.args(args).env_clear().envs(ground.env.clone());
    let mut child = command
        .current_dir(&ground.root)
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    // One that is killed early does not read.
    let _unread = std::io::Write::write_all(&mut stdin, event.as_bytes());
    drop(stdin);
    child.wait_with_output().unwrap()
}

/// Runs `check` for a firing in a new place for every point at which it can be killed.
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
        let ground = Ground::new();
        ground.guard(HALT, 5);
        let output = fire_killed_at(&ground, &["fire", "--from", "omp"], BASH, call, nth);
        let later = text(&ground.run(&["fire", "--from", "omp"], READ.as_bytes()).stdout);
        let told = text(&output.stdout).contains("budget");
        assert!(!told || later.contains("the budget is spent"), "{call} {nth}: {later}");
        output
    });
}

#[test]
fn delivers_a_message_at_least_once() {
    kill_everywhere(|call, nth| {
        let ground = Ground::new();
        let ledger = LocalLedger::open(ground.base.join("state"), Redactor::default());
        let memory = format!("s@{}", ground.root.display());
        let words = Verdict::with_only_message(Audience::AgentNow, "<the build is green>");
        let debt = Undelivered::new("d", "a hook", words);
        ledger.update_session(&memory, &mut |state| state.keep_undelivered(debt.clone())).unwrap();
        let output = fire_killed_at(&ground, &["fire", "--from", "claude"], PROMPT, call, nth);
        let fire = || text(&ground.run(&["fire", "--from", "claude"], PROMPT.as_bytes()).stdout);
        let (later, last) = (fire(), fire());
        let all = text(&output.stdout) + &later;
        assert!(all.contains("<the build is green>"), "{call} {nth}: {all}");
        assert!(!last.contains("green"), "{call} {nth}: told again: {last}");
        output
    });
}

#[test]
fn runs_a_delivered_once_hook_once() {
    kill_everywhere(|call, nth| {
        let ground = Ground::new();
        let hook =
            "{type: command, command: \"echo x >> runs; echo heard >&2; exit 2\", once: true}";
        let skill = format!("---\nhooks:\n  PreToolUse:\n    - hooks:\n        - {hook}\n---\n");
        ground.file(".claude/skills/deploy/SKILL.md", &skill);
        let event = |name: &str, tool: &str, input: serde_json::Value| {
            json!({"hook_event_name": name, "session_id": "s", "tool_name": tool,
                   "tool_input": input, "tool_response": "ok"})
            .to_string()
        };
        let used = event("PostToolUse", "Skill", json!({"skill": "deploy"}));
        ground.run(&["fire", "--from", "claude"], used.as_bytes());
        let read = event("PreToolUse", "Read", json!({"file_path": "a"}));
        let output = fire_killed_at(&ground, &["fire", "--from", "claude"], &read, call, nth);
        let fire = || text(&ground.run(&["fire", "--from", "claude"], read.as_bytes()).stdout);
        let (later, last) = (fire(), fire());
        let all = text(&output.stdout) + &later;
        assert!(all.contains("heard"), "{call} {nth}: {all}");
        assert!(!last.contains("heard"), "{call} {nth}: {last}");
        output
    });
}

/// An event that could not be read named no session: the message goes to the next one, and is not
/// lost on the way.
#[test]
fn delivers_a_message_for_any_session_at_least_once() {
    kill_everywhere(|call, nth| {
        let ground = Ground::new();
        let hosted = ["fire", "--from", "claude", "--hosted"];
        ground.run(&hosted, b"{\"hook_event_name\": \"Stop\"");
        let output = fire_killed_at(&ground, &hosted, PROMPT, call, nth);
        let fire = || text(&ground.run(&hosted, PROMPT.as_bytes()).stdout);
        let (later, last) = (fire(), fire());
        let all = text(&output.stdout) + &later;
        assert!(all.contains("could not read"), "{call} {nth}: {all}");
        assert!(!last.contains("could not read"), "{call} {nth}: told again: {last}");
        output
    });
}
