//! Fifty canaries go in by every door; none is in any file of the folder.

use std::collections::BTreeMap;
use std::path::Path;

use gambrel_ledger::{LocalLedger, Redactor};
use gambrel_model::ledger::{FiringPhase, Ledger, SessionState, TrustEntry, Undelivered};
use gambrel_model::ticket::Ticket;
use gambrel_model::verdict::Verdict;
use serde_json::{Value, json};

use crate::questions::asked;
use crate::scene::{Scene, record};

const CANARIES: usize = 50;

#[test]
fn not_in_journal_session_trust_ticket_or_database() {
    let scene = Scene::new();
    let ledger = LocalLedger::open(scene.dir.clone(), redactor());
    for secret in (0..CANARIES).map(canary) {
        journal(&ledger, &secret);
        owe(&ledger, &secret);
        trust(&ledger, &secret);
        ask(&ledger, &secret);
    }
    ledger
        .append_journal(&[record("number", FiringPhase::Finished, json!({ "pin": 7_355_608 }))])
        .unwrap();
    assert_clean(&scene.dir);
    assert_eq!(ledger.take_in().unwrap().records, CANARIES as u64 + 1);
    assert_clean(&scene.dir);
    let shown = serde_json::to_string(&ledger.firing("number").unwrap().unwrap().records).unwrap();
    assert!(shown.contains("[redacted:PIN_TOKEN]"), "{shown}");
}

#[test]
fn a_password_that_is_our_own_word_does_not_break_what_is_owed() {
    let scene = Scene::new();
    let env = [("DB_PASSWORD".to_owned(), "silent".to_owned())].into_iter();
    let redactor = Redactor::new(env, std::iter::empty::<(String, String)>());
    let ledger = LocalLedger::open(scene.dir.clone(), redactor);
    owe(&ledger, "a silent word");
    let state = ledger.session_state("s").unwrap();
    assert_eq!(state.undelivered.len(), 1);
    assert!(!serde_json::to_string(&state).unwrap().contains("a silent word"));
}

/// Shapes that need escaping in JSON and in URLs among them.
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

fn journal(ledger: &LocalLedger, secret: &str) {
    let url = format!("https://example.org/?q={}", percent_encoded(secret));
    let nested = json!({ "inner": secret }).to_string();
    let body = json!({ "argv": ["run", secret], "url": url, "nested": nested, secret: "a key",
        "twice": json!({ "nested": nested }).to_string() });
    ledger.append_journal(&[record(&format!("id-{secret}"), FiringPhase::Finished, body)]).unwrap();
}

fn owe(ledger: &LocalLedger, secret: &str) {
    let mut verdict = serde_json::to_value(Verdict::default()).unwrap();
    say(&mut verdict, secret);
    let verdict: Verdict = serde_json::from_value(verdict).unwrap();
    let debt = Undelivered::new("d", format!("hook {secret}"), verdict);
    let mut push = |state: &mut SessionState| state.undelivered.push(debt.clone());
    ledger.update_session("s", &mut push).unwrap();
    ledger.update_session(secret, &mut push).unwrap();
}

fn say(verdict: &mut Value, secret: &str) {
    verdict["says"] = json!([{ "ear": "agent", "text": format!("use {secret}"), "hook": "h" }]);
}

fn trust(ledger: &LocalLedger, secret: &str) {
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

fn ask(ledger: &LocalLedger, secret: &str) {
    let question = Ticket {
        session: format!("of {secret}"),
        project: format!("/home/ada/{secret}"),
        title: secret.to_owned(),
        shown: vec![(secret.to_owned(), secret.to_owned())],
        ..asked(secret)
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
    assert!(read > 3, "there were files to look into");
}

fn percent_encoded(text: &str) -> String {
    text.bytes()
        .map(|byte| match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' => char::from(byte).to_string(),
            byte => format!("%{byte:02x}"),
        })
        .collect()
}
