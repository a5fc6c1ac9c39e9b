//! What is read of a skill's or an agent's file: the lines between its dashes. The host takes
//! values there that are not YAML, and such a value does not cost the hooks beside it.

use std::borrow::Cow;
use std::path::Path;

use gambrel_model::{Complaint, complaint::Severity};

use crate::document::{Document, Language};

/// The part that is read, if it can have hooks. Of one that is not YAML only the entries that
/// matter here are left, and what is wrong is told.
pub fn frontmatter<'t>(
    path: &Path,
    text: &'t str,
    complaints: &mut Vec<Complaint>,
) -> Option<Cow<'t, str>> {
    let part = between_dashes(text.strip_prefix('\u{feff}').unwrap_or(text))?;
    let wrong = |part: &str| Document::parse(path, part, Language::Yaml).err();
    let Some(complaint) = wrong(part) else { return Some(Cow::Borrowed(part)) };
    let hooks = with_hooks_only(part);
    if wrong(&hooks).is_some() {
        return Some(Cow::Borrowed(part));
    }
    let help = "its hooks are read all the same; put the value in quotes";
    complaints.push(Complaint { severity: Severity::Warning, ..complaint.with_help(help) });
    Some(Cow::Owned(hooks))
}

/// The part of a text between its first two lines of dashes, both included; positions stay.
fn between_dashes(text: &str) -> Option<&str> {
    let head = text.strip_prefix("---")?;
    let first = head.find('\n')? + 3;
    let end = text[first..].find("\n---")?;
    let part = &text[..first + end + 1];
    part.contains("hooks:").then_some(part)
}

/// Blanks every entry but the hooks and a plain name, byte by byte, so that positions stay.
fn with_hooks_only(part: &str) -> String {
    let mut kept = true;
    let lines = part.split_inclusive('\n').map(|line| {
        if !line.starts_with("---") && !goes_on(line) {
            kept = is_needed(line);
        }
        if kept { line.to_owned() } else { blank(line) }
    });
    lines.collect()
}

/// Whether a line belongs to the entry above it.
fn goes_on(line: &str) -> bool {
    line.starts_with([' ', '\t', '\r', '\n', '-', '#', '}', ']'])
}

fn is_needed(line: &str) -> bool {
    let plain = |c: char| c.is_alphanumeric() || " -_.".contains(c);
    match line.split_once(':') {
        Some(("hooks", _)) => true,
        Some(("name", value)) => value.trim().chars().all(plain),
        _ => false,
    }
}

fn blank(line: &str) -> String {
    line.bytes().map(|byte| if byte == b'\n' { '\n' } else { ' ' }).collect()
}
