//! Claims and cases belong together: no claim without a case, no case without a claim. What is about
//! no firing is proved by a test that the claim names.

use std::collections::BTreeSet;

use serde::Deserialize;

use super::case;

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
    /// Where the contract says it.
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
        let text = std::fs::read_to_string(super::folder().join("..").join(file));
        text.is_ok_and(|text| text.contains(&format!("#[test]\nfn {name}() {{")))
    }
}

pub fn check(dialect: &str) -> Vec<String> {
    let path = super::folder().join(dialect).join("claims.yaml");
    let text = std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let claims: Claims =
        serde_saphyr::from_str(&text).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
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
