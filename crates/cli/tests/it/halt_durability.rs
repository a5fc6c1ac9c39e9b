//! A hook stopped the session. Damaged or locked state files do not undo the halt: the session
//! stays stopped, or the user learns that its state is unknown.

use std::path::PathBuf;
use std::sync::Arc;

use gambrel_ledger::open_state_dir;
use gambrel_model::{Audience, Ledger, Undelivered, Verdict};
use serde_json::{Value, json};

use crate::session_lock::LockHolder;
use crate::test_project::{TestProject, text};

const HALT: &str = r#"printf '{"continue":false,"stopReason":"the budget is spent"}'"#;
const READ: &str = r#"{"type":"tool_call","toolName":"read","sessionId":"s","input":{"path":"a"}}"#;
const BASH: &str =
    r#"{"type":"tool_call","toolName":"bash","sessionId":"s","input":{"command":"ls"}}"#;
const CLAUDE_READ: &str = r#"{"hook_event_name":"PreToolUse","session_id":"s","tool_name":"Read","tool_input":{"file_path":"a"},"tool_use_id":"1"}"#;
const PROMPT: &str = r#"{"hook_event_name":"UserPromptSubmit","session_id":"s","prompt":"hi"}"#;
/// One byte more than a session file may have.
const TOO_LARGE: usize = (16 << 20) + 1;

fn stopped_session() -> TestProject {
    let project = TestProject::new();
    project.guard(HALT, 5);
    assert_eq!(fire(&project, BASH)["block"], true);
    project
}

fn fire(project: &TestProject, event: &str) -> Value {
    let output = project.run(&["fire", "--from", "omp"], event.as_bytes());
    serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", text(&output.stderr)))
}

/// A session whose lock file exists.
fn started_session() -> TestProject {
    let project = TestProject::new();
    project.decide("claude", PROMPT);
    project
}

fn session_files(project: &TestProject, ending: &str) -> Vec<PathBuf> {
    let files = std::fs::read_dir(project.base.join("state/sessions")).unwrap();
    let files = files.map(|entry| entry.unwrap().path());
    files.filter(|path| path.extension().is_some_and(|e| e == ending)).collect()
}

fn state_file(project: &TestProject) -> PathBuf {
    session_files(project, "halt")[0].with_extension("json")
}

fn session_key(project: &TestProject) -> String {
    format!("s@{}", project.root.display())
}

fn open_ledger(project: &TestProject) -> Arc<dyn Ledger> {
    open_state_dir(project.base.join("state"))
}

#[test]
fn survives_unreadable_session_messages() {
    for damage in [b"{\"owed\": [".to_vec(), vec![b' '; TOO_LARGE], vec![0xff; 10]] {
        let project = stopped_session();
        std::fs::write(state_file(&project), &damage).unwrap();
        for _ in 0..3 {
            let reply = fire(&project, READ);
            assert_eq!(reply["block"], true, "{reply}");
            assert!(reply["reason"].as_str().unwrap().contains("the budget is spent"), "{reply}");
        }
    }
}

#[test]
fn survives_thousands_of_later_messages() {
    let project = stopped_session();
    let (ledger, memory) = (open_ledger(&project), session_key(&project));
    let flood = |number: usize| {
        let words = Verdict::with_only_message(
            Audience::AgentNextTurn,
            format!("{number} {}", "x".repeat(1_000)),
        );
        Undelivered::new(format!("d{number}"), "a hook", words)
    };
    for round in 0..5 {
        let some = (0..1_000).map(|number| flood(round * 1_000 + number));
        ledger
            .update_session(&memory, &mut |state| {
                some.clone().for_each(|message| state.keep_undelivered(message))
            })
            .unwrap();
    }
    let size = std::fs::metadata(state_file(&project)).unwrap().len();
    assert!(size < 4 << 20, "{size} bytes are kept");
    let undelivered = ledger.session_state(&memory).unwrap().undelivered;
    assert_eq!(undelivered.last().unwrap().id, "d4999", "the newest are kept");
    let reply = fire(&project, READ);
    assert_eq!(reply["block"], true);
    let notices = reply["effects"]["notices"].to_string();
    assert!(notices.contains("4000 messages of hooks were dropped"), "{notices}");
    let output = project.run(&["fire", "--from", "claude"], PROMPT.as_bytes());
    let reply: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(reply["continue"], false, "{reply}");
}

