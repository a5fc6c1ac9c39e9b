//! A hook stopped the session: whatever happens to the files that remember it, the session stays
//! stopped, or the user is told that nobody knows.

use std::path::PathBuf;

use gambrel::ledger::{LocalLedger, Redactor};
use gambrel::model::{Audience, Ledger, Undelivered, Verdict};
use serde_json::{Value, json};

use crate::ground::{Ground, text};
use crate::session_lock::LockHolder;

const HALT: &str = r#"printf '{"continue":false,"stopReason":"the budget is spent"}'"#;
const READ: &str = r#"{"type":"tool_call","toolName":"read","sessionId":"s","input":{"path":"a"}}"#;
const BASH: &str =
    r#"{"type":"tool_call","toolName":"bash","sessionId":"s","input":{"command":"ls"}}"#;
const CLAUDE_READ: &str = r#"{"hook_event_name":"PreToolUse","session_id":"s","tool_name":"Read","tool_input":{"file_path":"a"},"tool_use_id":"1"}"#;
const PROMPT: &str = r#"{"hook_event_name":"UserPromptSubmit","session_id":"s","prompt":"hi"}"#;
/// One more byte than a small file may have.
const TOO_LARGE: usize = (16 << 20) + 1;

fn stopped() -> Ground {
    let ground = Ground::new();
    ground.guard(HALT, 5);
    assert_eq!(fire(&ground, BASH)["block"], true);
    ground
}

fn fire(ground: &Ground, event: &str) -> Value {
    let output = ground.run(&["fire", "--from", "omp"], event.as_bytes());
    serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", text(&output.stderr)))
}

/// A session with a lock to hold.
fn begun() -> Ground {
    let ground = Ground::new();
    ground.decide("claude", PROMPT);
    ground
}

fn files(ground: &Ground, ending: &str) -> Vec<PathBuf> {
    let files = std::fs::read_dir(ground.base.join("state/sessions")).unwrap();
    let files = files.map(|entry| entry.unwrap().path());
    files.filter(|path| path.extension().is_some_and(|e| e == ending)).collect()
}

fn state_file(ground: &Ground) -> PathBuf {
    files(ground, "halt")[0].with_extension("json")
}

fn memory(ground: &Ground) -> String {
    format!("s@{}", ground.root.display())
}

fn ledger(ground: &Ground) -> LocalLedger {
    LocalLedger::open(ground.base.join("state"), Redactor::default())
}

#[test]
fn when_the_sessions_messages_cannot_be_read() {
    for damage in [b"{\"owed\": [".to_vec(), vec![b' '; TOO_LARGE], vec![0xff; 10]] {
        let ground = stopped();
        std::fs::write(state_file(&ground), &damage).unwrap();
        for _ in 0..3 {
            let reply = fire(&ground, READ);
            assert_eq!(reply["block"], true, "{reply}");
            assert!(reply["reason"].as_str().unwrap().contains("the budget is spent"), "{reply}");
        }
    }
}

#[test]
fn when_thousands_of_messages_come_after_it() {
    let ground = stopped();
    let (ledger, memory) = (ledger(&ground), memory(&ground));
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
                some.clone().for_each(|debt| state.keep_undelivered(debt))
            })
            .unwrap();
    }
    let size = std::fs::metadata(state_file(&ground)).unwrap().len();
    assert!(size < 4 << 20, "{size} bytes are kept");
    let owed = ledger.session_state(&memory).unwrap().undelivered;
    assert_eq!(owed.last().unwrap().id, "d4999", "the newest are kept");
    let reply = fire(&ground, READ);
    assert_eq!(reply["block"], true);
    let told = reply["effects"]["notices"].to_string();
    assert!(told.contains("4000 messages of hooks were dropped"), "{told}");
    let output = ground.run(&["fire", "--from", "claude"], PROMPT.as_bytes());
    let reply: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(reply["continue"], false, "{reply}");
}

#[test]
fn when_the_halt_itself_cannot_be_read_a_strict_gate_is_closed() {
    let ground = stopped();
    std::fs::write(&files(&ground, "halt")[0], b"{\"owed\"").unwrap();
    for _ in 0..2 {
        assert_unknown_halt_closes_gates(&ground);
    }
}

#[test]
fn when_the_file_of_the_halt_holds_none_a_strict_gate_is_closed() {
    let words = r#"{"owed":[{"id":"a","from":"b","verdict":{}}],"counts":{}}"#;
    for content in ["[]", "{}", r#"{"owed":[]}"#, "[[],{}]", "null", "", words] {
        let ground = stopped();
        std::fs::write(&files(&ground, "halt")[0], content).unwrap();
        assert_unknown_halt_closes_gates(&ground);
    }
}

fn assert_unknown_halt_closes_gates(ground: &Ground) {
    let strict = ground.run(&["fire", "--from", "claude", "--strict"], CLAUDE_READ.as_bytes());
    let reply: Value = serde_json::from_slice(&strict.stdout).unwrap_or_default();
    assert_eq!(reply["hookSpecificOutput"]["permissionDecision"], "deny", "{reply}");
    let plain = ground.run(&["fire", "--from", "claude"], CLAUDE_READ.as_bytes());
    let reply: Value = serde_json::from_slice(&plain.stdout).unwrap_or_default();
    let told = reply["systemMessage"].as_str().unwrap_or_default();
    assert!(told.contains(".halt") && told.contains("stopped"), "{reply}");
}

