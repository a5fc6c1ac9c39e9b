//! A hook that runs in another folder than its definition runs only trusted files.

use serde_json::Value;

use crate::test_project::{BASH_LS, TestProject, text};

const REFUSES: &str = "#!/bin/sh\necho no >&2\nexit 2\n";
const PASSES: &str = "#!/bin/sh\nexit 0\n";

/// A trusted guard, and a folder of the project to fire it in.
fn trusted_project(command: &str) -> TestProject {
    let project = TestProject::new().with("GAMBREL_TRUST", "store");
    project.script(".claude/hooks/g.sh", REFUSES);
    project.guard(command, 5);
    project.file("sub/deep/notes.txt", "");
    trust(&project);
    project
}

fn trust(project: &TestProject) {
    let output = project.run(&["trust", "--all", "--yes"], b"");
    assert!(output.status.success(), "{}", text(&output.stderr));
}

fn event_in(project: &TestProject, folder: &str) -> String {
    let mut event: Value = serde_json::from_str(BASH_LS).unwrap();
    event["cwd"] = project.root.join(folder).to_str().unwrap().into();
    event.to_string()
}

/// Fires in a folder, with or without the project's own as `-C`.
fn fire_in(project: &TestProject, folder: &str, named: bool) -> Value {
    let root = project.root.to_str().unwrap();
    let at: &[&str] = if named { &["-C", root] } else { &[] };
    let args = [at, &["fire", "--from", "claude", "--json"]].concat();
    let output = project.run(&args, event_in(project, folder).as_bytes());
    serde_json::from_slice(&output.stdout).unwrap()
}

fn assert_skipped(decision: &Value, file: &str) {
    let step = &decision["trail"][0];
    let why = step["why"].as_str().unwrap();
    assert_eq!(step["ran"], false, "{decision}");
    assert!(why.contains("changed") && why.contains(file), "{why}");
}

#[test]
fn skips_another_script_of_the_same_name() {
    let project = trusted_project("sh .claude/hooks/g.sh");
    project.script("sub/.claude/hooks/g.sh", PASSES);
    for named in [true, false] {
        assert_skipped(&fire_in(&project, "sub", named), "/sub/.claude/hooks/g.sh");
    }
    assert_eq!(fire_in(&project, "", true)["ruling"], "deny", "at home it runs");
    let strict = project.with("GAMBREL_STRICT", "1");
    assert_eq!(fire_in(&strict, "sub", true)["ruling"], "deny");
}

#[test]
fn explain_names_the_other_script() {
    let project = trusted_project("sh .claude/hooks/g.sh");
    project.script("sub/.claude/hooks/g.sh", PASSES);
    let args = ["-C", project.root.to_str().unwrap(), "explain", "--from", "claude"];
    let output = project.run(&args, event_in(&project, "sub").as_bytes());
    assert!(text(&output.stdout).contains("/sub/.claude/hooks/g.sh"), "{}", text(&output.stdout));
}

#[test]
fn runs_the_same_script_or_a_missing_name() {
    let project = trusted_project("sh .claude/hooks/g.sh");
    assert_eq!(fire_in(&project, "sub", true)["trail"][0]["ran"], true);
    project.script("sub/.claude/hooks/g.sh", REFUSES);
    assert_eq!(fire_in(&project, "sub", true)["ruling"], "deny");
}

#[test]
fn resolves_project_paths_in_the_project_only() {
    for command in [
        "sh \"$CLAUDE_PROJECT_DIR\"/.claude/hooks/g.sh",
        "cd \"$CLAUDE_PROJECT_DIR\" && sh .claude/hooks/g.sh",
    ] {
        let project = trusted_project(command);
        project.script("sub/.claude/hooks/g.sh", PASSES);
        assert_eq!(fire_in(&project, "sub", true)["ruling"], "deny", "{command}");
        // Without `-C` the nearest folder with a `.claude` is the project.
        assert_skipped(&fire_in(&project, "sub", false), "/sub/.claude/hooks/g.sh");
    }
}

#[test]
fn follows_folders_computed_by_the_shell() {
    for command in ["sh \"$(pwd)\"/.claude/hooks/g.sh", "sh \"$(git root)\"/.claude/hooks/g.sh"] {
        let project = trusted_project(command);
        project.script("sub/.claude/hooks/g.sh", PASSES);
        assert_skipped(&fire_in(&project, "sub", true), "/sub/.claude/hooks/g.sh");
    }
    let project = trusted_project("sh \"$(git root)\"/.claude/hooks/g.sh");
    project.script("sub/.claude/hooks/g.sh", PASSES);
    assert_skipped(&fire_in(&project, "sub/deep", true), "/sub/.claude/hooks/g.sh");
}

#[test]
fn ignores_words_that_are_files_by_chance() {
    let project = trusted_project("echo no >&2; exit 2");
    for name in ["command", "echo", "no", "Bash", "2"] {
        project.script(&format!("sub/{name}"), PASSES);
    }
    assert_eq!(fire_in(&project, "sub", true)["ruling"], "deny");
}

#[test]
fn covers_scripts_in_the_configured_cwd() {
    let project = TestProject::new().with("GAMBREL_TRUST", "store");
    let hooks = "hooks:\n  on_tool_before:\n    - type: shell\n      command: sh check.sh\n      cwd: tools\n      await: true\n      on_failure: abort\n";
    project.file(".gambrel/hooks.yaml", hooks);
    project.file("tools/check.sh", "exit 1\n");
    trust(&project);
    let decision = project.decide("claude", BASH_LS);
    assert_eq!(decision["trail"][0]["ran"], true, "{decision}");
    project.file("tools/check.sh", "exit 0\n");
    let decision = project.decide("claude", BASH_LS);
    assert!(decision["trail"][0]["why"].as_str().unwrap().contains("changed"), "{decision}");
}

/// The record stores it, so a firing elsewhere does not compute it again.
#[test]
fn only_names_from_the_projects_folder_are_anchored() {
    let anchored = |command: &str| {
        let project = trusted_project(command);
        let store = std::fs::read(project.base.join("state/trust.json")).unwrap();
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
