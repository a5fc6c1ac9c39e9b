//! Output and exit codes of commands agree.

use std::fs::{OpenOptions, Permissions};
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use crate::test_project::{BASH_LS, TestProject, text};

fn untrusted_project() -> TestProject {
    let project = TestProject::new().with("GAMBREL_TRUST", "store");
    project.guard("exit 0", 5);
    project
}

#[test]
fn fails_when_output_cannot_be_written() {
    let project = untrusted_project();
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
        let output = project.command(args).stdout(full).output().unwrap();
        assert_eq!(output.status.code(), Some(1), "{args:?}");
        assert!(text(&output.stderr).contains("could not be written"), "{args:?}");
    }
}

#[test]
fn accepts_a_closed_reader() {
    let project = untrusted_project();
    let mut child = project.command(&["schema", "claude"]).spawn().unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), text(&output.stderr).as_str()), (Some(0), ""));
}

#[test]
fn trust_prints_json_when_nothing_is_left() {
    let project = untrusted_project();
    assert_eq!(project.json(&["trust", "--all", "--yes", "--json"]).as_array().unwrap().len(), 1);
    assert_eq!(project.json(&["trust", "--all", "--yes", "--json"]), serde_json::json!([]));
}

#[test]
fn refused_trust_exits_one() {
    let project = untrusted_project();
    let mut terminal = project.start_in_terminal("trust --all");
    let mut keys = terminal.stdin.take().unwrap();
    keys.write_all(b"n\n").unwrap();
    let seen = terminal.wait_with_output().unwrap();
    assert_eq!(seen.status.code(), Some(1));
    assert!(text(&seen.stdout).contains("nothing was trusted"), "{}", text(&seen.stdout));
    let without_terminal = project.run(&["trust", "--all"], b"");
    assert_eq!(without_terminal.status.code(), Some(64));
}

#[test]
fn refuses_a_world_writable_trust_store() {
    let project = untrusted_project();
    let state = project.base.join("state");
    std::fs::create_dir_all(&state).unwrap();
    std::fs::set_permissions(&state, Permissions::from_mode(0o777)).unwrap();
    let output = project.run(&["trust", "--all", "--yes"], b"");
    assert_eq!(output.status.code(), Some(1));
    assert!(!text(&output.stdout).contains("trusted 1"), "{}", text(&output.stdout));
    assert!(text(&output.stderr).contains("chmod 700"), "{}", text(&output.stderr));
}

#[test]
fn accepts_only_known_values_of_strict() {
    for (word, ruling) in
        [("Yes", "deny"), ("ON", "deny"), ("1", "deny"), ("No", "silent"), ("", "silent")]
    {
        let decision = untrusted_project().with("GAMBREL_STRICT", word).decide("claude", BASH_LS);
        assert_eq!(decision["ruling"], ruling, "{word}: {decision}");
    }
    let output = untrusted_project().with("GAMBREL_STRICT", "perhaps").run(&["list"], b"");
    assert_eq!(output.status.code(), Some(64));
}

#[test]
fn warns_once_about_an_unknown_ui() {
    let project = untrusted_project().with("GAMBREL_UI", "window");
    project.file("a.yaml", "hooks: {}\n");
    let output = project.run(&["check", "a.yaml", "a.yaml"], b"");
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(text(&output.stderr).matches("GAMBREL_UI").count(), 1);
}

#[test]
fn strict_denial_of_an_unreadable_event_has_a_reason() {
    let output = untrusted_project().run(&["fire", "--from", "claude", "--json", "--strict"], b"{");
    let decision: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(decision["ruling"], "deny");
    let reason = decision["reasons"][0]["text"].as_str().unwrap_or_default();
    assert!(reason.contains("not JSON"), "{decision}");
}

#[test]
fn check_refuses_special_files() {
    let project = untrusted_project();
    let made = Command::new("mkfifo").arg(project.root.join("pipe.yaml")).status().unwrap();
    assert!(made.success());
    for path in ["/dev/stdin", "/dev/null", "/dev/zero", "pipe.yaml"] {
        let output = project.run(&["check", path], b"x");
        assert_eq!(output.status.code(), Some(1), "{path}");
        assert!(text(&output.stdout).contains("is not a file"), "{}", text(&output.stdout));
    }
}

#[test]
fn checks_a_file_by_any_path() {
    let project = untrusted_project();
    project.file("deep/odd.yaml", "hooks: 3\n");
    std::os::unix::fs::symlink("deep", project.root.join("other")).unwrap();
    for path in ["deep/odd.yaml", "deep/../deep/odd.yaml", "other/odd.yaml"] {
        assert_eq!(project.run(&["check", path], b"").status.code(), Some(1), "{path}");
    }
}
