//! Stores fifty secrets in every kind of record; no file of the folder contains one.

use std::collections::BTreeMap;
use std::path::Path;

use gambrel_ledger::{LocalLedger, Redactor};
use gambrel_model::ledger::{
    FiringPhase, Journal, SessionState, Sessions, Tickets, TrustEntry, TrustStore, Undelivered,
};
use gambrel_model::ticket::Ticket;
use gambrel_model::verdict::Verdict;
use serde_json::{Value, json};

use crate::fixture::{LedgerFixture, new_record};
use crate::test_tickets::new_ticket;

const CANARIES: usize = 50;

#[test]
fn no_file_contains_a_secret() {
    let fixture = LedgerFixture::new();
    let ledger = LocalLedger::open(fixture.dir.clone(), redactor());
    for secret in (0..CANARIES).map(canary) {
        journal_secret(&ledger, &secret);
        add_undelivered(&ledger, &secret);
        trust_secret(&ledger, &secret);
        open_ticket_with_secret(&ledger, &secret);
    }
    ledger
        .append_journal(&[new_record("number", FiringPhase::Finished, json!({ "pin": 7_355_608 }))])
        .unwrap();
    assert_clean(&fixture.dir);
    assert_eq!(ledger.import_journal().unwrap().records, CANARIES as u64 + 1);
    assert_clean(&fixture.dir);
    let shown = serde_json::to_string(&ledger.firing("number").unwrap().unwrap().records).unwrap();
    assert!(shown.contains("[redacted:PIN_TOKEN]"), "{shown}");
}

#[test]
fn a_password_equal_to_a_format_word_keeps_the_state_readable() {
    let fixture = LedgerFixture::new();
    let env = [("DB_PASSWORD".to_owned(), "silent".to_owned())].into_iter();
    let redactor = Redactor::new(env, std::iter::empty::<(String, String)>());
    let ledger = LocalLedger::open(fixture.dir.clone(), redactor);
    add_undelivered(&ledger, "a silent word");
    let state = ledger.session_state("s").unwrap();
    assert_eq!(state.undelivered.len(), 1);
    assert!(!serde_json::to_string(&state).unwrap().contains("a silent word"));
}

/// A secret. Some need escapes in JSON and in URLs.
fn canary(number: usize) -> String {
    let tail = ["plain", "qu\"ote", "back\\slash", "new\nline", "sp ace/+&=", "ümläut"];
    format!("cAnAry{number:02}{}Z", tail[number % tail.len()])
}

fn redactor() -> Redactor {
    let names = ["API_KEY", "GH_TOKEN", "MY_SECRET", "DB_PASSWORD", "SLACK_WEBHOOK", "NPM_AUTH"];
    let env = (0..CANARIES / 2)
        .map(move |number| (format!("{}_{number}", names[number % names.len()]), canary(number)))
        .chain([("PIN_TOKEN".to_owned(), "7355608".to_owned())]);
    let secrets = (CANARIES / 2..CANARIES).map(|number| (format!("NAME{number}"), canary(number)));
    Redactor::new(env, secrets)
}

fn journal_secret(ledger: &LocalLedger, secret: &str) {
    let url = format!("https://example.org/?q={}", percent_encoded(secret));
    let nested = json!({ "inner": secret }).to_string();
    let body = json!({ "argv": ["run", secret], "url": url, "nested": nested, secret: "a key",
        "twice": json!({ "nested": nested }).to_string() });
    ledger
        .append_journal(&[new_record(&format!("id-{secret}"), FiringPhase::Finished, body)])
        .unwrap();
}

fn add_undelivered(ledger: &LocalLedger, secret: &str) {
    let mut verdict = serde_json::to_value(Verdict::default()).unwrap();
    add_message(&mut verdict, secret);
    let verdict: Verdict = serde_json::from_value(verdict).unwrap();
    let undelivered = Undelivered::new("d", format!("hook {secret}"), verdict);
    let mut push = |state: &mut SessionState| state.undelivered.push(undelivered.clone());
    ledger.update_session("s", &mut push).unwrap();
    ledger.update_session(secret, &mut push).unwrap();
}

fn add_message(verdict: &mut Value, secret: &str) {
    verdict["says"] = json!([{ "ear": "agent", "text": format!("use {secret}"), "hook": "h" }]);
}

fn trust_secret(ledger: &LocalLedger, secret: &str) {
    let entry = TrustEntry {
        hash: "h".to_owned(),
        denied: false,
        shown: format!("curl {secret}"),
        at: 1,
        ..TrustEntry::default()
    };
    let mut insert = |entries: &mut BTreeMap<String, TrustEntry>| {
        entries.insert("key".to_owned(), entry.clone());
    };
    ledger.update_trust(&mut insert).unwrap();
}

fn open_ticket_with_secret(ledger: &LocalLedger, secret: &str) {
    let question = Ticket {
        session: format!("of {secret}"),
        project: format!("/home/ada/{secret}"),
        title: secret.to_owned(),
        shown: vec![(secret.to_owned(), secret.to_owned())],
        ..new_ticket(secret)
    };
    ledger.open_ticket(&question).unwrap();
}

fn assert_clean(dir: &Path) {
    let mut read = 0;
    let mut folders = vec![dir.to_owned()];
    while let Some(folder) = folders.pop() {
        for path in std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            assert!(!name.contains("cAnAry"), "{name}");
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let bytes = std::fs::read(&path).unwrap();
            let found = bytes.windows(6).any(|part| part == b"cAnAry" || part == b"735560");
            assert!(!found, "a canary is in {}", path.display());
            read += 1;
        }
    }
    assert!(read > 3, "some files were read");
}

fn percent_encoded(text: &str) -> String {
    text.bytes()
        .map(|byte| match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' => char::from(byte).to_string(),
            byte => format!("%{byte:02x}"),
        })
        .collect()
}
