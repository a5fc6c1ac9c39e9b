//! What a hook's stdout is: JSON, text, or JSON gone wrong. Meaning is read elsewhere.

use std::path::Path;

use gambrel_model::{AsyncMarker, AsyncRequest, lossy_json};
use serde::de::IgnoredAny;

use super::output::Object;
use crate::document::{Document, Language};

/// What is said of an answer that is not kept whole.
pub const LARGE: &str = "the output is larger than 16 MiB";

/// What is said of an answer that is nested too deep to be read.
pub const DEEP: &str = "the output is nested deeper than 1,000 levels";

/// What is said of an answer with a number that no reader of JSON can hold, such as `1e999`.
pub const NUMBER: &str = "the output has a number that cannot be held";

/// What was printed.
#[derive(Debug, PartialEq)]
pub enum Printed {
    /// Text, perhaps none.
    Plain(String),
    /// One JSON object; `twice` when one of its keys is written more than once.
    Fields {
        /// Its fields; of a key that stands twice the last.
        fields: Object,
        /// Whether readers could differ about it.
        twice: bool,
    },
    /// Meant as JSON, and not readable as such.
    Bad(String),
    /// An object of which only a part was kept or can be read, and why.
    Part(&'static str),
}

/// The first line with which a hook goes on without being waited for.
pub fn parting() -> AsyncMarker {
    AsyncMarker { flag: "async".into(), millis: "asyncTimeout".into() }
}

/// What a hook said after it asked not to be waited for; `None` if it did not ask.
pub fn said_later(stdout: &str) -> Option<&str> {
    // The same object over several lines comes too late to be left at, and means no less.
    let spread = || {
        let fields = lossy_json::from_text::<Object>(trimmed(stdout)).ok()?;
        matches!(parting().read_fields(&fields), AsyncRequest::Yes(_)).then_some("")
    };
    parting().text_after_marker(stdout).or_else(spread)
}

/// Text without what JavaScript takes for space around it: a byte order mark is one.
pub fn trimmed(text: &str) -> &str {
    text.trim_matches(|c: char| c == '\u{feff}' || (c.is_whitespace() && c != '\u{85}'))
}

/// Tells them apart. Of what was too large to keep only both ends are there, and no object can be
/// read.
pub fn printed(stdout: &str, whole: bool) -> Printed {
    let text = trimmed(stdout);
    if !text.starts_with('{') {
        return Printed::Plain(text.to_owned());
    }
    if !whole {
        return Printed::Part(LARGE);
    }
    if lossy_json::is_too_deep(text) {
        return Printed::Part(DEEP);
    }
    match lossy_json::from_text::<Object>(text) {
        Ok(fields) => Printed::Fields { fields, twice: has_twice(text) },
        Err(_) if is_json(text) => Printed::Part(NUMBER),
        Err(error) if text.ends_with('}') => {
            Printed::Bad(format!("looks like a JSON object but is not valid JSON: {error}"))
        }
        Err(_) => Printed::Plain(text.to_owned()),
    }
}

/// Whether a text is JSON by its syntax, whatever its numbers are.
fn is_json(text: &str) -> bool {
    serde_json::from_str::<IgnoredAny>(text).is_ok()
}

fn has_twice(text: &str) -> bool {
    Document::parse(Path::new(""), text, Language::Jsonc)
        .is_ok_and(|document| !document.complaints.is_empty())
}

/// Text in which a decision was probably meant: it begins like an object, or one stands in it
/// among other words.
pub fn hides_a_decision(text: &str) -> bool {
    const KEYS: [&str; 4] =
        ["\"hookSpecificOutput\"", "\"permissionDecision\"", "\"decision\"", "\"continue\""];
    text.starts_with('{') || (text.contains('{') && KEYS.iter().any(|key| text.contains(key)))
}
