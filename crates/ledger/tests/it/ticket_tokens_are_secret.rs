//! A token has 256 bits. No file contains it, and only the user can read the files.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use gambrel_ledger::Redactor;
use gambrel_model::ledger::Tickets;
use gambrel_model::ticket::Ticket;

use crate::fixture::LedgerFixture;
use crate::test_tickets::{new_answer, new_ticket};

fn list_files(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries.flat_map(|path| if path.is_dir() { list_files(&path) } else { vec![path] }).collect()
}

fn file_contains(path: &Path, text: &str) -> bool {
    let bytes = std::fs::read(path).unwrap();
    bytes.windows(text.len()).any(|window| window == text.as_bytes())
}

#[test]
fn no_file_contains_a_token_or_a_key() {
    let fixture = LedgerFixture::new();
    let ledger = fixture.ledger();
    let opened = ledger.open_ticket(&new_ticket("a telling key")).unwrap();
    ledger.answer_ticket(&opened.ticket.id, &new_answer("approve")).unwrap();
    assert_eq!(opened.token.len(), 43, "256 bits as text");
    let files = list_files(&fixture.dir);
    assert!(files.len() >= 2, "{files:?}");
    for file in &files {
        assert!(!file_contains(file, &opened.token), "{}", file.display());
        let named = file.display().to_string();
        assert!(!named.contains(&opened.token[..8]), "{named}");
    }
    let kept = fixture.file(&format!("tickets/{}.json", opened.ticket.id));
    assert!(file_contains(&kept, "\"hash\":"));
    assert!(!std::fs::read_to_string(&kept).unwrap().contains("\"key\":\"a telling key\""));
}

#[test]
fn only_the_whole_token_finds_its_ticket() {
    let fixture = LedgerFixture::new();
    let ledger = fixture.ledger();
    let opened = ledger.open_ticket(&new_ticket("key")).unwrap();
    assert_eq!(ledger.ticket_by_token(&opened.token).unwrap().unwrap().id, opened.ticket.id);
    let upper = opened.token.to_uppercase();
    let padded = format!("{}=", opened.token);
    let hash = std::fs::read_to_string(fixture.file(&format!("tickets/{}.json", opened.ticket.id)));
    let hash: serde_json::Value = serde_json::from_str(&hash.unwrap()).unwrap();
    let hash = hash["hash"].as_str().unwrap();
    for wrong in ["", &opened.token[1..], &upper, &padded, &opened.ticket.id, hash] {
        assert_eq!(ledger.ticket_by_token(wrong).unwrap(), None, "{wrong}");
    }
}

#[test]
fn compares_the_whole_hash() {
    let fixture = LedgerFixture::new();
    let ledger = fixture.ledger();
    let opened = ledger.open_ticket(&new_ticket("key")).unwrap();
    let path = fixture.file(&format!("tickets/{}.json", opened.ticket.id));
    let text = std::fs::read_to_string(&path).unwrap();
    let mut kept: serde_json::Value = serde_json::from_str(&text).unwrap();
    let hash = kept["hash"].as_str().unwrap().to_owned();
    let last = if hash.ends_with('0') { "1" } else { "0" };
    kept["hash"] = format!("{}{last}", &hash[..63]).into();
    std::fs::write(&path, kept.to_string()).unwrap();
    assert_eq!(ledger.ticket_by_token(&opened.token).unwrap(), None);
}

#[test]
fn files_are_private() {
    let fixture = LedgerFixture::new();
    let ledger = fixture.ledger();
    let opened = ledger.open_ticket(&new_ticket("key")).unwrap();
    ledger.update_ticket(&opened.ticket.id, &mut |ticket| ticket.sent = true).unwrap();
    let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&fixture.file("tickets")), 0o700);
    for file in list_files(&fixture.dir) {
        assert_eq!(mode(&file), 0o600, "{}", file.display());
    }
}

#[test]
fn redacts_secrets_in_tickets() {
    let fixture = LedgerFixture::new();
    let secrets = [("API_TOKEN", "s3cret-of-the-user")];
    let redactor = Redactor::new(secrets.into_iter(), std::iter::empty());
    let ledger = gambrel_ledger::LocalLedger::open(fixture.dir.clone(), redactor);
    let opened = ledger
        .open_ticket(&Ticket {
            title: "Send s3cret-of-the-user?".into(),
            shown: vec![("Command".into(), "curl -H s3cret-of-the-user".into())],
            ..new_ticket("key")
        })
        .unwrap();
    let kept = ledger.find_ticket(&opened.ticket.id).unwrap().unwrap();
    assert!(!format!("{kept:?}").contains("s3cret-of-the-user"), "{kept:?}");
    for file in list_files(&fixture.dir) {
        assert!(!file_contains(&file, "s3cret-of-the-user"), "{}", file.display());
    }
}
