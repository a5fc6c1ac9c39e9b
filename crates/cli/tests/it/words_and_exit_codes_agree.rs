//! What a command says, what it exits with and what came of it are the same thing.

use std::fs::{OpenOptions, Permissions};
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use crate::ground::{BASH_LS, Ground, text};

fn ground() -> Ground {
    let ground = Ground::new().with("GAMBREL_TRUST", "store");
    ground.guard("exit 0", 5);
    ground
}

#[test]
fn output_that_did_not_arrive_is_a_failure() {
    let ground = ground();
    let calls: [&[&str]; 7] = [
        &["list"],
        &["list", "--json"],
        &["check"],
        &["schema", "claude"],
        &["completions", "bash"],
        &["man"],
        &["--help"],
    ];
    for args in calls {
        let full = OpenOptions::new().write(true).open("/dev/full").unwrap();
        let output = ground.command(args).stdout(full).output().unwrap();
        assert_eq!(output.status.code(), Some(1), "{args:?}");
        assert!(text(&output.stderr).contains("could not be written"), "{args:?}");
    }
}

#[test]
fn a_reader_that_went_away_is_none() {
    let ground = ground();
    let mut child = ground.command(&["schema", "claude"]).spawn().unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), text(&output.stderr).as_str()), (Some(0), ""));
}

#[test]
fn trust_without_anything_left_to_trust_is_json_too() {
    let ground = ground();
    assert_eq!(ground.json(&["trust", "--all", "--yes", "--json"]).as_array().unwrap().len(), 1);
    assert_eq!(ground.json(&["trust", "--all", "--yes", "--json"]), serde_json::json!([]));
}

#[test]
fn trust_that_a_person_refused_exits_one() {
    let ground = ground();
    let mut terminal = ground.at_a_terminal("trust --all");
    let mut keys = terminal.stdin.take().unwrap();
    keys.write_all(b"n\n").unwrap();
    let seen = terminal.wait_with_output().unwrap();
    assert_eq!(seen.status.code(), Some(1));
    assert!(text(&seen.stdout).contains("nothing was trusted"), "{}", text(&seen.stdout));
    let unasked = ground.run(&["trust", "--all"], b"");
    assert_eq!(unasked.status.code(), Some(64));
}

#[test]
fn trust_kept_where_anybody_may_write_has_no_effect_and_says_so() {
    let ground = ground();
    let state = ground.base.join("state");
    std::fs::create_dir_all(&state).unwrap();
    std::fs::set_permissions(&state, Permissions::from_mode(0o777)).unwrap();
    let output = ground.run(&["trust", "--all", "--yes"], b"");
    assert_eq!(output.status.code(), Some(1));
    assert!(!text(&output.stdout).contains("trusted 1"), "{}", text(&output.stdout));
    assert!(text(&output.stderr).contains("chmod 700"), "{}", text(&output.stderr));
}

#[test]
fn strictness_is_said_in_known_words() {
    for (word, ruling) in
        [("Yes", "deny"), ("ON", "deny"), ("1", "deny"), ("No", "silent"), ("", "silent")]
    {
        let decision = ground().with("GAMBREL_STRICT", word).decide("claude", BASH_LS);
        assert_eq!(decision["ruling"], ruling, "{word}: {decision}");
    }
    let output = ground().with("GAMBREL_STRICT", "perhaps").run(&["list"], b"");
    assert_eq!(output.status.code(), Some(64));
}

#[test]
fn an_unknown_way_to_ask_is_said_once() {
    let ground = ground().with("GAMBREL_UI", "window");
    ground.file("a.yaml", "hooks: {}\n");
    let output = ground.run(&["check", "a.yaml", "a.yaml"], b"");
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(text(&output.stderr).matches("GAMBREL_UI").count(), 1);
}

#[test]
fn a_strict_refusal_of_what_cannot_be_read_gives_its_reason() {
    let output = ground().run(&["fire", "--from", "claude", "--json", "--strict"], b"{");
    let decision: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(decision["ruling"], "deny");
    let reason = decision["reasons"][0]["text"].as_str().unwrap_or_default();
    assert!(reason.contains("not JSON"), "{decision}");
}

#[test]
fn what_is_no_plain_file_is_of_no_known_kind() {
    let ground = ground();
    let made = Command::new("mkfifo").arg(ground.root.join("pipe.yaml")).status().unwrap();
    assert!(made.success());
    for path in ["/dev/stdin", "/dev/null", "/dev/zero", "pipe.yaml"] {
        let output = ground.run(&["check", path], b"x");
        assert_eq!(output.status.code(), Some(1), "{path}");
        assert!(text(&output.stdout).contains("no known kind"), "{}", text(&output.stdout));
    }
}

#[test]
fn a_file_is_checked_by_whatever_path() {
    let ground = ground();
    ground.file("deep/odd.yaml", "hooks: 3\n");
    std::os::unix::fs::symlink("deep", ground.root.join("other")).unwrap();
    for path in ["deep/odd.yaml", "deep/../deep/odd.yaml", "other/odd.yaml"] {
        assert_eq!(ground.run(&["check", path], b"").status.code(), Some(1), "{path}");
    }
}
