//! docs/environment.md names the variables that the source and its tests read or set, and no others.

use std::collections::BTreeSet;
use std::path::Path;

use super::cargo_lines::repository;
use super::fresh_root::read_repository_file;

/// The calls by which tests read a variable that a person sets. What a test sets for its own
/// processes has a constant.
const READERS_OF_TESTS: [&str; 2] = ["var(\"", "var_os(\""];
/// Set by a test for itself.
const OF_ONE_TEST: [&str; 1] = ["GAMBREL_TEST_IS_OFFLINE"];
/// Read by the standard library or by a crate that gambrel uses.
const OF_LIBRARIES: [&str; 3] = ["NO_COLOR", "SSL_CERT_FILE", "SSL_CERT_DIR"];
/// Beginnings of names that the source completes; the page has `NAME` after them.
const PREFIXES: [&str; 1] = ["GAMBREL_V_"];
/// The calls that read a variable by its name.
const READERS: [&str; 7] = [
    "env_var(\"",
    "absolute_var(\"",
    "var_os(\"",
    "env.get(\"",
    "env.contains_key(\"",
    "variable(\"",
    "named(\"",
];

fn collect_source(folder: &Path, text: &mut String) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            collect_source(&path, text);
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            *text += &std::fs::read_to_string(path).unwrap();
        }
    }
}

/// The text of one folder of all crates.
fn read_source(folder: &str) -> String {
    let mut text = String::new();
    for entry in std::fs::read_dir(repository().join("crates")).unwrap() {
        let path = entry.unwrap().path().join(folder);
        if path.is_dir() {
            collect_source(&path, &mut text);
        }
    }
    text
}

fn is_variable(name: &str) -> bool {
    let fits = |c: char| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_';
    name.len() > 3 && name.chars().all(fits) && !name.ends_with('_')
}

/// Names between two marks.
fn names_between<'t>(text: &'t str, start: &'t str, end: char) -> BTreeSet<&'t str> {
    let after = text.match_indices(start).map(|(at, _)| &text[at + start.len()..]);
    let names = after.filter_map(|rest| rest.split(end).next());
    names.filter(|name| is_variable(name)).collect()
}

#[test]
fn the_page_of_variables_is_complete() {
    let (source, tests) = (read_source("src"), read_source("tests"));
    let is_own = |name: &&str| name.starts_with("GAMBREL_") && !OF_ONE_TEST.contains(name);
    let own = names_between(&source, "\"", '"').into_iter().filter(is_own);
    let read = READERS.iter().flat_map(|reader| names_between(&source, reader, '"'));
    let of_tests = READERS_OF_TESTS.iter().flat_map(|reader| names_between(&tests, reader, '"'));
    let needed: BTreeSet<&str> = own.chain(read).chain(of_tests.filter(is_own)).collect();
    assert!(needed.len() > 30, "{needed:?}");

    let page = read_repository_file("docs/environment.md");
    let shown = names_between(&page, "`", '`');
    let missing: Vec<&&str> = needed.iter().filter(|name| !shown.contains(*name)).collect();
    assert!(missing.is_empty(), "docs/environment.md does not name {missing:?}");
    let mut literals = names_between(&source, "\"", '"');
    literals.extend(names_between(&tests, "\"", '"').into_iter().filter(is_own));
    let is_prefixed = |name: &str| PREFIXES.iter().any(|prefix| name.starts_with(prefix));
    let is_known = |name: &&&str| {
        literals.contains(*name) || OF_LIBRARIES.contains(*name) || is_prefixed(name)
    };
    let unknown: Vec<&&str> = shown.iter().filter(|name| !is_known(name)).collect();
    assert!(unknown.is_empty(), "no source reads or sets {unknown:?}");
}