#[test]
fn denies_strict_gates_when_the_halt_is_unreadable() {
    let project = stopped_session();
    std::fs::write(&session_files(&project, "halt")[0], b"{\"owed\"").unwrap();
    for _ in 0..2 {
        assert_unknown_halt_closes_gates(&project);
    }
}

#[test]
fn denies_strict_gates_when_the_halt_file_has_no_halt() {
    let words = r#"{"owed":[{"id":"a","from":"b","verdict":{}}],"counts":{}}"#;
    for content in ["[]", "{}", r#"{"owed":[]}"#, "[[],{}]", "null", "", words] {
        let project = stopped_session();
        std::fs::write(&session_files(&project, "halt")[0], content).unwrap();
        assert_unknown_halt_closes_gates(&project);
    }
}

fn assert_unknown_halt_closes_gates(project: &TestProject) {
    let strict = project.run(&["fire", "--from", "claude", "--strict"], CLAUDE_READ.as_bytes());
    let reply: Value = serde_json::from_slice(&strict.stdout).unwrap_or_default();
    assert_eq!(reply["hookSpecificOutput"]["permissionDecision"], "deny", "{reply}");
    let plain = project.run(&["fire", "--from", "claude"], CLAUDE_READ.as_bytes());
    let reply: Value = serde_json::from_slice(&plain.stdout).unwrap_or_default();
    let message = reply["systemMessage"].as_str().unwrap_or_default();
    assert!(message.contains(".halt") && message.contains("stopped"), "{reply}");
}

#[test]
fn reads_halts_stored_by_older_versions() {
    let project = stopped_session();
    let halt = session_files(&project, "halt")[0].clone();
    let kept: Value = serde_json::from_slice(&std::fs::read(&halt).unwrap()).unwrap();
    let old = json!({"owed": kept["owed"], "counts": {"prompts": 3}}).to_string();
    std::fs::remove_file(&halt).unwrap();
    let state = halt.with_extension("json");
    std::fs::write(&state, &old).unwrap();
    assert_eq!(fire(&project, READ)["block"], true);
    // A truncated file closes strict gates permanently and stays for inspection.
    std::fs::write(&state, &old[..old.len() - 10]).unwrap();
    for _ in 0..2 {
        let strict = project.run(&["fire", "--from", "omp", "--strict"], BASH.as_bytes());
        assert_eq!(serde_json::from_slice::<Value>(&strict.stdout).unwrap()["block"], true);
    }
    assert!(state.exists());
    // The complete file again: the next update moves the halt to its own file.
    std::fs::write(&state, &old).unwrap();
    open_ledger(&project)
        .update_session(&session_key(&project), &mut |state| {
            state.counts.insert("n".to_owned(), 1);
        })
        .unwrap();
    assert!(halt.exists());
    assert!(!std::fs::read_to_string(&state).unwrap().contains("budget"));
    assert_eq!(fire(&project, READ)["block"], true);
}

#[test]
fn denies_strict_gates_while_the_session_is_locked() {
    let (project, prompt) = (started_session(), PROMPT);
    let holder = LockHolder::of(&project);
    let begun = std::time::Instant::now();
    let budget = ["fire", "--from", "claude", "--budget", "2"];
    let plain = project.run(&budget, prompt.as_bytes());
    let took = begun.elapsed();
    let strict = project.run(&[&budget[..], &["--strict"]].concat(), prompt.as_bytes());
    drop(holder);
    assert!(took < std::time::Duration::from_secs(2), "{took:?}");
    let reply: Value = serde_json::from_slice(&plain.stdout).unwrap();
    assert!(reply["systemMessage"].as_str().unwrap().contains("another process"), "{reply}");
    let output = text(&strict.stdout) + &text(&strict.stderr);
    assert!(output.contains("block") && output.contains("strict"), "{output}");
}

