//! A hook that runs in another folder than its definition's still runs only what was looked at.

use serde_json::Value;

use crate::ground::{BASH_LS, Ground, text};

const REFUSES: &str = "#!/bin/sh\necho no >&2\nexit 2\n";
const PASSES: &str = "#!/bin/sh\nexit 0\n";

/// A trusted guard, and a folder of the project to fire it in.
fn trusted(command: &str) -> Ground {
    let ground = Ground::new().with("GAMBREL_TRUST", "store");
    ground.script(".claude/hooks/g.sh", REFUSES);
    ground.guard(command, 5);
    ground.file("sub/deep/notes.txt", "");
    trust(&ground);
    ground
}

fn trust(ground: &Ground) {
    let output = ground.run(&["trust", "--all", "--yes"], b"");
    assert!(output.status.success(), "{}", text(&output.stderr));
}

fn event(ground: &Ground, folder: &str) -> String {
    let mut event: Value = serde_json::from_str(BASH_LS).unwrap();
    event["cwd"] = ground.root.join(folder).to_str().unwrap().into();
    event.to_string()
}

/// Fires in a folder, with the project's own named or not.
fn fired(ground: &Ground, folder: &str, named: bool) -> Value {
    let root = ground.root.to_str().unwrap();
    let at: &[&str] = if named { &["-C", root] } else { &[] };
    let args = [at, &["fire", "--from", "claude", "--json"]].concat();
    let output = ground.run(&args, event(ground, folder).as_bytes());
    serde_json::from_slice(&output.stdout).unwrap()
}

fn is_skipped(decision: &Value, file: &str) {
    let step = &decision["trail"][0];
    let why = step["why"].as_str().unwrap();
    assert_eq!(step["ran"], false, "{decision}");
    assert!(why.contains("changed") && why.contains(file), "{why}");
}

#[test]
fn another_script_of_the_same_name_does_not_run() {
    let ground = trusted("sh .claude/hooks/g.sh");
    ground.script("sub/.claude/hooks/g.sh", PASSES);
    for named in [true, false] {
        is_skipped(&fired(&ground, "sub", named), "/sub/.claude/hooks/g.sh");
    }
    assert_eq!(fired(&ground, "", true)["ruling"], "deny", "at home it runs");
    let strict = ground.with("GAMBREL_STRICT", "1");
    assert_eq!(fired(&strict, "sub", true)["ruling"], "deny");
}

#[test]
fn explain_says_so_as_well() {
    let ground = trusted("sh .claude/hooks/g.sh");
    ground.script("sub/.claude/hooks/g.sh", PASSES);
    let args = ["-C", ground.root.to_str().unwrap(), "explain", "--from", "claude"];
    let output = ground.run(&args, event(&ground, "sub").as_bytes());
    assert!(text(&output.stdout).contains("/sub/.claude/hooks/g.sh"), "{}", text(&output.stdout));
}

#[test]
fn the_same_script_runs_and_so_does_a_name_that_leads_nowhere() {
    let ground = trusted("sh .claude/hooks/g.sh");
    assert_eq!(fired(&ground, "sub", true)["trail"][0]["ran"], true);
    ground.script("sub/.claude/hooks/g.sh", REFUSES);
    assert_eq!(fired(&ground, "sub", true)["ruling"], "deny");
}

#[test]
fn a_name_from_the_projects_folder_is_not_looked_up_elsewhere() {
    for command in [
        "sh \"$CLAUDE_PROJECT_DIR\"/.claude/hooks/g.sh",
        "cd \"$CLAUDE_PROJECT_DIR\" && sh .claude/hooks/g.sh",
    ] {
        let ground = trusted(command);
        ground.script("sub/.claude/hooks/g.sh", PASSES);
        assert_eq!(fired(&ground, "sub", true)["ruling"], "deny", "{command}");
        // Without a named project the nearest folder with a `.claude` is taken for it.
        is_skipped(&fired(&ground, "sub", false), "/sub/.claude/hooks/g.sh");
    }
}

#[test]
fn what_a_shell_makes_of_the_folder_is_followed() {
    for command in ["sh \"$(pwd)\"/.claude/hooks/g.sh", "sh \"$(git root)\"/.claude/hooks/g.sh"] {
        let ground = trusted(command);
        ground.script("sub/.claude/hooks/g.sh", PASSES);
        is_skipped(&fired(&ground, "sub", true), "/sub/.claude/hooks/g.sh");
    }
    let ground = trusted("sh \"$(git root)\"/.claude/hooks/g.sh");
    ground.script("sub/.claude/hooks/g.sh", PASSES);
    is_skipped(&fired(&ground, "sub/deep", true), "/sub/.claude/hooks/g.sh");
}

#[test]
fn words_that_happen_to_be_files_there_are_no_trouble() {
    let ground = trusted("echo no >&2; exit 2");
    for name in ["command", "echo", "no", "Bash", "2"] {
        ground.script(&format!("sub/{name}"), PASSES);
    }
    assert_eq!(fired(&ground, "sub", true)["ruling"], "deny");
}

#[test]
fn a_folder_that_the_author_named_is_trusted_with_the_hook() {
    let ground = Ground::new().with("GAMBREL_TRUST", "store");
    let hooks = "hooks:\n  on_tool_before:\n    - type: shell\n      command: sh check.sh\n      cwd: tools\n      await: true\n      on_failure: abort\n";
    ground.file(".gambrel/hooks.yaml", hooks);
    ground.file("tools/check.sh", "exit 1\n");
    trust(&ground);
    let decision = ground.decide("claude", BASH_LS);
    assert_eq!(decision["trail"][0]["ran"], true, "{decision}");
    ground.file("tools/check.sh", "exit 0\n");
    let decision = ground.decide("claude", BASH_LS);
    assert!(decision["trail"][0]["why"].as_str().unwrap().contains("changed"), "{decision}");
}

/// The record says so, and a firing elsewhere does not work it out again.
#[test]
fn only_names_from_the_projects_folder_are_anchored() {
    let anchored = |command: &str| {
        let ground = trusted(command);
        let store = std::fs::read(ground.base.join("state/trust.json")).unwrap();
        let entries: Value = serde_json::from_slice(&store).unwrap();
        let entry = entries.as_object().unwrap().values().next().unwrap().clone();
        entry["anchored"] == true
    };
    for (command, expected) in [
        ("sh \"$CLAUDE_PROJECT_DIR\"/.claude/hooks/g.sh", true),
        ("cd \"$CLAUDE_PROJECT_DIR\" && sh .claude/hooks/g.sh", true),
        ("exit 2", true),
        ("sh .claude/hooks/g.sh", false),
        ("[ -f x.sh ] && . ./x.sh; exit 2", false),
        ("sh \"$(git root)\"/.claude/hooks/g.sh", false),
        ("for f in *.sh; do sh \"$f\"; done", false),
    ] {
        assert_eq!(anchored(command), expected, "{command}");
    }
}
