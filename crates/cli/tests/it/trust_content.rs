//! Project hooks run only with the content that the user trusted.

use crate::test_project::{BASH_LS, TestProject, text};

fn guarded_project() -> TestProject {
    let project = TestProject::new().with("GAMBREL_TRUST", "store");
    project.script("guard.sh", "#!/bin/sh\necho no >&2\nexit 2\n");
    project.guard("\"$CLAUDE_PROJECT_DIR\"/guard.sh", 5);
    project
}

fn ruling_and_reason(project: &TestProject) -> (String, String) {
    let decision = project.decide("claude", BASH_LS);
    let ruling = decision["ruling"].as_str().unwrap().to_owned();
    (ruling, decision["trail"][0]["why"].as_str().unwrap().to_owned())
}

fn trust(project: &TestProject) {
    let output = project.run(&["trust", "--all", "--yes"], b"");
    assert!(output.status.success(), "{}", text(&output.stderr));
}

#[test]
fn an_untrusted_hook_does_not_run_and_is_named() {
    let project = guarded_project();
    let (ruling, why) = ruling_and_reason(&project);
    assert_eq!(ruling, "silent");
    assert!(why.contains("untrusted"), "{why}");
}

#[test]
fn a_trusted_hook_runs() {
    let project = guarded_project();
    trust(&project);
    assert_eq!(ruling_and_reason(&project).0, "deny");
}

#[test]
fn a_changed_script_does_not_run() {
    let project = guarded_project();
    trust(&project);
    project.script("guard.sh", "#!/bin/sh\nexit 0 # changed\n");
    let (ruling, why) = ruling_and_reason(&project);
    assert_eq!(ruling, "silent");
    assert!(why.contains("changed"), "{why}");
}

#[test]
fn a_changed_definition_does_not_run() {
    let project = guarded_project();
    trust(&project);
    project.guard("\"$CLAUDE_PROJECT_DIR\"/guard.sh --really", 5);
    assert!(ruling_and_reason(&project).1.contains("changed"));
    assert_eq!(ruling_and_reason(&project).0, "silent");
}

#[test]
fn a_script_swapped_for_a_link_does_not_run() {
    let project = guarded_project();
    trust(&project);
    project.script("other.sh", "#!/bin/sh\nexit 0\n");
    std::fs::remove_file(project.root.join("guard.sh")).unwrap();
    std::os::unix::fs::symlink("other.sh", project.root.join("guard.sh")).unwrap();
    assert!(ruling_and_reason(&project).1.contains("changed"));
}

#[test]
fn a_copy_of_the_project_is_not_trusted() {
    let project = guarded_project();
    trust(&project);
    let copy = project.base.join("copy");
    let copied = std::process::Command::new("cp").arg("-r").arg(&project.root).arg(&copy).status();
    assert!(copied.unwrap().success());
    let args = ["-C", copy.to_str().unwrap(), "fire", "--from", "claude", "--json"];
    let output = project.run(&args, BASH_LS.as_bytes());
    let decision: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(decision["ruling"], "silent");
    assert!(decision["trail"][0]["why"].as_str().unwrap().contains("untrusted"), "{decision}");
}

#[test]
fn a_users_own_hook_needs_no_trust() {
    let project = TestProject::new().with("GAMBREL_TRUST", "store");
    let hook = r#"{"hooks":{"PreToolUse":[{"hooks":[{"type":"command","command":"exit 2"}]}]}}"#;
    let home = project.base.join("home/.claude");
    std::fs::create_dir_all(&home).unwrap();
    std::fs::write(home.join("settings.json"), hook).unwrap();
    assert_eq!(ruling_and_reason(&project).0, "deny");
}

#[test]
fn without_a_terminal_trust_needs_yes() {
    let project = guarded_project();
    let output = project.run(&["trust", "--all"], b"y\n");
    assert!(!output.status.success());
    assert!(text(&output.stderr).contains("--yes"));
    assert_eq!(ruling_and_reason(&project).0, "silent");
}

#[test]
fn an_agent_may_not_trust() {
    let project = guarded_project().with("CLAUDECODE", "1");
    let output = project.run(&["trust", "--all", "--yes"], b"");
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains("CLAUDECODE"));
    let output = project.run(&["untrust", "--all"], b"");
    assert_eq!(output.status.code(), Some(1), "an agent may not switch a guard off");
}

#[test]
fn untrust_revokes_trust() {
    let project = guarded_project();
    trust(&project);
    assert!(project.run(&["untrust", "--all"], b"").status.success());
    assert!(ruling_and_reason(&project).1.contains("untrusted"));
    trust(&project);
    assert!(project.run(&["untrust", "--all", "--deny"], b"").status.success());
    assert!(ruling_and_reason(&project).1.contains("refused"));
}

#[test]
fn strict_mode_denies_when_a_gate_is_untrusted() {
    let project = guarded_project().with("GAMBREL_STRICT", "1");
    let decision = project.decide("claude", BASH_LS);
    assert_eq!(decision["ruling"], "deny");
    assert!(decision["reasons"][0]["text"].as_str().unwrap().contains("strict"), "{decision}");
    let stop = project.decide("claude", r#"{"hook_event_name":"Stop","session_id":"s"}"#);
    assert_eq!(stop["ruling"], "silent");
}

#[test]
fn reports_untrusted_hooks_on_stderr() {
    let project = guarded_project();
    let output = project.run(&["fire", "--from", "claude"], BASH_LS.as_bytes());
    assert!(text(&output.stderr).contains("untrusted"), "{}", text(&output.stderr));
    trust(&project);
    let output = project.run(&["fire", "--from", "claude"], BASH_LS.as_bytes());
    assert_eq!(text(&output.stderr), "");
}

#[test]
fn covers_a_script_after_cd() {
    let project = guarded_project();
    project.script("tools/check.sh", "#!/bin/sh\nexit 2\n");
    project.guard("cd tools && ./check.sh", 5);
    trust(&project);
    assert_eq!(ruling_and_reason(&project).0, "deny");
    project.script("tools/check.sh", "#!/bin/sh\nexit 0\n");
    assert!(ruling_and_reason(&project).1.contains("changed"));
}
