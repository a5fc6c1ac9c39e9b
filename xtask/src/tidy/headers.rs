//! Checks the header and name of a file, `unsafe`, and forbidden marks.

use super::source::SourceFile;

/// File names without a meaning.
const MEANINGLESS_NAMES: &[&str] = &[
    "util", "utils", "common", "helper", "helpers", "misc", "types", "manager", "base", "data",
    "info",
];
/// The only files with `unsafe` code.
const UNSAFE_FILES: &[&str] = &[
    "crates/cli/src/arena.rs",
    "crates/cli/src/args/entry.rs",
    "crates/cli/src/memory_functions.rs",
    "crates/process/src/posix_spawn.rs",
    "crates/script/src/runtime/compiled.rs",
    "bench/src/counters/single_step.rs",
    "bench/src/floor.rs",
];
/// Marks of unfinished work and of lints disabled without a reason.
const FORBIDDEN_MARKS: &[&str] = &["TO\u{44}O", "FIX\u{4d}E", "XX\u{58}", "#[all\u{6f}w("];

pub fn check(file: &SourceFile) -> Vec<String> {
    let mut violations = Vec::new();
    let mut add = |message: String| violations.push(format!("{}: {message}", file.path));
    if !file.text.starts_with("//!") {
        add("does not start with a `//!` header".into());
    }
    if MEANINGLESS_NAMES.contains(&file.stem()) {
        add("has a name without a meaning".into());
    }
    if file.is_test {
        return violations;
    }
    for mark in FORBIDDEN_MARKS.iter().filter(|mark| file.text.contains(**mark)) {
        add(format!("has `{mark}`"));
    }
    let is_unsafe = file.identifiers().iter().any(|ident| ident == "unsafe");
    if is_unsafe && !UNSAFE_FILES.contains(&file.path.as_str()) {
        add(format!("has `unsafe`, which is allowed only in {}", UNSAFE_FILES.join(", ")));
    }
    violations
}

#[cfg(test)]
mod tests {
    use super::{FORBIDDEN_MARKS, check};
    use crate::tidy::source::SourceFile;

    #[test]
    fn finds_each_violation() -> syn::Result<()> {
        let violation = |path: &str, text: &str| -> syn::Result<String> {
            Ok(check(&SourceFile::parse(path, text)?).join("; "))
        };
        assert!(violation("crates/x/src/a.rs", "fn f() {}")?.contains("does not start"));
        assert!(violation("crates/x/src/util.rs", "//! x")?.contains("without a meaning"));
        let text = "//! x\nfn f() { unsafe { g() } }";
        assert!(violation("crates/x/src/a.rs", text)?.contains("has `unsafe`"));
        assert_eq!(violation("crates/process/src/posix_spawn.rs", text)?, "");
        for mark in FORBIDDEN_MARKS {
            let text = format!("//! x {mark}");
            assert!(violation("crates/x/src/a.rs", &text)?.contains("has `"), "{mark}");
        }
        assert_eq!(violation("crates/x/src/a.rs", "//! x\nfn f() {}")?, "");
        Ok(())
    }
}
