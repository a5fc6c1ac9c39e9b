//! Before a person lets a hook run, all that it does is shown, and nothing that it does not; and
//! names that hooks and folders bear stay names on a terminal.

use serde_json::{Value, json};

use crate::ground::{Ground, text};

fn shown(hooks: Value) -> String {
    let ground = Ground::new().with("GAMBREL_TRUST", "store");
    let settings = json!({"hooks": {"PreToolUse": [{"hooks": hooks}]}});
    ground.file(".claude/settings.json", &settings.to_string());
    everything(&ground)
}

fn shown_of(yaml: &str) -> String {
    let ground = Ground::new().with("GAMBREL_TRUST", "store");
    ground.file(".gambrel/hooks.yaml", &format!("hooks:\n  on_tool_before:\n{yaml}"));
    everything(&ground)
}

/// What `list` says, then what `trust` shows.
fn everything(ground: &Ground) -> String {
    let list = ground.run(&["list"], b"");
    let trust = ground.run(&["trust", "--all", "--yes"], b"");
    text(&list.stdout) + &text(&trust.stdout)
}

fn twice(what: &str, shown: &str) {
    assert_eq!(shown.matches(what).count(), 2, "{what} in {shown}");
}

#[test]
fn every_word_of_an_exec_form() {
    let hook = json!({"type": "command", "command": "sh", "args": ["-c", "touch it's"]});
    twice(r"sh -c 'touch it'\''s'", &shown(json!([hook])));
}

#[test]
fn a_request_a_tool_and_a_prompt_whatever_else_is_written() {
    let command = "echo harmless";
    let hooks = json!([
        {"type": "http", "url": "https://a.example/x", "command": command},
        {"type": "mcp_tool", "server": "far", "tool": "wipe", "command": command},
        {"type": "prompt", "prompt": "Is it fine?", "command": command},
    ]);
    let all = shown(hooks);
    for what in ["POST https://a.example/x", "tool wipe of server far", "Is it fine?"] {
        twice(what, &all);
    }
    assert!(!all.contains(command), "{all}");
}

#[test]
fn a_webhook_under_a_command_that_nobody_reads() {
    let yaml = "    - type: webhook\n      url: https://a.example/x\n      method: put\n      command: echo harmless\n";
    let all = shown_of(yaml);
    twice("PUT https://a.example/x", &all);
    assert!(!all.contains("harmless"), "{all}");
}

#[test]
fn what_surrounds_a_command() {
    let yaml = "    - type: shell\n      name: tidy\n      command: git status\n      env: {PATH: /evil}\n      cwd: deep\n      pass_env: [TOKEN]\n";
    let all = shown_of(yaml);
    twice("git status", &all);
    for line in ["  env    PATH=/evil\n", "  cwd    deep\n", "  passes TOKEN\n"] {
        assert!(all.contains(line), "{line} in {all}");
    }
}

#[test]
fn a_line_break_in_a_command_begins_no_line_of_ours() {
    let hook = json!({"type": "command", "command": "make\n  file   /bin/true"});
    let all = shown(json!([hook]));
    assert!(all.contains("/bin/true") && !all.contains("\n  file   /bin/true"), "{all}");
}

#[test]
fn no_name_reaches_a_terminal_as_a_command_to_it() {
    let mut ground = Ground::new().with("GAMBREL_TRUST", "store");
    ground.root = ground.base.join("p\u{1b}[31mX\u{7}");
    let settings = r#"{"hooks": {"Pre\u001bTool": [{"hooks": [{"type": "command", "command": "./\u001b]0;x\u0007"}]}],
        "PreToolUse": [{"matcher": "(", "hooks": [{"type": "command", "command": "x", "odd": "RAW"}]}]}}"#;
    ground.file(".claude/settings.json", &settings.replace("RAW", "\u{9b}31m\u{1b}[2J"));
    ground.script("\u{1b}]0;x\u{7}", "#!/bin/sh\n");
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
        // As a terminal would see it: nothing is taken out on the way.
        args.extend(["--color", "always"]);
        let output = ground.run(&args, event.as_bytes());
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
