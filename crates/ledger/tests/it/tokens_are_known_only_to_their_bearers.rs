//! What answers a question is 256 bits that are nowhere on disk, in files that only we can read.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use gambrel_ledger::Redactor;
use gambrel_model::ledger::Ledger;
use gambrel_model::ticket::Ticket;

use crate::questions::{asked, said};
use crate::scene::Scene;

fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries.flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] }).collect()
}

fn is_in(path: &Path, text: &str) -> bool {
    let bytes = std::fs::read(path).unwrap();
    bytes.windows(text.len()).any(|window| window == text.as_bytes())
}

#[test]
fn neither_token_nor_key_is_on_disk() {
    let scene = Scene::new();
    let ledger = scene.ledger();
    let opened = ledger.open_ticket(&asked("a telling key")).unwrap();
    ledger.answer_ticket(&opened.ticket.id, &said("approve")).unwrap();
    assert_eq!(opened.token.len(), 43, "256 bits as text");
    let files = files(&scene.dir);
    assert!(files.len() >= 2, "{files:?}");
    for file in &files {
        assert!(!is_in(file, &opened.token), "{}", file.display());
        let named = file.display().to_string();
        assert!(!named.contains(&opened.token[..8]), "{named}");
    }
    let kept = scene.file(&format!("tickets/{}.json", opened.ticket.id));
    assert!(is_in(&kept, "\"hash\":"));
    assert!(!std::fs::read_to_string(&kept).unwrap().contains("\"key\":\"a telling key\""));
}

#[test]
fn only_the_whole_token_finds_its_ticket() {
    let scene = Scene::new();
    let ledger = scene.ledger();
    let opened = ledger.open_ticket(&asked("key")).unwrap();
    assert_eq!(ledger.ticket_by_token(&opened.token).unwrap().unwrap().id, opened.ticket.id);
    let upper = opened.token.to_uppercase();
    let padded = format!("{}=", opened.token);
    let hash = std::fs::read_to_string(scene.file(&format!("tickets/{}.json", opened.ticket.id)));
    let hash: serde_json::Value = serde_json::from_str(&hash.unwrap()).unwrap();
    let hash = hash["hash"].as_str().unwrap();
    for wrong in ["", &opened.token[1..], &upper, &padded, &opened.ticket.id, hash] {
        assert_eq!(ledger.ticket_by_token(wrong).unwrap(), None, "{wrong}");
    }
}

#[test]
fn one_with_the_same_beginning_of_its_hash_is_not_enough() {
    let scene = Scene::new();
    let ledger = scene.ledger();
    let opened = ledger.open_ticket(&asked("key")).unwrap();
    let path = scene.file(&format!("tickets/{}.json", opened.ticket.id));
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
    let scene = Scene::new();
    let ledger = scene.ledger();
    let opened = ledger.open_ticket(&asked("key")).unwrap();
    ledger.update_ticket(&opened.ticket.id, &mut |ticket| ticket.sent = true).unwrap();
    let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&scene.file("tickets")), 0o700);
    for file in files(&scene.dir) {
        assert_eq!(mode(&file), 0o600, "{}", file.display());
    }
}

#[test]
fn secrets_are_not_shown_to_those_who_answer() {
    let scene = Scene::new();
    let secrets = [("API_TOKEN", "s3cret-of-the-house")];
    let redactor = Redactor::new(secrets.into_iter(), std::iter::empty());
    let ledger = gambrel_ledger::LocalLedger::open(scene.dir.clone(), redactor);
    let opened = ledger
        .open_ticket(&Ticket {
            title: "Send s3cret-of-the-house?".into(),
            shown: vec![("Command".into(), "curl -H s3cret-of-the-house".into())],
            ..asked("key")
        })
        .unwrap();
    let kept = ledger.ticket(&opened.ticket.id).unwrap().unwrap();
    assert!(!format!("{kept:?}").contains("s3cret-of-the-house"), "{kept:?}");
    for file in files(&scene.dir) {
        assert!(!is_in(&file, "s3cret-of-the-house"), "{}", file.display());
    }
}
