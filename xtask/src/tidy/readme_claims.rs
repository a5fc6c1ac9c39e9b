//! Checks that what the documents say is proved by tests: each sentence of `contracts/readme.yaml`
//! is in the README and names tests, each statement of the README has such a sentence, and each
//! section of SECURITY.md and of a page in `docs` has a comment `<!-- tests: … -->`. A test is
//! `FILE.rs::NAME` or, for a claim of `contracts`, `FOLDER/ID`. Whether a test proves a sentence only
//! a reader can tell.

use std::fs;
use std::path::Path;

use anyhow::Context;
use serde_json::Value;

use super::source::list_files;
use super::statements::read_statements;

const CLAIMS_FILE: &str = "contracts/readme.yaml";
/// Beginnings of statements of the README that are not about what gambrel does.
const STATEMENTS_WITHOUT_CLAIMS: [&str; 8] = [
    "Run one set of hooks in every coding agent.",
    "Coding agents run your scripts",
    "Claude Code, oh-my-pi, pi-teams, iteratr and agent-pipelines each have",
    "One binary",
    "Write a rule to",
    "Try it.",
    "gambrel is young",
    "Licensed under",
];
/// Pages without claims: indexes, words, figures, and pages that a test runs as a whole.
const PAGES_WITHOUT_CLAIMS: [&str; 4] =
    ["docs/README.md", "docs/glossary.md", "docs/cookbook.md", "docs/benchmarks.md"];
/// Sections without claims: results of `cargo xtask faults`, limits, and what people should do.
const SECTIONS_WITHOUT_CLAIMS: [(&str, &str); 8] = [
    ("SECURITY.md", "Report a weakness"),
    ("SECURITY.md", "What is protected"),
    ("SECURITY.md", "Who attacks"),
    ("SECURITY.md", "Limits"),
    ("docs/reliability.md", "What is checked"),
    ("docs/reliability.md", "A run"),
    ("docs/reliability.md", "What does not hold yet"),
    ("docs/reliability.md", "What is not covered"),
];
const PROOF_START: &str = "<!-- tests:";

pub fn check(root: &Path) -> anyhow::Result<Vec<String>> {
    let read = |path: &str| fs::read_to_string(root.join(path)).with_context(|| path.to_owned());
    let readme = read("README.md")?;
    let claims: Value = serde_saphyr::from_str(&read(CLAIMS_FILE)?).context(CLAIMS_FILE)?;
    let mut violations = check_claims(&readme, &claims, &|test| find_test(root, test));
    let mut pages = vec![root.join("SECURITY.md")];
    list_files(&root.join("docs"), "md", &mut pages)?;
    pages.sort();
    for page in pages {
        let name = page.strip_prefix(root).unwrap_or(&page).display().to_string();
        violations.extend(check_page(&name, &read(&name)?, &|test| find_test(root, test)));
    }
    Ok(violations)
}

/// Why a test does not count; `None` if it exists.
type FindTest<'a> = &'a dyn Fn(&str) -> Option<String>;

