//! One bad file or entry is one complaint with its place; everything else loads.

use crate::ground::{BASH_LS, Ground};

const GUARD: &str = "hooks:\n  on_tool_before:\n    - type: shell\n      await: true\n      on_failure: abort\n      command: \"exit 3\"\n";

/// Our own file refuses; whatever is wrong with the settings beside it must not change that.
fn still_denies(spoil: impl Fn(&Ground), expected: &[&str]) {
    let ground = Ground::new();
    ground.file(".gambrel/hooks.yaml", GUARD);
    spoil(&ground);
    let decision = ground.decide("claude", BASH_LS);
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
fn a_settings_file_that_is_a_folder() {
    still_denies(
        |g| std::fs::create_dir_all(g.root.join(".claude/settings.json")).unwrap(),
        &["not a file"],
    );
}

#[test]
fn a_settings_file_of_two_gigabytes() {
    let huge = |g: &Ground| {
        let path = g.file(".claude/settings.json", "{}");
        let file = std::fs::OpenOptions::new().write(true).open(path).unwrap();
        file.set_len(2 * 1024 * 1024 * 1024).unwrap();
    };
    still_denies(huge, &["2147483648 bytes"]);
}

#[test]
fn a_settings_file_that_is_not_text() {
    let bytes = |g: &Ground| {
        let path = g.file(".claude/settings.json", "");
        std::fs::write(path, b"{\n\"a\": \"\xff\xfe\"}").unwrap();
    };
    still_denies(bytes, &["2:1: \"is not UTF-8"]);
}

#[test]
fn a_settings_file_with_a_nul() {
    still_denies(
        |g| drop(g.file(".claude/settings.json", "{\"a\":\n \"\0\"}")),
        &["2:3: \"holds a NUL"],
    );
}

#[test]
fn json_that_ends_in_the_middle() {
    still_denies(
        |g| drop(g.file(".claude/settings.json", "{\"hooks\": {\"PreToolUse\": [")),
        &["not valid JSON"],
    );
}

#[test]
fn a_fifo_in_the_place_of_a_file_does_not_hang() {
    let fifo = |g: &Ground| {
        std::fs::create_dir_all(g.root.join(".claude")).unwrap();
        let path = g.root.join(".claude/settings.json");
        let made = std::process::Command::new("mkfifo").arg(&path).status().unwrap();
        assert!(made.success());
    };
    still_denies(fifo, &["not a file"]);
}

#[test]
fn deep_nesting_is_refused_not_crashed_on() {
    let deep = format!("{{\"hooks\":{}{}}}", "[".repeat(100_000), "]".repeat(100_000));
    let ground = Ground::new();
    ground.file(".gambrel/hooks.yaml", GUARD);
    ground.file(".claude/settings.json", &deep);
    let yaml = "a: ".to_owned() + &"[".repeat(100_000);
    ground.file(".iteratr.hooks.yml", &yaml);
    let decision = ground.decide("claude", BASH_LS);
    assert_eq!(decision["ruling"], "deny");
    assert!(decision["complaints"].as_array().unwrap().len() >= 2, "{}", decision["complaints"]);
}

#[test]
fn an_alias_bomb_is_refused() {
    let mut bomb = String::from("a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n");
    for n in 1..10 {
        let last = format!("*a{}", n - 1);
        bomb += &format!("a{n}: &a{n} [{}]\n", vec![last; 10].join(", "));
    }
    let ground = Ground::new();
    ground.file(".iteratr.hooks.yml", &bomb);
    let listed = ground.json(&["check", "--json"]);
    assert!(listed["complaints"][0]["message"].as_str().unwrap().contains("aliases"), "{listed}");
}
