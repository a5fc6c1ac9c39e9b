//! A user's configuration mistake with file, line, column and help. Complaints are collected; the
//! other hooks still load.

use std::fmt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

/// A configuration mistake.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Complaint {
    /// Its severity.
    pub severity: Severity,
    /// The file, and where in it.
    pub spot: SourceSpan,
    /// What is wrong.
    pub message: String,
    /// What to do.
    pub help: Option<String>,
    /// Whether `fire` reports it although it is not an error.
    pub reported_by_fire: bool,
    /// Whether tool calls are refused as long as it exists, because gate hooks may be missing.
    pub closes_tool_gates: bool,
}

/// The severity of a complaint.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// A remark that only `check` shows; it does not change the exit code.
    Note,
    /// It works, but may not do what its author expects.
    Warning,
    /// Something does not run.
    Error,
}

/// A place in a text: line and column from 1 (columns in characters), and byte offsets.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SourceSpan {
    /// The file; empty for text that came from elsewhere.
    pub path: PathBuf,
    /// From 1; 0 for the whole file.
    pub line: usize,
    /// From 1, in characters.
    pub column: usize,
    /// Where it begins, in bytes.
    pub start: usize,
    /// Where it ends, in bytes.
    pub end: usize,
}

impl SourceSpan {
    /// A whole file.
    pub fn of_file(path: &Path) -> Self {
        Self { path: path.to_owned(), ..Self::default() }
    }

    /// A range of bytes of a text.
    pub fn of_range(path: &Path, text: &str, start: usize, end: usize) -> Self {
        let start = text.floor_char_boundary(start);
        let before = &text[..start];
        let line_start = before.rfind('\n').map_or(0, |at| at + 1);
        Self {
            path: path.to_owned(),
            line: before.bytes().filter(|b| *b == b'\n').count() + 1,
            column: text[line_start..start].chars().count() + 1,
            start,
            end: text.floor_char_boundary(end.max(start)),
        }
    }
}

/// A text from a file that knows the position of each of its bytes, so that an error inside it has
/// its own column.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct SpannedText {
    /// The text without quotes and escapes.
    pub text: String,
    /// The span of the whole text.
    pub spot: SourceSpan,
    /// The offset of the first byte of `text` from the start of the span, if all bytes follow one
    /// another as in the source.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub skip: Option<u32>,
    /// The offset of every byte of `text` from the start of the span, if they do not; empty when
    /// unknown.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub steps: Vec<u32>,
}

impl SpannedText {
    /// A text without escapes that begins `skip` bytes (its quote) after the start of the span.
    pub fn from_source(text: &str, spot: SourceSpan, skip: u32) -> Self {
        Self { text: text.to_owned(), spot, skip: Some(skip), steps: Vec::new() }
    }

    /// The span of one byte. Exact for text on one line; else the span of the whole text.
    pub fn span_at(&self, offset: usize) -> SourceSpan {
        let Some(step) = self.source_offset(offset) else { return self.spot.clone() };
        let start = (self.spot.start + step).min(self.spot.end);
        SourceSpan {
            start,
            end: (start + 1).min(self.spot.end),
            column: self.spot.column + step,
            ..self.spot.clone()
        }
    }
}

impl SpannedText {
    /// The offset of a byte of the text from the start of the span. Past the end, the offset after
    /// the last byte. `None` when it is unknown.
    fn source_offset(&self, offset: usize) -> Option<usize> {
        if let Some(skip) = self.skip.filter(|_| !self.text.is_empty()) {
            return Some(skip as usize + offset.min(self.text.len()));
        }
        let past = usize::from(offset >= self.steps.len());
        let step = self.steps.get(offset).or(self.steps.last())?;
        Some(*step as usize + past)
    }
}

impl Complaint {
    /// An error: something does not run.
    pub fn error(spot: SourceSpan, message: impl Into<String>) -> Self {
        Self {
            severity: Severity::Error,
            spot,
            message: message.into(),
            help: None,
            reported_by_fire: false,
            closes_tool_gates: false,
        }
    }

    /// A warning: something may not do what its author expects.
    pub fn warning(spot: SourceSpan, message: impl Into<String>) -> Self {
        Self { severity: Severity::Warning, ..Self::error(spot, message) }
    }

    /// A note.
    pub fn note(spot: SourceSpan, message: impl Into<String>) -> Self {
        Self { severity: Severity::Note, ..Self::error(spot, message) }
    }

    /// The same with a remedy.
    #[must_use]
    pub fn with_help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }
}

/// `path:line:column: message`, and the remedy.
impl fmt::Display for Complaint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let SourceSpan { path, line, column, .. } = &self.spot;
        if !path.as_os_str().is_empty() {
            write!(f, "{}:", path.display())?;
        }
        if *line > 0 {
            write!(f, "{line}:{column}:")?;
        }
        let space = if path.as_os_str().is_empty() && *line == 0 { "" } else { " " };
        write!(f, "{space}{}", self.message)?;
        self.help.as_ref().map_or(Ok(()), |help| write!(f, " (help: {help})"))
    }
}

impl std::error::Error for Complaint {}

/// Maximum length of a word that is compared.
const MAX_COMPARED_BYTES: usize = 100;

/// The nearest of some words, for "did you mean".
pub fn nearest_word<'a>(word: &str, words: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    // Comparing a long name takes time, and nobody mistypes one.
    if word.len() > MAX_COMPARED_BYTES {
        return None;
    }
    let lower = word.to_lowercase();
    let limit = (word.chars().count() / 3).clamp(1, 4);
    words
        .into_iter()
        .filter(|candidate| candidate.len().abs_diff(word.len()) <= limit)
        .map(|candidate| (strsim::levenshtein(&lower, &candidate.to_lowercase()), candidate))
        .filter(|(far, _)| *far <= limit)
        .min_by_key(|(far, _)| *far)
        .map(|(_, candidate)| candidate)
}

/// The least that two names have in common at their beginning to be near.
const MIN_COMMON_CHARS: usize = 6;

/// The nearest of some long names, such as those of events: by spelling, or by a common beginning of
/// most of the name.
pub fn nearest_name<'a>(name: &str, names: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let names: Vec<&str> = names.into_iter().collect();
    let common = |other: &str| {
        let pairs = name.chars().zip(other.chars());
        pairs.take_while(|(a, b)| a.eq_ignore_ascii_case(b)).count()
    };
    let is_near = |other: &&&str| {
        let count = common(other);
        count >= MIN_COMMON_CHARS && count * 5 >= other.chars().count() * 3
    };
    let begins_alike = || names.iter().filter(is_near).max_by_key(|other| common(other)).copied();
    nearest_word(name, names.iter().copied()).or_else(begins_alike)
}

#[cfg(test)]
mod tests {
    use super::nearest_name;

    #[test]
    fn finds_names_that_begin_alike() {
        let events = ["PreToolUse", "PostToolUse", "PreCompact", "Stop", "SessionStart"];
        assert_eq!(nearest_name("PreToolCall", events), Some("PreToolUse"));
        assert_eq!(nearest_name("PostToolCalled", events), Some("PostToolUse"));
        assert_eq!(nearest_name("PreToolUze", events), Some("PreToolUse"));
        assert_eq!(nearest_name("BeforeTool", events), None);
        assert_eq!(nearest_name("SessionIdle", events), None);
    }
}