fn check_claims(readme: &str, claims: &Value, find_test: FindTest<'_>) -> Vec<String> {
    let text = join_words(readme);
    let mut violations = Vec::new();
    let mut sentences = Vec::new();
    for claim in claims["claims"].as_array().into_iter().flatten() {
        let says = join_words(claim["says"].as_str().unwrap_or_default());
        if says.is_empty() || !text.contains(&says) {
            violations.push(format!("{CLAIMS_FILE}: README.md does not say `{says}`"));
        }
        let tests: Vec<&str> =
            claim["tests"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        if tests.is_empty() {
            violations.push(format!("{CLAIMS_FILE}: `{says}` names no test"));
        }
        let missing = tests.into_iter().filter_map(find_test);
        violations.extend(missing.map(|why| format!("{CLAIMS_FILE}: `{says}`: {why}")));
        sentences.push(says);
    }
    let needs_none = |statement: &String| {
        STATEMENTS_WITHOUT_CLAIMS.iter().any(|start| statement.starts_with(start))
    };
    for statement in read_statements(readme).into_iter().filter(|it| !needs_none(it)) {
        let is_claimed = |says: &String| statement.contains(says) || says.contains(&statement);
        if !sentences.iter().any(is_claimed) {
            violations.push(format!("{CLAIMS_FILE}: no claim for `{statement}` of README.md"));
        }
    }
    violations
}

fn check_page(name: &str, text: &str, find_test: FindTest<'_>) -> Vec<String> {
    let mut violations = Vec::new();
    if !PAGES_WITHOUT_CLAIMS.contains(&name) {
        for section in text.split("\n## ").skip(1) {
            let heading = section.lines().next().unwrap_or_default();
            let is_exempt = SECTIONS_WITHOUT_CLAIMS.contains(&(name, heading));
            if is_exempt == (proofs(section).count() > 0) {
                let message = if is_exempt { "needs no exemption" } else { "names no test" };
                violations.push(format!("{name}: section `{heading}` {message}"));
            }
        }
    }
    let tests = proofs(text).flat_map(|proof| proof.split(',').map(str::trim));
    violations.extend(tests.filter_map(find_test).map(|why| format!("{name}: {why}")));
    violations
}

/// The lists of tests. Inside of a line, a page writes about such comments.
fn proofs(text: &str) -> impl Iterator<Item = &str> {
    let comments = text.lines().filter_map(|line| line.strip_prefix(PROOF_START));
    comments.map(|proof| proof.split("-->").next().unwrap_or_default())
}

fn find_test(root: &Path, test: &str) -> Option<String> {
    let is_there = match test.split_once("::") {
        Some((file, function)) => {
            let text = fs::read_to_string(root.join(file)).unwrap_or_default();
            let start = format!("fn {function}(");
            let mut found = text.match_indices(&start);
            found.any(|(at, _)| text[..at].trim_end().ends_with("#[test]"))
        }
        None => test.split_once('/').is_some_and(|(folder, id)| {
            let file = root.join("contracts").join(folder).join("claims.yaml");
            fs::read_to_string(file).is_ok_and(|text| text.contains(&format!("- {{id: {id},")))
        }),
    };
    (!is_there).then(|| format!("no test `{test}`"))
}

fn join_words(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{check_claims, check_page, find_test};
    use crate::shell;

    const README: &str = "# x\n\nIt works\nwell.\n\n## Highlights\n\n- **Fast.** It\n  flies.\n\n\
                          ## Status\n\n- gambrel is young.\n- It sleeps.\n";

    fn missing(test: &str) -> Option<String> {
        (test == "gone").then(|| "no test `gone`".to_owned())
    }

    #[test]
    fn finds_lost_sentences_tests_and_bullets() {
        let claims = json!({"claims": [
            {"says": "It works well.", "tests": ["a", "gone"]},
            {"says": "It flies.", "tests": []},
            {"says": "It swims.", "tests": ["a"]},
        ]});
        let found = check_claims(README, &claims, &missing);
        let expected = [
            "contracts/readme.yaml: `It works well.`: no test `gone`",
            "contracts/readme.yaml: `It flies.` names no test",
            "contracts/readme.yaml: README.md does not say `It swims.`",
            "contracts/readme.yaml: no claim for `It sleeps.` of README.md",
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn finds_sections_without_tests() {
        let text = "# A\n\n## B\n\n<!-- tests: a, gone -->\n\n## C\n\n`<!-- tests: x -->`\n";
        let expected = ["docs/a.md: section `C` names no test", "docs/a.md: no test `gone`"];
        assert_eq!(check_page("docs/a.md", text, &missing), expected);
        assert_eq!(check_page("docs/glossary.md", "# A\n\n## B\n", &missing).len(), 0);
        let text = "# A\n\n## A run\n\nText.\n\n## What is checked\n\n<!-- tests: a -->\n";
        let expected = ["docs/reliability.md: section `What is checked` needs no exemption"];
        assert_eq!(check_page("docs/reliability.md", text, &missing), expected);
    }

    #[test]
    fn finds_tests_of_both_kinds() {
        let root = shell::repository_root();
        let here = "xtask/src/tidy/readme_claims.rs::finds_tests_of_both_kinds";
        for (test, is_missing) in [
            (here, false),
            ("unified/rule-block", false),
            ("unified/rule", true),
            ("nowhere/rule-block", true),
            ("xtask/src/tidy/readme_claims.rs::finds_tests", true),
            ("xtask/src/nowhere.rs::finds_tests_of_both_kinds", true),
            ("rule-block", true),
        ] {
            assert_eq!(find_test(&root, test).is_some(), is_missing, "{test}");
        }
    }
}
