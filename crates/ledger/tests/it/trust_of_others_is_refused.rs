//! A trust file that others can write, or that cannot be read, trusts nothing and says so.

use std::collections::BTreeMap;
use std::fs::{Permissions, set_permissions};
use std::os::unix::fs::PermissionsExt;

use gambrel_model::ledger::{Ledger, TrustEntry};

use crate::scene::Scene;

#[test]
fn when_group_or_others_may_write_it() {
    let scene = trusting();
    for mode in [0o620, 0o602, 0o666] {
        set_permissions(scene.file("trust.json"), Permissions::from_mode(mode)).unwrap();
        let error = scene.ledger().trust().unwrap_err();
        assert!(error.why.contains("chmod 600"), "{error}");
        assert!(scene.ledger().update_trust(&mut BTreeMap::clear).is_err());
    }
    set_permissions(scene.file("trust.json"), Permissions::from_mode(0o600)).unwrap();
    assert_eq!(scene.ledger().trust().unwrap().len(), 1);
}

#[test]
fn when_anybody_may_put_another_in_its_place() {
    let scene = trusting();
    set_permissions(&scene.dir, Permissions::from_mode(0o777)).unwrap();
    let error = scene.ledger().trust().unwrap_err();
    assert!(error.why.contains("chmod 700"), "{error}");
}

#[test]
fn when_it_is_malformed() {
    let scene = trusting();
    for text in ["", "{", "[]", "{\"a\": true}", "null", "\u{0}"] {
        std::fs::write(scene.file("trust.json"), text).unwrap();
        assert!(scene.ledger().trust().is_err(), "{text:?}");
        assert!(scene.ledger().update_trust(&mut BTreeMap::clear).is_err(), "{text:?}");
        assert_eq!(std::fs::read_to_string(scene.file("trust.json")).unwrap(), text);
    }
}

#[test]
fn but_none_at_all_is_an_empty_one() {
    let scene = Scene::new();
    assert_eq!(scene.ledger().trust().unwrap(), BTreeMap::new());
    assert!(!scene.dir.exists());
}

fn trusting() -> Scene {
    let scene = Scene::new();
    let shown = "make check".to_owned();
    let entry =
        TrustEntry { hash: "h".to_owned(), denied: false, shown, at: 1, ..TrustEntry::default() };
    let mut insert = |entries: &mut BTreeMap<String, TrustEntry>| {
        entries.insert("key".to_owned(), entry.clone());
    };
    scene.ledger().update_trust(&mut insert).unwrap();
    scene
}
