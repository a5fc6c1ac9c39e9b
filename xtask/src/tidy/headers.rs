//! What a file opens with, what it is called, and marks that no file may have.

use super::source::SourceFile;

/// File names that say nothing.
const EMPTY_NAMES: &[&str] = &[
    "util", "utils", "common", "helper", "helpers", "misc", "types", "manager", "base", "data",
    "info",
];
/// The files with `unsafe` code.
const UNSAFE_FILES: &[&str] =
    &["crates/actions/src/spawn.rs", "crates/script/src/compiled.rs", "bench/src/floor.rs"];
/// Unfinished work, and lints that are switched off without a reason.
const MARKS: &[&str] = &["TO\u{44}O", "FIX\u{4d}E", "XX\u{58}", "#[all\u{6f}w("];

pub fn check(file: &SourceFile) -> Vec<String> {
    let mut violations = Vec::new();
    let mut add = |message: String| violations.push(format!("{}: {message}", file.path));
    if !file.text.starts_with("//!") {
        add("does not open with `//!` and what it is for".into());
    }
    if EMPTY_NAMES.contains(&file.stem()) {
        add("has a name that says nothing".into());
    }
    if file.is_test {
        return violations;
    }
    for mark in MARKS.iter().filter(|mark| file.text.contains(**mark)) {
        add(format!("has `{mark}`"));
    }
    let is_unsafe = file.identifiers().iter().any(|ident| ident == "unsafe");
    if is_unsafe && !UNSAFE_FILES.contains(&file.path.as_str()) {
        add(format!("has `unsafe`, which belongs into {}", UNSAFE_FILES.join(", ")));
    }
    violations
}

#[cfg(test)]
mod tests {
    use super::{MARKS, check};
    use crate::tidy::source::SourceFile;

    #[test]
    fn finds_each_violation() -> syn::Result<()> {
        let violation = |path: &str, text: &str| -> syn::Result<String> {
            Ok(check(&SourceFile::parse(path, text)?).join("; "))
        };
        assert!(violation("crates/x/src/a.rs", "fn f() {}")?.contains("does not open"));
        assert!(violation("crates/x/src/util.rs", "//! x")?.contains("says nothing"));
        let text = "//! x\nfn f() { unsafe { g() } }";
        assert!(violation("crates/x/src/a.rs", text)?.contains("has `unsafe`"));
        assert_eq!(violation("crates/actions/src/spawn.rs", text)?, "");
        for mark in MARKS {
            let text = format!("//! x {mark}");
            assert!(violation("crates/x/src/a.rs", &text)?.contains("has `"), "{mark}");
        }
        assert_eq!(violation("crates/x/src/a.rs", "//! x\nfn f() {}")?, "");
        Ok(())
    }
}