#[test]
fn when_an_older_version_kept_it_among_the_messages() {
    let ground = stopped();
    let halt = files(&ground, "halt")[0].clone();
    let kept: Value = serde_json::from_slice(&std::fs::read(&halt).unwrap()).unwrap();
    let old = json!({"owed": kept["owed"], "counts": {"prompts": 3}}).to_string();
    std::fs::remove_file(&halt).unwrap();
    let state = halt.with_extension("json");
    std::fs::write(&state, &old).unwrap();
    assert_eq!(fire(&ground, READ)["block"], true);
    // Half of it: a strict gate is closed for good, and the file stays for a person to look at.
    std::fs::write(&state, &old[..old.len() - 10]).unwrap();
    for _ in 0..2 {
        let strict = ground.run(&["fire", "--from", "omp", "--strict"], BASH.as_bytes());
        assert_eq!(serde_json::from_slice::<Value>(&strict.stdout).unwrap()["block"], true);
    }
    assert!(state.exists());
    // Whole again: the next change moves it to its own file.
    std::fs::write(&state, &old).unwrap();
    ledger(&ground)
        .update_session(&memory(&ground), &mut |state| {
            state.counts.insert("n".to_owned(), 1);
        })
        .unwrap();
    assert!(halt.exists());
    assert!(!std::fs::read_to_string(&state).unwrap().contains("budget"));
    assert_eq!(fire(&ground, READ)["block"], true);
}

#[test]
fn when_its_session_is_locked_a_strict_gate_is_closed() {
    let (ground, prompt) = (begun(), PROMPT);
    let holder = LockHolder::of(&ground);
    let begun = std::time::Instant::now();
    let budget = ["fire", "--from", "claude", "--budget", "2"];
    let plain = ground.run(&budget, prompt.as_bytes());
    let took = begun.elapsed();
    let strict = ground.run(&[&budget[..], &["--strict"]].concat(), prompt.as_bytes());
    drop(holder);
    assert!(took < std::time::Duration::from_secs(2), "{took:?}");
    let told: Value = serde_json::from_slice(&plain.stdout).unwrap();
    assert!(told["systemMessage"].as_str().unwrap().contains("another process"), "{told}");
    let told = text(&strict.stdout) + &text(&strict.stderr);
    assert!(told.contains("block") && told.contains("strict"), "{told}");
}

#[test]
fn when_another_process_holds_the_lock_for_longer_than_the_wait() {
    let ground = begun();
    ground.guard(HALT, 5);
    let holder = LockHolder::of(&ground);
    for _ in 0..2 {
        assert_eq!(fire(&ground, BASH)["block"], true);
    }
    // Also while nobody can take it into the session's own files.
    assert_eq!(fire(&ground, READ)["block"], true);
    drop(holder);
    for _ in 0..2 {
        let reply = fire(&ground, READ);
        assert_eq!(reply["block"], true, "{reply}");
        let reason = reply["reason"].as_str().unwrap();
        assert_eq!(reason.matches("the budget is spent").count(), 1, "{reason}");
    }
    let told = ground.run(&["fire", "--from", "claude"], PROMPT.as_bytes());
    let reply: Value = serde_json::from_slice(&told.stdout).unwrap();
    assert_eq!(reply["continue"], false, "{reply}");
    assert_eq!(fire(&ground, READ)["block"], Value::Null, "it was told to a caller that stops");
}

#[test]
fn when_the_sessions_file_cannot_be_written() {
    let ground = begun();
    ground.guard(HALT, 5);
    let state = files(&ground, "lock")[0].clone();
    std::fs::create_dir(state.with_extension("halt.tmp")).unwrap();
    assert_eq!(fire(&ground, BASH)["block"], true);
    assert_eq!(fire(&ground, READ)["block"], true);
    std::fs::remove_dir(state.with_extension("halt.tmp")).unwrap();
    assert_eq!(fire(&ground, READ)["block"], true);
}

#[test]
fn when_it_waits_beside_a_file_that_cannot_be_read() {
    let ground = stopped();
    std::fs::write(&files(&ground, "halt")[0], "{\"owed\"").unwrap();
    // It is stored beside the broken file, and counts.
    assert_eq!(fire(&ground, BASH)["block"], true);
    let reply = fire(&ground, READ);
    assert_eq!(reply["block"], true, "{reply}");
    assert!(reply["reason"].as_str().unwrap().contains("the budget is spent"), "{reply}");
}

#[test]
fn when_no_file_can_be_written_the_reply_tells_it() {
    let ground = begun();
    ground.guard(HALT, 5);
    let line = "ulimit -f 0; exec \"$0\" fire --from omp";
    let told = ground.run_in_shell(line, BASH.as_bytes());
    let reply: Value = serde_json::from_slice(&told.stdout).unwrap();
    assert_eq!(reply["block"], true, "{reply}");
    let notices = reply["effects"]["notices"].to_string();
    assert!(notices.contains("stop the session yourself"), "{reply}");
}

#[test]
fn when_a_side_entry_cannot_be_read_a_strict_gate_is_closed() {
    let ground = begun();
    ground.guard(HALT, 5);
    let holder = LockHolder::of(&ground);
    assert_eq!(fire(&ground, BASH)["block"], true);
    drop(holder);
    let session = std::fs::read_dir(ground.base.join("state/side-entries")).unwrap().next();
    let entry = std::fs::read_dir(session.unwrap().unwrap().path()).unwrap().next().unwrap();
    std::fs::write(entry.unwrap().path(), "{}").unwrap();
    let strict = ground.run(&["fire", "--from", "claude", "--strict"], CLAUDE_READ.as_bytes());
    let reply: Value = serde_json::from_slice(&strict.stdout).unwrap();
    assert_eq!(reply["hookSpecificOutput"]["permissionDecision"], "deny", "{reply}");
    let plain = ground.run(&["fire", "--from", "claude"], CLAUDE_READ.as_bytes());
    let reply: Value = serde_json::from_slice(&plain.stdout).unwrap();
    assert!(reply["systemMessage"].to_string().contains("side-entries"), "{reply}");
}
