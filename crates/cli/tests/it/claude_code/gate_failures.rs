//! The gate of Claude Code stays closed while gambrel is missing, killed or hanging. Other events
//! go on without gambrel.

use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::session::{Answer, PROMPT, Session};
use super::versions::{ClaudeCode, in_each_version};

/// Until Claude Code has started gambrel for the call.
const START_TIMEOUT: Duration = Duration::from_secs(60);
const BASH_ALLOWED: [&str; 2] = ["--allowedTools", "Bash"];

fn assert_closed(session: &Session, answer: &Answer) {
    assert!(!session.has("ran.txt"), "the tool ran: {answer}");
    let result = answer.tool_result(0);
    assert!(result.contains("is_error\":true"), "{result}\n{answer}");
}

/// An installed project in which gambrel hangs on a pipe without a writer. Only the gate calls
/// gambrel.
fn hanging_session(claude: &ClaudeCode, timeout: u32) -> Session {
    let rule = json!({"block": "rm", "message": "no"});
    let session = Session::with_trusted_hooks(claude, &json!({"on_tool_before": [{"rule": rule}]}));
    let path = session.project.root.join(".claude/settings.json");
    let text = std::fs::read_to_string(&path).unwrap();
    let mut settings: Value = serde_json::from_str(&text).unwrap();
    let mut gate = settings["hooks"]["PreToolUse"].take();
    gate[0]["hooks"][0]["timeout"] = json!(timeout);
    settings["hooks"] = json!({"PreToolUse": gate});
    std::fs::write(&path, settings.to_string()).unwrap();

    let folder = session.home().join(".config/gambrel");
    std::fs::create_dir_all(&folder).unwrap();
    let made = Command::new("mkfifo").arg(folder.join("secrets.env")).status().unwrap();
    assert!(made.success());
    session
}

#[test]
fn no_tool_runs_while_gambrel_is_missing() {
    in_each_version(|claude| {
        let session = Session::with_trusted_hooks(claude, &json!({}));
        session.remove_gambrel();
        let answer = session.prompt(&["touch ran.txt"], &BASH_ALLOWED);
        assert_closed(&session, &answer);
        let result = answer.tool_result(0);
        assert!(result.contains("gambrel did not answer"), "{result}\n{answer}");
    });
}

#[test]
fn a_prompt_reaches_the_model_while_gambrel_is_missing() {
    in_each_version(|claude| {
        let session = Session::with_trusted_hooks(claude, &json!({}));
        session.remove_gambrel();
        let answer = session.prompt(&[], &[]);
        assert!(answer.reached_model(PROMPT), "{answer}");
        let result = answer.stream.iter().find(|line| line["type"] == "result");
        assert_eq!(result.map(|line| &line["result"]), Some(&json!("done")), "{answer}");
    });
}

#[test]
fn no_tool_runs_while_gambrel_hangs() {
    in_each_version(|claude| {
        let session = hanging_session(claude, 10);
        let answer = session.prompt(&["touch ran.txt"], &BASH_ALLOWED);
        assert_closed(&session, &answer);
    });
}

#[test]
fn no_tool_runs_when_gambrel_is_killed() {
    in_each_version(|claude| {
        // The hook writes a file and sleeps, so the kill hits the gambrel process that waits for
        // it.
        let command = "touch asked.txt; exec sleep 60";
        let hook = json!({"type": "shell", "command": command, "await": true});
        let session = Session::with_trusted_hooks(claude, &json!({"on_tool_before": [hook]}));
        let answer = std::thread::scope(|scope| {
            let killer = scope.spawn(|| kill_gambrel_at_gate(&session));
            let answer = session.prompt(&["touch ran.txt"], &BASH_ALLOWED);
            assert!(killer.join().unwrap(), "gambrel was never asked: {answer}");
            answer
        });
        assert_closed(&session, &answer);
    });
}

/// Kills the gambrel that Claude Code started for the tool call, once its hook runs.
fn kill_gambrel_at_gate(session: &Session) -> bool {
    let deadline = Instant::now() + START_TIMEOUT;
    while Instant::now() < deadline {
        if session.has("asked.txt") {
            let pid = find_gambrel_at_gate(session).expect("gambrel waits for its hook");
            let killed = Command::new("kill").args(["-KILL", &pid.to_string()]).status().unwrap();
            return killed.success();
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    false
}

/// The process that fires PreToolUse with this session's home. Other events call gambrel too.
fn find_gambrel_at_gate(session: &Session) -> Option<u32> {
    let program = std::fs::canonicalize(crate::test_project::program()).unwrap();
    let home = format!("HOME={}", session.home().display());
    let pids = std::fs::read_dir("/proc").unwrap();
    let mut pids = pids.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    pids.find(|pid: &u32| {
        let runs = std::fs::read_link(format!("/proc/{pid}/exe")).is_ok_and(|exe| exe == program);
        runs && has_entry(*pid, "cmdline", "PreToolUse") && has_entry(*pid, "environ", &home)
    })
}

/// Whether the NUL-separated list `file` of a process has this entry.
fn has_entry(pid: u32, file: &str, entry: &str) -> bool {
    let list = std::fs::read(format!("/proc/{pid}/{file}")).unwrap_or_default();
    list.split(|byte| *byte == 0).any(|found| found == entry.as_bytes())
}
