//! In contract 001 an exit code of 2 means "block": our own faults must never look like that.

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
