//! Project hooks run only as they were when a person looked at them.

use crate::ground::{BASH_LS, Ground, text};

fn ground() -> Ground {
    let ground = Ground::new().with("GAMBREL_TRUST", "store");
    ground.script("guard.sh", "#!/bin/sh\necho no >&2\nexit 2\n");
    ground.guard("\"$CLAUDE_PROJECT_DIR\"/guard.sh", 5);
    ground
}

fn why(ground: &Ground) -> (String, String) {
    let decision = ground.decide("claude", BASH_LS);
    let ruling = decision["ruling"].as_str().unwrap().to_owned();
    (ruling, decision["trail"][0]["why"].as_str().unwrap().to_owned())
}

fn trust(ground: &Ground) {
    let output = ground.run(&["trust", "--all", "--yes"], b"");
    assert!(output.status.success(), "{}", text(&output.stderr));
}

#[test]
fn an_untrusted_hook_does_not_run_and_is_named() {
    let ground = ground();
    let (ruling, why) = why(&ground);
    assert_eq!(ruling, "silent");
    assert!(why.contains("untrusted"), "{why}");
}

#[test]
fn a_trusted_hook_runs() {
    let ground = ground();
    trust(&ground);
    assert_eq!(why(&ground).0, "deny");
}

#[test]
fn a_changed_script_does_not_run() {
    let ground = ground();
    trust(&ground);
    ground.script("guard.sh", "#!/bin/sh\nexit 0 # changed\n");
    let (ruling, why) = why(&ground);
    assert_eq!(ruling, "silent");
    assert!(why.contains("changed"), "{why}");
}

#[test]
fn a_changed_definition_does_not_run() {
    let ground = ground();
    trust(&ground);
    ground.guard("\"$CLAUDE_PROJECT_DIR\"/guard.sh --really", 5);
    assert!(why(&ground).1.contains("changed"));
    assert_eq!(why(&ground).0, "silent");
}

#[test]
fn a_script_swapped_for_a_link_does_not_run() {
    let ground = ground();
    trust(&ground);
    ground.script("other.sh", "#!/bin/sh\nexit 0\n");
    std::fs::remove_file(ground.root.join("guard.sh")).unwrap();
    std::os::unix::fs::symlink("other.sh", ground.root.join("guard.sh")).unwrap();
    assert!(why(&ground).1.contains("changed"));
}

#[test]
fn a_copy_of_the_project_is_not_trusted() {
    let ground = ground();
    trust(&ground);
    let copy = ground.base.join("copy");
    let copied = std::process::Command::new("cp").arg("-r").arg(&ground.root).arg(&copy).status();
    assert!(copied.unwrap().success());
    let args = ["-C", copy.to_str().unwrap(), "fire", "--from", "claude", "--json"];
    let output = ground.run(&args, BASH_LS.as_bytes());
    let decision: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(decision["ruling"], "silent");
    assert!(decision["trail"][0]["why"].as_str().unwrap().contains("untrusted"), "{decision}");
}

#[test]
fn a_users_own_hook_needs_no_trust() {
    let ground = Ground::new().with("GAMBREL_TRUST", "store");
    let hook = r#"{"hooks":{"PreToolUse":[{"hooks":[{"type":"command","command":"exit 2"}]}]}}"#;
    let home = ground.base.join("home/.claude");
    std::fs::create_dir_all(&home).unwrap();
    std::fs::write(home.join("settings.json"), hook).unwrap();
    assert_eq!(why(&ground).0, "deny");
}

#[test]
fn without_a_terminal_trust_needs_yes() {
    let ground = ground();
    let output = ground.run(&["trust", "--all"], b"y\n");
    assert!(!output.status.success());
    assert!(text(&output.stderr).contains("--yes"));
    assert_eq!(why(&ground).0, "silent");
}

#[test]
fn an_agent_may_not_trust() {
    let ground = ground().with("CLAUDECODE", "1");
    let output = ground.run(&["trust", "--all", "--yes"], b"");
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains("CLAUDECODE"));
    let output = ground.run(&["untrust", "--all"], b"");
    assert_eq!(output.status.code(), Some(1), "an agent may not switch a guard off");
}

#[test]
fn untrust_takes_it_back() {
    let ground = ground();
    trust(&ground);
    assert!(ground.run(&["untrust", "--all"], b"").status.success());
    assert!(why(&ground).1.contains("untrusted"));
    trust(&ground);
    assert!(ground.run(&["untrust", "--all", "--deny"], b"").status.success());
    assert!(why(&ground).1.contains("refused"));
}

#[test]
fn strict_denies_what_could_not_be_asked() {
    let ground = ground().with("GAMBREL_STRICT", "1");
    let decision = ground.decide("claude", BASH_LS);
    assert_eq!(decision["ruling"], "deny");
    assert!(decision["reasons"][0]["text"].as_str().unwrap().contains("strict"), "{decision}");
    let stop = ground.decide("claude", r#"{"hook_event_name":"Stop","session_id":"s"}"#);
    assert_eq!(stop["ruling"], "silent");
}

#[test]
fn what_was_not_asked_is_said() {
    let ground = ground();
    let output = ground.run(&["fire", "--from", "claude"], BASH_LS.as_bytes());
    assert!(text(&output.stderr).contains("untrusted"), "{}", text(&output.stderr));
    trust(&ground);
    let output = ground.run(&["fire", "--from", "claude"], BASH_LS.as_bytes());
    assert_eq!(text(&output.stderr), "");
}

#[test]
fn a_script_behind_cd_counts() {
    let ground = ground();
    ground.script("tools/check.sh", "#!/bin/sh\nexit 2\n");
    ground.guard("cd tools && ./check.sh", 5);
    trust(&ground);
    assert_eq!(why(&ground).0, "deny");
    ground.script("tools/check.sh", "#!/bin/sh\nexit 0\n");
    assert!(why(&ground).1.contains("changed"));
}
