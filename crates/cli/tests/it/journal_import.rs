//! Firings import a long journal into its database without a reader. `log` shows a page of it
//! before the import.

use std::sync::Arc;

use gambrel_ledger::open_state_dir;
use gambrel_model::ledger::FiringQuery;
use gambrel_model::{FiringPhase, JournalRecord, Ledger, ProcessOrigin};
use serde_json::{Value, json};

use crate::test_project::{BASH_LS, TestProject, text, wait_until};

/// A firing starts an import each time the spool has grown by this size.
const IMPORT_BYTES: u64 = 8 << 20;

fn open_ledger(project: &TestProject) -> Arc<dyn Ledger> {
    open_state_dir(project.base.join("state"))
}

fn records(number: usize, text: &str) -> [JournalRecord; 2] {
    let of = |step: FiringPhase, body: Value| JournalRecord {
        id: format!("firing-{number:06}"),
        at: gambrel_engine::now_ms(),
        step,
        session: "s".to_owned(),
        origin: ProcessOrigin::of_this_process(),
        body,
    };
    let accepted = json!({"from": "claude", "event": "PreToolUse", "text": text});
    [of(FiringPhase::Accepted, accepted), of(FiringPhase::Finished, json!({"ruling": "silent"}))]
}

fn stored_firings(project: &TestProject) -> usize {
    let spool =
        ["spool.jsonl", "spool.taking.jsonl"].map(|name| project.base.join("state").join(name));
    if spool.iter().any(|path| path.exists()) {
        return 0;
    }
    let query = FiringQuery { limit: usize::MAX, ..FiringQuery::default() };
    open_ledger(project).firings(&query).map_or(0, |firings| firings.len())
}

#[test]
fn a_firing_imports_a_long_spool() {
    let project = TestProject::new();
    project.decide("claude", BASH_LS);
    let spool = project.base.join("state/spool.jsonl");
    let size = || std::fs::metadata(&spool).map_or(0, |about| about.len());
    let (ledger, text) = (open_ledger(&project), "x".repeat(10_000));
    let mut number = 0;
    while size() + 11_000 < IMPORT_BYTES {
        ledger.append_journal(&records(number, &text)).unwrap();
        number += 1;
    }
    let rest = usize::try_from(IMPORT_BYTES - size()).unwrap() - 600;
    ledger.append_journal(&records(number, &"x".repeat(rest))).unwrap();
    assert!(size() < IMPORT_BYTES && !ledger.take_import_due());
    for _ in 0..5 {
        project.decide("claude", BASH_LS);
    }
    wait_until("it is in the database", || project.base.join("state/ledger.db").exists());
    // Firings that came during the import wait for the next one.
    let query = FiringQuery { limit: usize::MAX, ..FiringQuery::default() };
    wait_until("all of it", || {
        let firings = ledger.firings(&query).map_or(0, |firings| firings.len());
        firings == number + 7 && size() < 20_000
    });
}

#[test]
fn log_shows_a_long_journal_before_the_import() {
    let full = std::env::var_os("GAMBREL_TEST_FULL").is_some();
    let count = if full { 100_000 } else { 4_000 };
    let project = TestProject::new();
    let ledger = open_ledger(&project);
    let numbers: Vec<usize> = (0..count).collect();
    for some in numbers.chunks(100) {
        let some: Vec<JournalRecord> =
            some.iter().flat_map(|n| records(*n, &"x".repeat(200))).collect();
        ledger.append_journal(&some).unwrap();
    }
    let begun = std::time::Instant::now();
    let output = project.run(&["log", "--json"], b"");
    let took = begun.elapsed();
    let lines: Vec<Value> =
        text(&output.stdout).lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines.len(), 20, "{}", text(&output.stderr));
    assert_eq!(lines[19]["id"], format!("firing-{:06}", count - 1));
    assert_eq!(lines[0]["id"], format!("firing-{:06}", count - 20));
    assert!(took < std::time::Duration::from_secs(3), "{took:?}");
    wait_until("the import is done behind it", || stored_firings(&project) == count);
    let again = project.run(&["log", "--json"], b"");
    assert_eq!(text(&again.stdout), text(&output.stdout));
}
