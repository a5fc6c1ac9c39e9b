//! Extracts the frontmatter of a skill or an agent: the lines between its dashes. Claude Code
//! accepts values there that are not YAML; such a value does not disable the hooks.

use std::borrow::Cow;
use std::path::Path;

use gambrel_document::{Document, DocumentLanguage};
use gambrel_model::{Complaint, complaint::Severity};

/// The frontmatter of a file, if it can have hooks. If it is not YAML, the mistake is reported, and
/// only `hooks` and a plain `name` are left.
pub fn extract_frontmatter<'t>(
    path: &Path,
    text: &'t str,
    complaints: &mut Vec<Complaint>,
) -> Option<Cow<'t, str>> {
    let part = between_dashes(text.strip_prefix('\u{feff}').unwrap_or(text))?;
    let wrong = |part: &str| Document::parse(path, part, DocumentLanguage::Yaml).err();
    let Some(complaint) = wrong(part) else { return Some(Cow::Borrowed(part)) };
    let hooks = with_hooks_only(part);
    if wrong(&hooks).is_some() {
        return Some(Cow::Borrowed(part));
    }
    let help = "its hooks are read all the same; put the value in quotes";
    complaints.push(Complaint { severity: Severity::Warning, ..complaint.with_help(help) });
    Some(Cow::Owned(hooks))
}

/// The text up to its second line of dashes. Positions do not change.
fn between_dashes(text: &str) -> Option<&str> {
    let head = text.strip_prefix("---")?;
    let first = head.find('\n')? + 3;
    let end = text[first..].find("\n---")?;
    let part = &text[..first + end + 1];
    part.contains("hooks:").then_some(part)
}

/// Blanks every entry but the hooks and a plain name. Positions do not change.
fn with_hooks_only(part: &str) -> String {
    let mut kept = true;
    let lines = part.split_inclusive('\n').map(|line| {
        if !line.starts_with("---") && !continues_entry(line) {
            kept = is_needed(line);
        }
        if kept { line.to_owned() } else { blank_line(line) }
    });
    lines.collect()
}

/// Whether a line belongs to the entry above it.
fn continues_entry(line: &str) -> bool {
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

fn blank_line(line: &str) -> String {
    line.bytes().map(|byte| if byte == b'\n' { '\n' } else { ' ' }).collect()
}
