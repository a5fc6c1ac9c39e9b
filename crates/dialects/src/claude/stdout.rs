//! Classifies the stdout of a hook: JSON, text, or broken JSON. `output` interprets it.

use std::path::Path;

use gambrel_document::{Document, DocumentLanguage};
use gambrel_model::{AsyncMarker, AsyncRequest, lossy_json};
use serde::de::IgnoredAny;

use super::output::JsonObject;

/// Why an object larger than the capture limit cannot be read.
pub const TOO_LARGE: &str = "the output is larger than 16 MiB";

/// Why a deeply nested object cannot be read.
pub const TOO_DEEP: &str = "the output is nested deeper than 1,000 levels";

/// Why an object with a number such as `1e999` cannot be read.
pub const NUMBER_OUT_OF_RANGE: &str = "the output has a number that is out of range";

/// The kind of a hook's stdout.
#[derive(Debug, PartialEq)]
pub enum StdoutKind {
    /// Text, which may be empty.
    Plain(String),
    /// One JSON object.
    Fields {
        /// The fields. The last of duplicate keys counts.
        fields: JsonObject,
        /// Whether a key is duplicated.
        has_duplicates: bool,
    },
    /// Invalid JSON, and what is wrong with it.
    Bad(String),
    /// An object of which only a part is readable, and why.
    Part(&'static str),
}

/// The first line with which a hook requests to run detached.
pub fn async_marker() -> AsyncMarker {
    AsyncMarker { flag: "async".into(), millis: "asyncTimeout".into() }
}

/// The output after an async request; `None` if the hook made no request.
pub fn output_after_async(stdout: &str) -> Option<&str> {
    // An object over several lines is recognised only at the end, but still counts.
    let spread = || {
        // An error of the parser costs more than all other steps of a short output.
        let text = Some(trim_javascript(stdout)).filter(|text| text.starts_with('{'))?;
        let fields = lossy_json::from_text::<JsonObject>(text).ok()?;
        matches!(async_marker().read_fields(&fields), AsyncRequest::Yes(_)).then_some("")
    };
    async_marker().text_after_marker(stdout).or_else(spread)
}

/// Trims what JavaScript counts as white space, including a byte order mark.
pub fn trim_javascript(text: &str) -> &str {
    text.trim_matches(|c: char| c == '\u{feff}' || (c.is_whitespace() && c != '\u{85}'))
}

/// Classifies a stdout. `whole` is false if the output is larger than the capture limit.
pub fn classify_stdout(stdout: &str, whole: bool) -> StdoutKind {
    let text = trim_javascript(stdout);
    if !text.starts_with('{') {
        return StdoutKind::Plain(text.to_owned());
    }
    if !whole {
        return StdoutKind::Part(TOO_LARGE);
    }
    if lossy_json::is_too_deep(text) {
        return StdoutKind::Part(TOO_DEEP);
    }
    match lossy_json::from_text::<JsonObject>(text) {
        Ok(fields) => StdoutKind::Fields { fields, has_duplicates: has_duplicate_keys(text) },
        Err(_) if is_json(text) => StdoutKind::Part(NUMBER_OUT_OF_RANGE),
        Err(error) if text.ends_with('}') => {
            StdoutKind::Bad(format!("looks like a JSON object but is not valid JSON: {error}"))
        }
        Err(_) => StdoutKind::Plain(text.to_owned()),
    }
}

/// Whether the syntax of a text is valid JSON. Numbers may be out of range.
fn is_json(text: &str) -> bool {
    serde_json::from_str::<IgnoredAny>(text).is_ok()
}

fn has_duplicate_keys(text: &str) -> bool {
    Document::parse(Path::new(""), text, DocumentLanguage::Jsonc)
        .is_ok_and(|document| !document.complaints.is_empty())
}

/// Whether a text probably contains a decision: it begins like an object, or contains one.
pub fn may_contain_decision(text: &str) -> bool {
    const KEYS: [&str; 4] =
        ["\"hookSpecificOutput\"", "\"permissionDecision\"", "\"decision\"", "\"continue\""];
    text.starts_with('{') || (text.contains('{') && KEYS.iter().any(|key| text.contains(key)))
}
