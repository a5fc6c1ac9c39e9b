//! Folders have mode 0700 and files 0600. Opening a ledger creates nothing.

use std::os::unix::fs::PermissionsExt;

use gambrel_model::ledger::{Journal, Sessions};

use crate::fixture::{LedgerFixture, journal_firing};

#[test]
fn creates_private_folders_and_files() {
    let fixture = LedgerFixture::new();
    let ledger = fixture.ledger();
    assert!(!fixture.dir.exists());
    journal_firing(&ledger, "first-1");
    ledger
        .update_session("s", &mut |state| {
            state.counts.insert("n".to_owned(), 1);
        })
        .unwrap();
    ledger.import_journal().unwrap();
    journal_firing(&ledger, "second-1");
    let mut seen = 0;
    let mut folders = vec![fixture.dir.clone()];
    while let Some(folder) = folders.pop() {
        assert_eq!(file_mode(&folder), 0o700);
        for path in std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
            seen += 1;
            if path.is_dir() {
                folders.push(path);
            } else {
                assert_eq!(file_mode(&path), 0o600, "{}", path.display());
            }
        }
    }
    assert!(seen >= 5, "{seen}");
}

fn file_mode(path: &std::path::Path) -> u32 {
    std::fs::metadata(path).unwrap().permissions().mode() & 0o777
}
