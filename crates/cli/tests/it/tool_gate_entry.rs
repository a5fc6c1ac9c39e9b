//! The PreToolUse entry that `install` writes blocks the tool whenever gambrel does not answer, on
//! every version of Claude Code: exit code 2 with a text on stderr.

use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::test_project::{BASH_LS, TestProject, text};

/// The command of the installed PreToolUse entry.
fn install_entry(project: &TestProject) -> String {
    assert!(project.run(&["install", "claude"], b"").status.success());
    let settings = std::fs::read_to_string(project.root.join(".claude/settings.json")).unwrap();
    let settings: Value = serde_json::from_str(&settings).unwrap();
    settings["hooks"]["PreToolUse"][0]["hooks"][0]["command"].as_str().unwrap().to_owned()
}

/// Runs a command as Claude Code does, with an event on stdin.
fn run_entry(project: &TestProject, command: &str, path: &str) -> Output {
    use std::io::Write;
    let mut shell = Command::new("/bin/sh");
    shell.args(["-c", command]).env_clear().envs(project.env.clone()).env("PATH", path);
    shell.env("CLAUDE_PROJECT_DIR", &project.root).current_dir(&project.root);
    shell.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = shell.spawn().unwrap();
    let _unread = child.stdin.take().unwrap().write_all(BASH_LS.as_bytes());
    child.wait_with_output().unwrap()
}

/// Installs a fake `gambrel` that runs this script, and returns a PATH with it.
fn install_fake_gambrel(project: &TestProject, script: &str) -> String {
    project.script("../fake/gambrel", &format!("#!/bin/sh\n{script}\n"));
    format!("{}:/usr/bin:/bin", project.base.join("fake").display())
}

fn assert_blocked(output: &Output, what: &str) {
    assert_eq!(output.status.code(), Some(2), "{what}: {}", text(&output.stderr));
    let stderr = text(&output.stderr);
    assert!(stderr.contains("gambrel did not answer, so this call is blocked"), "{what}: {stderr}");
    assert!(stderr.contains("gambrel doctor"), "{what}: {stderr}");
}

#[test]
fn a_missing_crashing_or_killed_gambrel_blocks() {
    let project = TestProject::new().with_gambrel_on_path();
    let command = install_entry(&project);
    assert!(command.starts_with("gambrel fire --from claude --hosted --event PreToolUse || {"));
    assert_blocked(&run_entry(&project, &command, "/usr/bin:/bin"), "missing");
    for script in ["exit 1", "exit 64", "kill -9 $$", "kill -SEGV $$", "exit 127"] {
        let path = install_fake_gambrel(&project, script);
        assert_blocked(&run_entry(&project, &command, &path), script);
    }
}

#[test]
fn an_answer_passes_unchanged() {
    let project = TestProject::new().with_gambrel_on_path();
    let command = install_entry(&project);
    let path = install_fake_gambrel(&project, "echo answer; echo words >&2; exit 0");
    let output = run_entry(&project, &command, &path);
    assert_eq!(output.status.code(), Some(0));
    assert_eq!((text(&output.stdout), text(&output.stderr)), ("answer\n".into(), "words\n".into()));
    let path = install_fake_gambrel(&project, "echo no >&2; exit 2");
    let output = run_entry(&project, &command, &path);
    assert_eq!((output.status.code(), text(&output.stderr)), (Some(2), "no\n".into()));
}

/// Changes the timeout of the installed entry, as a user may.
fn shorten(project: &TestProject, seconds: u64) {
    let path = project.root.join(".claude/settings.json");
    let settings = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, settings.replace("600", &seconds.to_string())).unwrap();
}

/// The process is stopped for longer than its entry's timeout. It then finds the timer's signal
/// pending and never answers.
#[test]
fn a_hanging_gambrel_is_ended_by_its_entrys_timer() {
    let project = TestProject::new().with_gambrel_on_path();
    install_entry(&project);
    shorten(&project, 2);
    let args = ["fire", "--from", "claude", "--hosted", "--event", "PreToolUse"];
    let mut child = project.command(&args).spawn().unwrap();
    std::thread::sleep(Duration::from_millis(700));
    let signal = |name: &str| {
        let pid = child.id().to_string();
        assert!(Command::new("kill").args([name, &pid]).status().unwrap().success());
    };
    signal("-STOP");
    std::thread::sleep(Duration::from_secs(2));
    signal("-CONT");
    let status = child.wait().unwrap();
    assert_eq!(std::os::unix::process::ExitStatusExt::signal(&status), Some(14), "{status}");
}

#[test]
fn a_pipe_in_place_of_hooks_is_refused_with_its_name() {
    let project = TestProject::new();
    let file = project.root.join(".gambrel/hooks.yaml");
    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    assert!(Command::new("mkfifo").arg(&file).status().unwrap().success());
    let decision = project.decide("claude", BASH_LS);
    assert_eq!(decision["ruling"], "deny", "{decision}");
    assert!(decision["reasons"][0]["text"].as_str().unwrap().contains("hooks.yaml"), "{decision}");
}

#[test]
fn a_pipe_in_place_of_secrets_does_not_hang() {
    let project = TestProject::new();
    let secrets = project.base.join("home/.config/gambrel/secrets.env");
    std::fs::create_dir_all(secrets.parent().unwrap()).unwrap();
    assert!(Command::new("mkfifo").arg(&secrets).status().unwrap().success());
    let decision = project.decide("claude", BASH_LS);
    assert!(decision["reasons"][0]["text"].as_str().unwrap().contains("secrets.env"), "{decision}");
    assert!(project.run(&["list"], b"").status.success());
}

#[test]
fn an_event_that_never_comes_is_refused_in_time() {
    let project = TestProject::new().with_gambrel_on_path();
    install_entry(&project);
    shorten(&project, 4);
    let args = ["fire", "--from", "claude", "--hosted", "--event", "PreToolUse"];
    let mut command = project.command(&args);
    let began = Instant::now();
    let mut child = command.spawn().unwrap();
    let stdin = child.stdin.take();
    let output = child.wait_with_output().unwrap();
    drop(stdin);
    assert!(began.elapsed() < Duration::from_secs(4), "{:?}", began.elapsed());
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let reply: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(reply["hookSpecificOutput"]["permissionDecision"], "deny", "{reply}");
}
