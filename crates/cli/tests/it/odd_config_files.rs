//! One bad file or entry is one complaint with its place. Everything else loads.

use crate::test_project::{BASH_LS, TestProject};

const GUARD: &str = "hooks:\n  on_tool_before:\n    - type: shell\n      await: true\n      on_failure: abort\n      command: \"exit 3\"\n";

/// A gambrel hook denies. Mistakes in the settings file must not change that.
fn assert_still_denies(spoil: impl Fn(&TestProject), expected: &[&str]) {
    let project = TestProject::new();
    project.file(".gambrel/hooks.yaml", GUARD);
    spoil(&project);
    let decision = project.decide("claude", BASH_LS);
    assert_eq!(decision["ruling"], "deny", "{decision}");
    let complaints = decision["complaints"].as_array().unwrap();
    assert_eq!(complaints.len(), expected.len(), "{complaints:?}");
    for (complaint, part) in complaints.iter().zip(expected) {
        let place =
            format!("{}:{}: {}", complaint["line"], complaint["column"], complaint["message"]);
        assert!(place.contains(part), "{part}: {place}");
        assert!(complaint["file"].as_str().unwrap().contains("settings"), "{complaint}");
    }
}

#[test]
fn reports_a_settings_file_that_is_a_folder() {
    assert_still_denies(
        |g| std::fs::create_dir_all(g.root.join(".claude/settings.json")).unwrap(),
        &["not a file"],
    );
}

#[test]
fn reports_a_settings_file_of_two_gigabytes() {
    let huge = |g: &TestProject| {
        let path = g.file(".claude/settings.json", "{}");
        let file = std::fs::OpenOptions::new().write(true).open(path).unwrap();
        file.set_len(2 * 1024 * 1024 * 1024).unwrap();
    };
    assert_still_denies(huge, &["2147483648 bytes"]);
}

#[test]
fn reports_a_settings_file_that_is_not_text() {
    let bytes = |g: &TestProject| {
        let path = g.file(".claude/settings.json", "");
        std::fs::write(path, b"{\n\"a\": \"\xff\xfe\"}").unwrap();
    };
    assert_still_denies(bytes, &["2:1: \"is not UTF-8"]);
}

#[test]
fn reports_a_settings_file_with_a_nul() {
    assert_still_denies(
        |g| drop(g.file(".claude/settings.json", "{\"a\":\n \"\0\"}")),
        &["2:3: \"holds a NUL"],
    );
}

#[test]
fn reports_truncated_json() {
    assert_still_denies(
        |g| drop(g.file(".claude/settings.json", "{\"hooks\": {\"PreToolUse\": [")),
        &["not valid JSON"],
    );
}

#[test]
fn reports_a_fifo_without_hanging() {
    let fifo = |g: &TestProject| {
        std::fs::create_dir_all(g.root.join(".claude")).unwrap();
        let path = g.root.join(".claude/settings.json");
        let made = std::process::Command::new("mkfifo").arg(&path).status().unwrap();
        assert!(made.success());
    };
    assert_still_denies(fifo, &["not a file"]);
}

#[test]
fn refuses_deep_nesting() {
    let deep = format!("{{\"hooks\":{}{}}}", "[".repeat(100_000), "]".repeat(100_000));
    let project = TestProject::new();
    project.file(".gambrel/hooks.yaml", GUARD);
    project.file(".claude/settings.json", &deep);
    let yaml = "a: ".to_owned() + &"[".repeat(100_000);
    project.file(".iteratr.hooks.yml", &yaml);
    let decision = project.decide("claude", BASH_LS);
    assert_eq!(decision["ruling"], "deny");
    assert!(decision["complaints"].as_array().unwrap().len() >= 2, "{}", decision["complaints"]);
}

#[test]
fn refuses_an_alias_bomb() {
    let mut bomb = String::from("a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n");
    for n in 1..10 {
        let last = format!("*a{}", n - 1);
        bomb += &format!("a{n}: &a{n} [{}]\n", vec![last; 10].join(", "));
    }
    let project = TestProject::new();
    project.file(".iteratr.hooks.yml", &bomb);
    let listed = project.json(&["check", "--json"]);
    assert!(listed["complaints"][0]["message"].as_str().unwrap().contains("aliases"), "{listed}");
}
