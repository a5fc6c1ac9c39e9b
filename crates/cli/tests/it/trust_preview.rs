//! `list` and `trust` show all that a hook does, and nothing that it does not. Names of hooks and
//! folders cannot control the terminal.

use serde_json::{Value, json};

use crate::test_project::{TestProject, text};

fn preview_claude_hooks(hooks: Value) -> String {
    let project = TestProject::new().with("GAMBREL_TRUST", "store");
    let settings = json!({"hooks": {"PreToolUse": [{"hooks": hooks}]}});
    project.file(".claude/settings.json", &settings.to_string());
    list_and_trust(&project)
}

fn preview_yaml_hooks(yaml: &str) -> String {
    let project = TestProject::new().with("GAMBREL_TRUST", "store");
    project.file(".gambrel/hooks.yaml", &format!("hooks:\n  on_tool_before:\n{yaml}"));
    list_and_trust(&project)
}

/// The output of `list`, then of `trust`.
fn list_and_trust(project: &TestProject) -> String {
    let list = project.run(&["list"], b"");
    let trust = project.run(&["trust", "--all", "--yes"], b"");
    text(&list.stdout) + &text(&trust.stdout)
}

fn assert_shown_twice(what: &str, shown: &str) {
    assert_eq!(shown.matches(what).count(), 2, "{what} in {shown}");
}

#[test]
fn shows_every_argument_of_an_exec_hook() {
    let hook = json!({"type": "command", "command": "sh", "args": ["-c", "touch it's"]});
    assert_shown_twice(r"sh -c 'touch it'\''s'", &preview_claude_hooks(json!([hook])));
}

#[test]
fn shows_the_action_and_not_an_unused_command() {
    let command = "echo harmless";
    let hooks = json!([
        {"type": "http", "url": "https://a.example/x", "command": command},
        {"type": "mcp_tool", "server": "far", "tool": "wipe", "command": command},
        {"type": "prompt", "prompt": "Is it fine?", "command": command},
    ]);
    let all = preview_claude_hooks(hooks);
    for what in ["POST https://a.example/x", "tool wipe of server far", "Is it fine?"] {
        assert_shown_twice(what, &all);
    }
    assert!(!all.contains(command), "{all}");
}

#[test]
fn shows_a_webhook_instead_of_its_unused_command() {
    let yaml = "    - type: webhook\n      url: https://a.example/x\n      method: put\n      command: echo harmless\n";
    let all = preview_yaml_hooks(yaml);
    assert_shown_twice("PUT https://a.example/x", &all);
    assert!(!all.contains("harmless"), "{all}");
}

#[test]
fn shows_env_cwd_and_passed_variables() {
    let yaml = "    - type: shell\n      name: tidy\n      command: git status\n      env: {PATH: /evil}\n      cwd: deep\n      pass_env: [TOKEN]\n";
    let all = preview_yaml_hooks(yaml);
    assert_shown_twice("git status", &all);
    for line in ["  env    PATH=/evil\n", "  cwd    deep\n", "  passes TOKEN\n"] {
        assert!(all.contains(line), "{line} in {all}");
    }
}

#[test]
fn escapes_line_breaks_in_commands() {
    let hook = json!({"type": "command", "command": "make\n  file   /bin/true"});
    let all = preview_claude_hooks(json!([hook]));
    assert!(all.contains("/bin/true") && !all.contains("\n  file   /bin/true"), "{all}");
}

#[test]
fn escapes_control_characters_in_names() {
    let mut project = TestProject::new().with("GAMBREL_TRUST", "store");
    project.root = project.base.join("p\u{1b}[31mX\u{7}");
    let settings = r#"{"hooks": {"Pre\u001bTool": [{"hooks": [{"type": "command", "command": "./\u001b]0;x\u0007"}]}],
        "PreToolUse": [{"matcher": "(", "hooks": [{"type": "command", "command": "x", "odd": "RAW"}]}]}}"#;
    project.file(".claude/settings.json", &settings.replace("RAW", "\u{9b}31m\u{1b}[2J"));
    project.script("\u{1b}]0;x\u{7}", "#!/bin/sh\n");
    let event = r#"{"hook_event_name":"Pre\u001bTool","session_id":"s"}"#;
    let calls: [&[&str]; 5] = [
        &["list"],
        &["check"],
        &["explain", "--from", "claude"],
        &["trust", "--all", "--yes"],
        &["trust", "--list"],
    ];
    for args in calls {
        let mut args = args.to_vec();
        // As on a terminal: no escape sequence is removed.
        args.extend(["--color", "always"]);
        let output = project.run(&args, event.as_bytes());
        let seen = text(&output.stdout) + &text(&output.stderr);
        let ours = |c: char| c == 'm' || c == ';' || c.is_ascii_digit() || c == '[';
        let odd = seen.split('\u{1b}').skip(1).any(|rest| {
            let end = rest.find('m').unwrap_or(0);
            end == 0 || !rest[..end].chars().all(ours) || rest.starts_with("[31mX")
        });
        assert!(!odd && !seen.contains(['\u{7}', '\u{9b}']), "{args:?}: {seen:?}");
        assert!(!seen.is_empty(), "{args:?}");
    }
}
