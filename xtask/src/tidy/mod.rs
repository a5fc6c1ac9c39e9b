//! `cargo xtask tidy`: the project's rules that rustc and clippy do not check. Each rule is a file;
//! it takes parsed sources and returns violations. Figures are printed at the end.

mod constants;
mod crate_metadata;
mod dependencies;
mod error_types;
mod event_names;
mod figures;
mod headers;
mod identifiers;
mod readme_claims;
mod sizes;
mod source;
mod statements;
mod type_names;

use anyhow::bail;
use serde_json::Value;

use crate::{schemas, shell};

use source::SourceFile;

/// A rule that looks at one file.
type FileRule = fn(&SourceFile) -> Vec<String>;
/// The rules that look at one file.
const FILE_RULES: &[FileRule] = &[
    headers::check,
    sizes::check,
    identifiers::check,
    constants::check,
    event_names::check,
    error_types::check,
];

/// Checks every rule and prints the figures. Fails with the list of violations.
pub fn run() -> anyhow::Result<()> {
    let files = source::load_sources(&shell::repository_root())?;
    let metadata = read_metadata()?;
    let mut violations = dependencies::check(&metadata);
    violations.extend(crate_metadata::check(&metadata));
    violations.extend(files.iter().flat_map(check_file));
    violations.extend(type_names::check(&files));
    violations.extend(schemas::find_stale()?);
    violations.extend(readme_claims::check(&shell::repository_root())?);

    eprintln!("tidy: {}", figures::describe_figures(&files));

    if !violations.is_empty() {
        bail!("{} violations:\n{}", violations.len(), violations.join("\n"));
    }
    eprintln!("tidy: {} files, no violations", files.len());
    Ok(())
}

/// What cargo knows about the crates of the workspace.
fn read_metadata() -> anyhow::Result<Value> {
    let text = shell::read_output("cargo", &["metadata", "--format-version", "1", "--no-deps"])?;
    Ok(serde_json::from_str(&text)?)
}

fn check_file(file: &SourceFile) -> Vec<String> {
    FILE_RULES.iter().flat_map(|rule| rule(file)).collect()
}
