//! Checks of the repository: dependencies between crates, sizes, names, that every file says what
//! it is for, and that generated files are fresh.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::bail;
use serde_json::Value;

use crate::{schemas, shell};

/// Whom each room may know. What is not named here may know everybody.
const MAY_KNOW: &[(&str, &[&str])] = &[
    ("gambrel-model", &[]),
    ("gambrel-dialects", &["gambrel-model"]),
    ("gambrel-actions", &["gambrel-model"]),
    ("gambrel-ledger", &["gambrel-model"]),
    ("gambrel-engine", &["gambrel-model"]),
    ("gambrel-script", &["gambrel-model"]),
    ("gambrel-server", &["gambrel-model"]),
];
/// Nothing of these may be in the pure rooms.
const IMPURE: &[&str] = &["tokio", "reqwest", "hyper", "axum", "rusqlite", "rustix", "libc"];
const PURE: &[&str] = &["gambrel-model", "gambrel-dialects"];
/// Rooms without a name on the door.
const NAMELESS: &[&str] = &[
    "util", "utils", "common", "helper", "helpers", "misc", "types", "manager", "base", "data",
    "info",
];
/// A file over this is too long, unless it is a plain table.
const LINES: usize = 500;
/// A function over this is too long.
const FUNCTION: usize = 60;
/// The only files with `unsafe`, one a room at most.
const UNSAFE: &[&str] =
    &["crates/actions/src/spawn.rs", "crates/script/src/compiled.rs", "bench/src/floor.rs"];

/// Every law.
pub fn run() -> anyhow::Result<()> {
    let mut wrong = dependence()?;
    for file in sources(&shell::root().join("crates"))? {
        wrong.extend(file_laws(&file)?);
    }
    wrong.extend(main_is_short()?);
    wrong.extend(schemas::stale()?);
    if !wrong.is_empty() {
        bail!("{} laws broken:\n{}", wrong.len(), wrong.join("\n"));
    }
    eprintln!("tidy: the laws hold");
    Ok(())
}

fn dependence() -> anyhow::Result<Vec<String>> {
    let text = shell::read("cargo", &["metadata", "--format-version", "1", "--no-deps"])?;
    let metadata: Value = serde_json::from_str(&text)?;
    let mut wrong = Vec::new();
    for package in metadata["packages"].as_array().into_iter().flatten() {
        let name = package["name"].as_str().unwrap_or_default();
        let normal = package["dependencies"].as_array().into_iter().flatten();
        let normal = normal.filter(|dep| dep["kind"].is_null());
        let deps: Vec<&str> = normal.filter_map(|dep| dep["name"].as_str()).collect();
        wrong.extend(
            deps.iter().filter(|dep| !may_know(name, dep)).map(|dep| format!("{name} knows {dep}")),
        );
    }
    Ok(wrong)
}

fn may_know(name: &str, dep: &str) -> bool {
    let law = MAY_KNOW.iter().find(|(room, _)| *room == name);
    let house = dep == "gambrel" || dep.starts_with("gambrel-");
    let allowed = law.is_none_or(|(_, rooms)| !house || rooms.contains(&dep));
    let pure = !PURE.contains(&name) || !IMPURE.contains(&dep);
    allowed && pure && dep != "gambrel-cli"
}

fn sources(folder: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() && !path.ends_with("target") {
            files.extend(sources(&path)?);
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

fn file_laws(path: &Path) -> anyhow::Result<Vec<String>> {
    let text = fs::read_to_string(path)?;
    let short = path.strip_prefix(shell::root()).unwrap_or(path).display().to_string();
    let short = short.trim_start_matches("./").to_owned();
    let tested = short.contains("/tests/") || short.ends_with("/tests.rs");
    let mut wrong = Vec::new();
    let mut say = |what: String| wrong.push(format!("{short}: {what}"));
    if !text.starts_with("//!") {
        say("does not open with what it is for (//!)".into());
    }
    let stem = path.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
    if NAMELESS.contains(&stem) {
        say("has no name on its door".into());
    }
    if tested {
        return Ok(wrong);
    }
    let lines = text.lines().count();
    if lines > LINES {
        say(format!("{lines} lines; {LINES} at most"));
    }
    let code = text.split("#[cfg(test)]").next().unwrap_or_default();
    if (code.contains("unsafe {") || code.contains("unsafe extern"))
        && !UNSAFE.contains(&short.as_str())
    {
        say("has `unsafe`, which has one file a room".into());
    }
    for word in ["TODO", "FIXME", "XXX", "#[allow("] {
        if code.contains(word) {
            say(format!("has {word}"));
        }
    }
    for (name, length) in functions(code).into_iter().filter(|(_, length)| *length > FUNCTION) {
        say(format!("fn {name} has {length} lines; {FUNCTION} at most"));
    }
    Ok(wrong)
}

/// Names and lengths of functions, by their indentation: rustfmt guarantees it.
fn functions(code: &str) -> Vec<(String, usize)> {
    let mut found = Vec::new();
    let lines: Vec<&str> = code.lines().collect();
    for (at, line) in lines.iter().enumerate() {
        let indent = line.len() - line.trim_start().len();
        let Some(rest) = line.split("fn ").nth(1).filter(|_| is_signature(line)) else { continue };
        let close = format!("{}}}", " ".repeat(indent));
        let end = lines[at..].iter().position(|l| *l == close);
        if let Some(length) = end {
            let name = rest.split(['(', '<']).next().unwrap_or_default();
            found.push((name.to_owned(), length + 1));
        }
    }
    found
}

fn is_signature(line: &str) -> bool {
    let words = line.trim_start();
    let heads =
        ["fn ", "pub fn ", "pub(crate) fn ", "const fn ", "pub const fn ", "pub(super) fn "];
    heads.iter().any(|head| words.starts_with(head)) && !line.trim_end().ends_with(['}', ';'])
}

fn main_is_short() -> anyhow::Result<Vec<String>> {
    let text = fs::read_to_string(shell::root().join("crates/cli/src/main.rs"))?;
    let lines = text.lines().count();
    Ok(if lines > 30 { vec![format!("main.rs has {lines} lines; 30 at most")] } else { Vec::new() })
}
