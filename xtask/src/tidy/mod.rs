//! `cargo xtask tidy`: the project's rules that rustc and clippy do not check. Each rule is a file;
//! it takes parsed sources and returns violations. Figures are printed at the end.

mod constants;
mod dependencies;
mod event_names;
mod figures;
mod headers;
mod identifiers;
mod sizes;
mod source;
mod type_names;

use anyhow::bail;

use crate::{schemas, shell};
use source::SourceFile;

/// A rule that looks at one file.
type FileRule = fn(&SourceFile) -> Vec<String>;
/// Rules that hold.
const FILE_RULES: &[FileRule] = &[headers::check, sizes::check];
/// Rules that the code does not follow everywhere yet. Their violations are counted, not refused.
const PENDING_FILE_RULES: &[(&str, FileRule)] = &[
    ("identifiers with banned words", identifiers::check),
    ("Duration constants without a role", constants::check),
    ("native event names outside crates/dialects", event_names::check),
];

/// Checks every rule and prints the figures. Fails with the list of violations. `--pending` lists
/// the violations of pending rules too.
pub fn run(args: &[String]) -> anyhow::Result<()> {
    let files = source::load(&shell::root())?;
    let mut violations = dependencies::check()?;
    violations.extend(files.iter().flat_map(|file| check_file(file, FILE_RULES)));
    violations.extend(schemas::stale()?);
    eprintln!("tidy: {}", figures::describe(&files));
    print_pending(&files, args.iter().any(|arg| arg == "--pending"));
    if !violations.is_empty() {
        bail!("{} violations:\n{}", violations.len(), violations.join("\n"));
    }
    eprintln!("tidy: {} files, no violations", files.len());
    Ok(())
}

fn check_file(file: &SourceFile, rules: &[FileRule]) -> Vec<String> {
    rules.iter().flat_map(|rule| rule(file)).collect()
}

fn print_pending(files: &[SourceFile], listed: bool) {
    let by_file = PENDING_FILE_RULES
        .iter()
        .map(|(name, rule)| (*name, files.iter().flat_map(rule).collect::<Vec<String>>()));
    let shared = ("type names that are not unique", type_names::check(files));
    for (name, violations) in by_file.chain([shared]) {
        eprintln!("tidy: pending: {} {name}", violations.len());
        if listed {
            eprintln!("{}", violations.join("\n"));
        }
    }
}