#[test]
fn survives_a_session_lock_longer_than_the_wait() {
    let project = started_session();
    project.guard(HALT, 5);
    let holder = LockHolder::of(&project);
    for _ in 0..2 {
        assert_eq!(fire(&project, BASH)["block"], true);
    }
    // Also while the session's own files are locked.
    assert_eq!(fire(&project, READ)["block"], true);
    drop(holder);
    for _ in 0..2 {
        let reply = fire(&project, READ);
        assert_eq!(reply["block"], true, "{reply}");
        let reason = reply["reason"].as_str().unwrap();
        assert_eq!(reason.matches("the budget is spent").count(), 1, "{reason}");
    }
    let output = project.run(&["fire", "--from", "claude"], PROMPT.as_bytes());
    let reply: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(reply["continue"], false, "{reply}");
    assert_eq!(fire(&project, READ)["block"], Value::Null, "a caller that stops has received it");
}

#[test]
fn survives_an_unwritable_session_file() {
    let project = started_session();
    project.guard(HALT, 5);
    let state = session_files(&project, "lock")[0].clone();
    std::fs::create_dir(state.with_extension("halt.tmp")).unwrap();
    assert_eq!(fire(&project, BASH)["block"], true);
    assert_eq!(fire(&project, READ)["block"], true);
    std::fs::remove_dir(state.with_extension("halt.tmp")).unwrap();
    assert_eq!(fire(&project, READ)["block"], true);
}

#[test]
fn survives_next_to_an_unreadable_halt_file() {
    let project = stopped_session();
    std::fs::write(&session_files(&project, "halt")[0], "{\"owed\"").unwrap();
    // The new halt is stored next to the broken file, and counts.
    assert_eq!(fire(&project, BASH)["block"], true);
    let reply = fire(&project, READ);
    assert_eq!(reply["block"], true, "{reply}");
    assert!(reply["reason"].as_str().unwrap().contains("the budget is spent"), "{reply}");
}

#[test]
fn reports_the_halt_in_the_reply_when_no_file_is_writable() {
    let project = started_session();
    project.guard(HALT, 5);
    let line = "ulimit -f 0; exec \"$0\" fire --from omp";
    let output = project.run_in_shell(line, BASH.as_bytes());
    let reply: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(reply["block"], true, "{reply}");
    let notices = reply["effects"]["notices"].to_string();
    assert!(notices.contains("stop the session yourself"), "{reply}");
}

#[test]
fn denies_strict_gates_when_a_side_entry_is_unreadable() {
    let project = started_session();
    project.guard(HALT, 5);
    let holder = LockHolder::of(&project);
    assert_eq!(fire(&project, BASH)["block"], true);
    drop(holder);
    let session = std::fs::read_dir(project.base.join("state/side-entries")).unwrap().next();
    let entry = std::fs::read_dir(session.unwrap().unwrap().path()).unwrap().next().unwrap();
    std::fs::write(entry.unwrap().path(), "{}").unwrap();
    let strict = project.run(&["fire", "--from", "claude", "--strict"], CLAUDE_READ.as_bytes());
    let reply: Value = serde_json::from_slice(&strict.stdout).unwrap();
    assert_eq!(reply["hookSpecificOutput"]["permissionDecision"], "deny", "{reply}");
    let plain = project.run(&["fire", "--from", "claude"], CLAUDE_READ.as_bytes());
    let reply: Value = serde_json::from_slice(&plain.stdout).unwrap();
    assert!(reply["systemMessage"].to_string().contains("side-entries"), "{reply}");
}
