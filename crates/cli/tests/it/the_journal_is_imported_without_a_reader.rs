//! The journal moves into its database while nobody looks, and looking at a long one shows a page
//! before it is imported.

use gambrel::ledger::{LocalLedger, Query, Redactor};
use gambrel::model::{FiringPhase, JournalRecord, Ledger};
use serde_json::{Value, json};

use crate::ground::{BASH_LS, Ground, text, until};

/// When a firing has an import started: each time that the spool has grown by so much.
const IMPORT_BYTES: u64 = 8 << 20;

fn ledger(ground: &Ground) -> LocalLedger {
    LocalLedger::open(ground.base.join("state"), Redactor::default())
}

fn records(number: usize, text: &str) -> [JournalRecord; 2] {
    let of = |step: FiringPhase, body: Value| JournalRecord {
        id: format!("firing-{number:06}"),
        at: gambrel_engine::now_ms(),
        step,
        session: "s".to_owned(),
        pid: std::process::id(),
        body,
    };
    let accepted = json!({"from": "claude", "event": "PreToolUse", "text": text});
    [of(FiringPhase::Accepted, accepted), of(FiringPhase::Finished, json!({"ruling": "silent"}))]
}

fn stored(ground: &Ground) -> usize {
    let spool =
        ["spool.jsonl", "spool.taking.jsonl"].map(|name| ground.base.join("state").join(name));
    if spool.iter().any(|path| path.exists()) {
        return 0;
    }
    let query = Query { limit: usize::MAX, ..Query::default() };
    ledger(ground).firings(&query).map_or(0, |firings| firings.len())
}

#[test]
fn by_the_firing_that_makes_it_long() {
    let ground = Ground::new();
    ground.decide("claude", BASH_LS);
    let spool = ground.base.join("state/spool.jsonl");
    let size = || std::fs::metadata(&spool).map_or(0, |about| about.len());
    let (ledger, text) = (ledger(&ground), "x".repeat(10_000));
    let mut number = 0;
    while size() + 11_000 < IMPORT_BYTES {
        ledger.append_journal(&records(number, &text)).unwrap();
        number += 1;
    }
    let rest = usize::try_from(IMPORT_BYTES - size()).unwrap() - 600;
    ledger.append_journal(&records(number, &"x".repeat(rest))).unwrap();
    assert!(size() < IMPORT_BYTES && !ledger.take_import_due());
    for _ in 0..5 {
        ground.decide("claude", BASH_LS);
    }
    until("it is in the database", || ground.base.join("state/ledger.db").exists());
    // Firings that came during the import wait for the next one.
    let query = Query { limit: usize::MAX, ..Query::default() };
    until("all of it", || {
        let firings = ledger.firings(&query).map_or(0, |firings| firings.len());
        firings == number + 7 && size() < 20_000
    });
}

#[test]
fn and_a_long_one_is_shown_first() {
    let full = std::env::var_os("GAMBREL_TEST_FULL").is_some();
    let count = if full { 100_000 } else { 4_000 };
    let ground = Ground::new();
    let ledger = ledger(&ground);
    let numbers: Vec<usize> = (0..count).collect();
    for some in numbers.chunks(100) {
        let some: Vec<JournalRecord> =
            some.iter().flat_map(|n| records(*n, &"x".repeat(200))).collect();
        ledger.append_journal(&some).unwrap();
    }
    let begun = std::time::Instant::now();
    let output = ground.run(&["log", "--json"], b"");
    let took = begun.elapsed();
    let lines: Vec<Value> =
        text(&output.stdout).lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines.len(), 20, "{}", text(&output.stderr));
    assert_eq!(lines[19]["id"], format!("firing-{:06}", count - 1));
    assert_eq!(lines[0]["id"], format!("firing-{:06}", count - 20));
    assert!(took < std::time::Duration::from_secs(3), "{took:?}");
    until("the import is done behind it", || stored(&ground) == count);
    let again = ground.run(&["log", "--json"], b"");
    assert_eq!(text(&again.stdout), text(&output.stdout));
}
