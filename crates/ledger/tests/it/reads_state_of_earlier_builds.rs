//! Reads the state folder of an earlier build. `fixtures/state-0.1` was recorded with version 0.1.
//! It has firings in the database and in the spool, undelivered messages, a halt, an open ticket
//! and trust. Stored names are compared as JSON, so that a renamed field in the code fails here.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use gambrel_ledger::{LocalLedger, Redactor, RetentionLimits};
use gambrel_model::ledger::{FiringQuery, Journal, Sessions, Tickets, TrustStore};
use serde_json::{Value, json};

const FIXTURE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/state-0.1");

/// Copies the fixture with private permissions, as the ledger sets them.
fn copy_fixture(to: &Path) {
    let mut folders = vec![PathBuf::from(FIXTURE)];
    while let Some(folder) = folders.pop() {
        let target = to.join(folder.strip_prefix(FIXTURE).unwrap());
        fs::create_dir_all(&target).unwrap();
        fs::set_permissions(&target, fs::Permissions::from_mode(0o700)).unwrap();
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let copy = target.join(path.file_name().unwrap());
            fs::copy(&path, &copy).unwrap();
            fs::set_permissions(&copy, fs::Permissions::from_mode(0o600)).unwrap();
        }
    }
}

fn open_copy(to: &Path) -> LocalLedger {
    copy_fixture(to);
    // The recorded firings get older every day.
    let limits = RetentionLimits { age: Duration::MAX, ..RetentionLimits::default() };
    LocalLedger::with_limits(to.to_owned(), Redactor::default(), limits)
}

fn fixture_json(name: &str) -> Value {
    serde_json::from_str(&fs::read_to_string(Path::new(FIXTURE).join(name)).unwrap()).unwrap()
}

#[test]
fn reads_messages_and_halts_of_sessions() {
    let dir = tempfile::tempdir().unwrap();
    let ledger = open_copy(dir.path());
    let stored = |key: &str| serde_json::to_value(ledger.session_state(key).unwrap()).unwrap();
    let first = stored("first@/srv/project");
    assert_eq!(first, fixture_json("sessions/first__srv_project-d7d2426e5f24a4ba.json"));
    assert_eq!(first["owed"][0]["verdict"]["says"][0]["text"], "tests are red\n");
    let halted = stored("@/srv/project");
    assert_eq!(halted, fixture_json("sessions/__srv_project-72f1f29796d173ca.halt"));
    assert_eq!(halted["owed"][0]["verdict"]["ruling"], "halt");
}

#[test]
fn reads_trust_and_tickets() {
    let dir = tempfile::tempdir().unwrap();
    let ledger = open_copy(dir.path());
    let trust = serde_json::to_value(ledger.trust_entries().unwrap()).unwrap();
    assert_eq!(trust, fixture_json("trust.json"));
    let ticket = ledger.find_ticket("f3511c742d5a").unwrap().unwrap();
    let ticket = serde_json::to_value(ticket).unwrap();
    assert_eq!(ticket, fixture_json("tickets/f3511c742d5a.json")["ticket"]);
}

#[test]
fn reads_firings_from_database_and_spool() {
    let dir = tempfile::tempdir().unwrap();
    let ledger = open_copy(dir.path());
    let query = FiringQuery { limit: usize::MAX, ..FiringQuery::default() };
    let firings = ledger.firings(&query).unwrap();
    let summary: Vec<(String, Value, Value)> = firings
        .iter()
        .map(|firing| {
            let last = firing.records.iter().rfind(|record| record.body["ruling"].is_string());
            let ruling = last.map_or(Value::Null, |record| record.body["ruling"].clone());
            (firing.session.clone(), firing.records[0].body["event"].clone(), ruling)
        })
        .collect();
    let expected = [
        ("first", "PreToolUse", "deny"),
        ("first", "Stop", "silent"),
        ("", "tool_call", "halt"),
        ("third", "PostToolUse", "silent"),
        ("fourth", "PreToolUse", "deny"),
        ("fifth", "PreToolUse", "deny"),
    ];
    let expected = expected.map(|(s, e, r)| (s.to_owned(), json!(e), json!(r)));
    assert_eq!(summary, expected);
}
