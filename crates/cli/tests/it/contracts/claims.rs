//! Claims and cases belong together: no claim without a case, no case without a claim. A claim that
//! no firing can prove names a test. Every claim cites a section of a CONTRACT.md.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;

use super::case;
use crate::markdown;

/// The document that states the rules of a dialect.
const RULES: &str = "CONTRACT.md";

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Claims {
    claims: Vec<Claim>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Claim {
    id: String,
    says: String,
    /// The sections that state it, separated by `; `: `#anchor` or `../DIALECT/CONTRACT.md#anchor`.
    at: String,
    /// The test that proves it, as `file.rs::name`, where it is about no firing.
    test: Option<String>,
}

impl Claim {
    /// Whether the test that it names is there.
    fn is_tested(&self) -> bool {
        let Some((file, name)) = self.test.as_ref().and_then(|test| test.split_once("::")) else {
            return false;
        };
        let text = std::fs::read_to_string(super::contracts_dir().join("..").join(file));
        text.is_ok_and(|text| text.contains(&format!("#[test]\nfn {name}() {{")))
    }
}

fn load(dialect: &str) -> Claims {
    let path = super::contracts_dir().join(dialect).join("claims.yaml");
    let text = std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    serde_saphyr::from_str(&text).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// Citations of sections that do not exist. The first section is in the dialect's own folder.
pub fn check_sections(dialect: &str) -> Vec<String> {
    let folder = super::contracts_dir().join(dialect);
    let mut known: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    let mut wrong = Vec::new();
    for claim in load(dialect).claims {
        if !claim.at.starts_with('#') {
            wrong.push(format!("{dialect}: claim {} cites no own section first", claim.id));
        }
        for citation in claim.at.split("; ") {
            let (path, anchor) = citation.split_once('#').unwrap_or((citation, ""));
            let path = if path.is_empty() { RULES } else { path };
            let anchors = known.entry(path.to_owned()).or_insert_with(|| {
                let text = std::fs::read_to_string(folder.join(path)).unwrap_or_default();
                markdown::anchors(&text)
            });
            if !path.ends_with(RULES) || !anchors.contains(anchor) {
                wrong.push(format!("{dialect}: claim {} cites no section: {citation}", claim.id));
            }
        }
    }
    wrong
}

pub fn check(dialect: &str) -> Vec<String> {
    let claims = load(dialect);
    let mut wrong = Vec::new();
    let mut known = BTreeSet::new();
    for claim in &claims.claims {
        if !known.insert(claim.id.clone()) {
            wrong.push(format!("{dialect}: claim {} is there twice", claim.id));
        }
        if claim.says.trim().is_empty() || claim.at.trim().is_empty() {
            wrong.push(format!("{dialect}: claim {} says nothing, or nowhere", claim.id));
        }
    }
    if known.len() < 25 {
        wrong.push(format!("{dialect}: only {} claims", known.len()));
    }
    let cases = case::load(dialect);
    let proved: BTreeSet<String> = cases.iter().flat_map(|c| c.proves.clone()).collect();
    let tested = claims.claims.iter().filter(|claim| claim.is_tested()).map(|c| c.id.clone());
    let shown: BTreeSet<String> = proved.iter().cloned().chain(tested).collect();
    wrong.extend(known.difference(&shown).map(|id| format!("{dialect}: no case proves {id}")));
    wrong.extend(proved.difference(&known).map(|id| format!("{dialect}: no claim {id}")));
    wrong.extend(
        cases.iter().filter(|c| c.proves.is_empty()).map(|c| format!("{}: proves nothing", c.name)),
    );
    let mut names = BTreeSet::new();
    wrong.extend(
        cases.iter().filter(|c| !names.insert(&c.name)).map(|c| format!("{}: named twice", c.name)),
    );
    wrong
}
