//! In Claude Code exit code 2 means "block", so an error of gambrel itself never exits with 2.

use crate::test_project::{BASH_LS, TestProject, text};

#[test]
fn wrong_usage_exits_64() {
    let project = TestProject::new();
    let wrong: &[&[&str]] = &[
        &[],
        &["nonsense"],
        &["fire"],
        &["fire", "--from"],
        &["fire", "--from", "klaude"],
        &["fire", "--from", "claude", "--only", "nobody"],
        &["fire", "--from", "claude", "--budget", "soon"],
        &["fire", "--from", "claude", "--budget", "-3"],
        &["fire", "--from", "claude", "--nonsense"],
        &["log", "-n", "x"],
        &["show"],
    ];
    for args in wrong {
        let output = project.run(args, b"{}");
        assert_eq!(output.status.code(), Some(64), "{args:?}: {}", text(&output.stderr));
        assert!(output.stdout.is_empty(), "{args:?}: stdout belongs to the reply");
    }
}

#[test]
fn an_unreadable_event_exits_64() {
    let project = TestProject::new();
    let long = "x".repeat(9 * 1024 * 1024);
    let events: &[&str] =
        &["", "not json", "[]", "\"text\"", "{}", "{\"hook_event_name\":7}", "\u{0}\u{0}", &long];
    for event in events {
        let output = project.run(&["fire", "--from", "claude"], event.as_bytes());
        let shown = &event[..event.len().min(20)];
        assert_eq!(output.status.code(), Some(64), "{shown:?}: {}", text(&output.stderr));
        assert!(!output.stderr.is_empty(), "{shown:?}: no message");
    }
}

#[test]
fn json_always_exits_zero() {
    let project = TestProject::new();
    project.guard("exit 2", 5);
    for event in [BASH_LS, "not json", "{}"] {
        let output = project.run(&["fire", "--from", "claude", "--json"], event.as_bytes());
        assert_eq!(output.status.code(), Some(0), "{event}: {}", text(&output.stderr));
        let value: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        assert!(value["trail"].is_array() && value["complaints"].is_array(), "{value}");
    }
}

#[test]
fn reports_a_missing_folder() {
    let project = TestProject::new();
    let output = project.run(&["-C", "nowhere", "fire", "--from", "claude"], BASH_LS.as_bytes());
    assert_eq!(output.status.code(), Some(64));
    assert!(text(&output.stderr).contains("nowhere"));
}

#[test]
fn accepts_events_with_invalid_utf8() {
    let project = TestProject::new();
    project.guard("echo seen >&2; exit 2", 5);
    let mut event = BASH_LS.replace("ls", "l@s").into_bytes();
    let at = event.iter().position(|b| *b == b'@').unwrap();
    event[at] = 0xff;
    let output = project.run(&["fire", "--from", "claude"], &event);
    assert!(text(&output.stdout).contains("deny"), "{}", text(&output.stderr));
}

#[test]
fn accepts_events_with_lone_surrogates() {
    let project = TestProject::new();
    project.guard("echo seen >&2; exit 2", 5);
    let event = BASH_LS.replace("ls", r"ls \ud800 \ud83d\ude00");
    let output = project.run(&["fire", "--from", "claude"], event.as_bytes());
    assert!(text(&output.stdout).contains("deny"), "{}", text(&output.stderr));
}

#[test]
fn strict_mode_denies_an_unreadable_tool_gate() {
    let project = TestProject::new().with("GAMBREL_STRICT", "1");
    let broken = BASH_LS.replace("\"ls\"", "\"ls");
    let output = project.run(&["fire", "--from", "claude"], broken.as_bytes());
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert!(text(&output.stdout).contains("\"deny\""), "{}", text(&output.stdout));
    let stop = broken.replace("PreToolUse", "Stop");
    assert_eq!(project.run(&["fire", "--from", "claude"], stop.as_bytes()).status.code(), Some(64));
}

#[test]
fn fails_when_the_reply_cannot_be_written() {
    let project = TestProject::new();
    project.guard("exit 2", 5);
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let mut command = project.command(&["fire", "--from", "claude"]);
    let mut child = command.stdout(full).spawn().unwrap();
    std::io::Write::write_all(&mut child.stdin.take().unwrap(), BASH_LS.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains("could not be written"));
}

#[test]
fn replies_while_the_caller_keeps_the_pipe_open() {
    let project = TestProject::new();
    project.guard("exit 2", 5);
    let mut child = project.command(&["fire", "--from", "claude"]).spawn().unwrap();
    let mut pipe = child.stdin.take().unwrap();
    std::io::Write::write_all(&mut pipe, BASH_LS.as_bytes()).unwrap();
    crate::test_project::wait_until("it has answered", || {
        std::fs::read_to_string(format!("/proc/{}/stat", child.id()))
            .is_ok_and(|s| s.contains(") Z "))
    });
    drop(pipe);
    assert!(text(&child.wait_with_output().unwrap().stdout).contains("deny"));
}

#[test]
fn waits_for_stdin_no_longer_than_the_budget() {
    let project = TestProject::new();
    let mut child =
        project.command(&["fire", "--from", "claude", "--budget", "0.3"]).spawn().unwrap();
    let pipe = child.stdin.take().unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(64));
    drop(pipe);
}
