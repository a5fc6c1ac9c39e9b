//! `sample` prints an event that `fire` takes, and helps with its name.

use serde_json::Value;

use crate::test_project::{TestProject, text};

#[test]
fn a_sample_can_be_fired() {
    let project = TestProject::new();
    project.guard("grep -q 'cargo test' && exit 2; exit 0", 5);
    for flag in [&[][..], &["--json"]] {
        let args = [&["sample", "claude", "PreToolUse"], flag].concat();
        let sample = text(&project.run(&args, b"").stdout);
        let decision = project.decide("claude", &sample);
        assert_eq!(decision["ruling"], "deny", "{sample}");
        let parsed: Value = serde_json::from_str(&sample).unwrap();
        assert_eq!(parsed["cwd"], project.root.to_str().unwrap());
    }
    let line = text(&project.run(&["sample", "omp", "tool_call", "--json"], b"").stdout);
    assert_eq!(line.lines().count(), 1, "{line}");
}

#[test]
fn lists_dialects() {
    let project = TestProject::new();
    let list = text(&project.run(&["sample"], b"").stdout);
    assert!(list.contains("omp      oh-my-pi         gambrel sample omp\n"), "{list}");
    let json = project.json(&["sample", "--json"]);
    assert_eq!(json[0], serde_json::json!({"dialect": "claude", "product": "Claude Code"}));
}

#[test]
fn lists_events_and_suggests_names() {
    let project = TestProject::new();
    let list = text(&project.run(&["sample", "iteratr"], b"").stdout);
    assert!(list.contains("pre_iteration     iteration.start"), "{list}");
    assert_eq!(project.json(&["sample", "teams", "--json"])[0]["moment"], "member.idle");
    // The name of a moment is a name of its event.
    let by_moment = project.json(&["sample", "claude", "tool.before", "--json"]);
    assert_eq!(by_moment["hook_event_name"], "PreToolUse");
    for (args, expected) in [
        (["sample", "claude", "PreToolCall"], "did you mean `PreToolUse`?"),
        (["sample", "claude", "xyz"], "see `gambrel sample claude`"),
        (["sample", "codex", "PreToolUse"], "there are claude, omp, teams"),
    ] {
        let output = project.run(&args, b"");
        assert_eq!(output.status.code(), Some(64), "{args:?}");
        assert!(text(&output.stderr).contains(expected), "{}", text(&output.stderr));
    }
}
