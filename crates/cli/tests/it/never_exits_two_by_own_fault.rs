//! In Claude Code exit code 2 means "block", so an error of gambrel itself never exits with 2.

use crate::ground::{BASH_LS, Ground, text};

#[test]
fn wrong_usage_is_64() {
    let ground = Ground::new();
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
        let output = ground.run(args, b"{}");
        assert_eq!(output.status.code(), Some(64), "{args:?}: {}", text(&output.stderr));
        assert!(output.stdout.is_empty(), "{args:?}: stdout belongs to the reply");
    }
}

#[test]
fn an_unreadable_event_is_64() {
    let ground = Ground::new();
    let long = "x".repeat(9 * 1024 * 1024);
    let events: &[&str] =
        &["", "not json", "[]", "\"text\"", "{}", "{\"hook_event_name\":7}", "\u{0}\u{0}", &long];
    for event in events {
        let output = ground.run(&["fire", "--from", "claude"], event.as_bytes());
        let shown = &event[..event.len().min(20)];
        assert_eq!(output.status.code(), Some(64), "{shown:?}: {}", text(&output.stderr));
        assert!(!output.stderr.is_empty(), "{shown:?}: nothing was said");
    }
}

#[test]
fn json_always_exits_zero() {
    let ground = Ground::new();
    ground.guard("exit 2", 5);
    for event in [BASH_LS, "not json", "{}"] {
        let output = ground.run(&["fire", "--from", "claude", "--json"], event.as_bytes());
        assert_eq!(output.status.code(), Some(0), "{event}: {}", text(&output.stderr));
        let value: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        assert!(value["trail"].is_array() && value["complaints"].is_array(), "{value}");
    }
}

#[test]
fn a_missing_folder_is_said() {
    let ground = Ground::new();
    let output = ground.run(&["-C", "nowhere", "fire", "--from", "claude"], BASH_LS.as_bytes());
    assert_eq!(output.status.code(), Some(64));
    assert!(text(&output.stderr).contains("nowhere"));
}

#[test]
fn bytes_that_are_not_text_are_still_an_event() {
    let ground = Ground::new();
    ground.guard("echo seen >&2; exit 2", 5);
    let mut event = BASH_LS.replace("ls", "l@s").into_bytes();
    let at = event.iter().position(|b| *b == b'@').unwrap();
    event[at] = 0xff;
    let output = ground.run(&["fire", "--from", "claude"], &event);
    assert!(text(&output.stdout).contains("deny"), "{}", text(&output.stderr));
}

#[test]
fn half_a_character_from_javascript_is_still_an_event() {
    let ground = Ground::new();
    ground.guard("echo seen >&2; exit 2", 5);
    let event = BASH_LS.replace("ls", r"ls \ud800 \ud83d\ude00");
    let output = ground.run(&["fire", "--from", "claude"], event.as_bytes());
    assert!(text(&output.stdout).contains("deny"), "{}", text(&output.stderr));
}

#[test]
fn whoever_is_strict_is_refused_an_event_that_cannot_be_read() {
    let ground = Ground::new().with("GAMBREL_STRICT", "1");
    let broken = BASH_LS.replace("\"ls\"", "\"ls");
    let output = ground.run(&["fire", "--from", "claude"], broken.as_bytes());
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert!(text(&output.stdout).contains("\"deny\""), "{}", text(&output.stdout));
    let stop = broken.replace("PreToolUse", "Stop");
    assert_eq!(ground.run(&["fire", "--from", "claude"], stop.as_bytes()).status.code(), Some(64));
}

#[test]
fn a_reply_that_cannot_be_written_does_not_pass_for_silence() {
    let ground = Ground::new();
    ground.guard("exit 2", 5);
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let mut command = ground.command(&["fire", "--from", "claude"]);
    let mut child = command.stdout(full).spawn().unwrap();
    std::io::Write::write_all(&mut child.stdin.take().unwrap(), BASH_LS.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains("could not be written"));
}

#[test]
fn a_caller_that_keeps_the_pipe_open_is_answered() {
    let ground = Ground::new();
    ground.guard("exit 2", 5);
    let mut child = ground.command(&["fire", "--from", "claude"]).spawn().unwrap();
    let mut pipe = child.stdin.take().unwrap();
    std::io::Write::write_all(&mut pipe, BASH_LS.as_bytes()).unwrap();
    crate::ground::until("it has answered", || {
        std::fs::read_to_string(format!("/proc/{}/stat", child.id()))
            .is_ok_and(|s| s.contains(") Z "))
    });
    drop(pipe);
    assert!(text(&child.wait_with_output().unwrap().stdout).contains("deny"));
}

#[test]
fn a_silent_caller_is_not_waited_for_beyond_the_budget() {
    let ground = Ground::new();
    let mut child =
        ground.command(&["fire", "--from", "claude", "--budget", "0.3"]).spawn().unwrap();
    let pipe = child.stdin.take().unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(64));
    drop(pipe);
}
