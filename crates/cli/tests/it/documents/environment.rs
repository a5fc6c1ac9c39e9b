//! docs/environment.md names the variables that the source reads or sets, and no others.

use std::collections::BTreeSet;
use std::path::Path;

use super::cargo_lines::repository;
use super::fresh_root::read_repository_file;

/// Read by tests inside a crate only.
const OF_TESTS: [&str; 1] = ["GAMBREL_BLESS"];
/// Read by the standard library or by a crate that gambrel uses.
const OF_LIBRARIES: [&str; 3] = ["NO_COLOR", "SSL_CERT_FILE", "SSL_CERT_DIR"];
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

/// The source of all crates, without tests in folders of their own.
fn read_source() -> String {
    let mut text = String::new();
    for entry in std::fs::read_dir(repository().join("crates")).unwrap() {
        collect_source(&entry.unwrap().path().join("src"), &mut text);
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
    let source = read_source();
    let own = names_between(&source, "\"", '"');
    let own = own.into_iter().filter(|name| name.starts_with("GAMBREL_"));
    let read = READERS.iter().flat_map(|reader| names_between(&source, reader, '"'));
    let needed: BTreeSet<&str> = own.chain(read).filter(|name| !OF_TESTS.contains(name)).collect();
    assert!(needed.len() > 30, "{needed:?}");

    let page = read_repository_file("docs/environment.md");
    let shown = names_between(&page, "`", '`');
    let missing: Vec<&&str> = needed.iter().filter(|name| !shown.contains(*name)).collect();
    assert!(missing.is_empty(), "docs/environment.md does not name {missing:?}");
    let literals = names_between(&source, "\"", '"');
    let is_known = |name: &&&str| literals.contains(*name) || OF_LIBRARIES.contains(*name);
    let unknown: Vec<&&str> = shown.iter().filter(|name| !is_known(name)).collect();
    assert!(unknown.is_empty(), "no source reads or sets {unknown:?}");
}
