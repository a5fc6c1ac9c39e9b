//! The examples of this crate do what they show.

use std::path::Path;
use std::process::Command;

use serde_json::json;

use crate::harness::{example_path, folder_with_files};

/// Runs an example without the user's own hooks, and returns what it printed.
fn run_example(name: &str, folder: &Path, args: &[&str]) -> String {
    let output = Command::new(example_path(name))
        .arg(folder)
        .args(args)
        .current_dir(folder)
        .env_clear()
        .env("PATH", "/usr/bin:/bin")
        .env("HOME", folder.join("home"))
        .output()
        .unwrap();
    let shown = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{shown}{}", String::from_utf8_lossy(&output.stderr));
    shown
}

fn claude_settings(event: &str, command: &str) -> String {
    let hook = json!({"type": "command", "command": command});
    json!({"hooks": {event: [{"hooks": [hook]}]}}).to_string()
}

#[test]
fn a_tool_runs_under_hooks() {
    let yaml = "hooks:\n  on_tool_before:\n    \
        - {type: rule, block: 'rm -rf', message: no recursive rm}\n";
    let answer = json!({"systemMessage": "looked at", "hookSpecificOutput": {
        "hookEventName": "PreToolUse", "permissionDecision": "allow",
        "updatedInput": {"command": "echo changed"}}});
    let settings =
        claude_settings("PreToolUse", &format!("grep -q 'echo first' && echo '{answer}'; exit 0"));
    let folder =
        folder_with_files(&[(".gambrel/hooks.yaml", yaml), (".claude/settings.json", &settings)]);
    let run = |command: &str| run_example("tool_under_hooks", folder.path(), &[command]);
    assert_eq!(
        run("rm -rf build"),
        "input: \"rm -rf build\"\nno output: blocked by a hook: no recursive rm\n"
    );
    assert_eq!(run("echo first"), "input: \"echo changed\"\noutput: changed\nmessage: looked at\n");
    assert_eq!(run("echo plain"), "input: \"echo plain\"\noutput: plain\n");
}

#[test]
fn an_async_host_fires_on_threads() {
    let settings = claude_settings("PreToolUse", "echo not now >&2; exit 2");
    let folder = folder_with_files(&[(".claude/settings.json", &settings)]);
    let shown = run_example("async_host", folder.path(), &[]);
    assert_eq!(shown, "red: deny not now\ngreen: deny not now\nblue: deny not now\n");
}

#[test]
fn a_custom_action_runs_commands_of_hooks() {
    let command = "[ -z \"$HOME\" ] && grep -q 'rm -rf' && echo no recursive rm >&2 && exit 2";
    let settings = claude_settings("PreToolUse", command);
    let folder = folder_with_files(&[(".claude/settings.json", &settings)]);
    let shown = run_example("custom_action", folder.path(), &[]);
    assert_eq!(shown, format!("deny: no recursive rm\nran: {command}\n"));
}
