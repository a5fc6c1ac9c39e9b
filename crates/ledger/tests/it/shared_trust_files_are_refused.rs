//! A trust file that other users can write, or that is malformed, is an error and trusts nothing.

use std::collections::BTreeMap;
use std::fs::{Permissions, set_permissions};
use std::os::unix::fs::PermissionsExt;

use gambrel_model::ledger::{TrustEntry, TrustStore};

use crate::fixture::LedgerFixture;

#[test]
fn refuses_a_file_that_others_can_write() {
    let fixture = fixture_with_trust();
    for mode in [0o620, 0o602, 0o666] {
        set_permissions(fixture.file("trust.json"), Permissions::from_mode(mode)).unwrap();
        let error = fixture.ledger().trust_entries().unwrap_err();
        assert!(error.detail.contains("chmod 600"), "{error}");
        assert!(fixture.ledger().update_trust(&mut BTreeMap::clear).is_err());
    }
    set_permissions(fixture.file("trust.json"), Permissions::from_mode(0o600)).unwrap();
    assert_eq!(fixture.ledger().trust_entries().unwrap().len(), 1);
}

#[test]
fn refuses_a_folder_that_others_can_write() {
    let fixture = fixture_with_trust();
    set_permissions(&fixture.dir, Permissions::from_mode(0o777)).unwrap();
    let error = fixture.ledger().trust_entries().unwrap_err();
    assert!(error.detail.contains("chmod 700"), "{error}");
}

#[test]
fn refuses_a_malformed_file() {
    let fixture = fixture_with_trust();
    for text in ["", "{", "[]", "{\"a\": true}", "null", "\u{0}"] {
        std::fs::write(fixture.file("trust.json"), text).unwrap();
        assert!(fixture.ledger().trust_entries().is_err(), "{text:?}");
        assert!(fixture.ledger().update_trust(&mut BTreeMap::clear).is_err(), "{text:?}");
        assert_eq!(std::fs::read_to_string(fixture.file("trust.json")).unwrap(), text);
    }
}

#[test]
fn a_missing_file_is_empty() {
    let fixture = LedgerFixture::new();
    assert_eq!(fixture.ledger().trust_entries().unwrap(), BTreeMap::new());
    assert!(!fixture.dir.exists());
}

fn fixture_with_trust() -> LedgerFixture {
    let fixture = LedgerFixture::new();
    let shown = "make check".to_owned();
    let entry =
        TrustEntry { hash: "h".to_owned(), denied: false, shown, at: 1, ..TrustEntry::default() };
    let mut insert = |entries: &mut BTreeMap<String, TrustEntry>| {
        entries.insert("key".to_owned(), entry.clone());
    };
    fixture.ledger().update_trust(&mut insert).unwrap();
    fixture
}
