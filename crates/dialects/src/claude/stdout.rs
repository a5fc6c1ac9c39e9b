//! What a hook's stdout is: JSON, text, or JSON gone wrong. Meaning is read elsewhere.

use std::path::Path;

use serde_json::Value;

use super::output::Object;
use crate::document::{Document, Language};

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
    /// The hook goes on without being waited for.
    Async,
    /// Meant as JSON, and not readable as such.
    Bad(String),
}

/// Tells them apart.
pub fn printed(stdout: &str) -> Printed {
    let text = stdout.trim();
    if !text.starts_with('{') {
        return Printed::Plain(text.to_owned());
    }
    if text.lines().next().is_some_and(says_async) {
        return Printed::Async;
    }
    match serde_json::from_str::<Object>(text) {
        Ok(fields) if is_async(&fields) => Printed::Async,
        Ok(fields) => Printed::Fields { fields, twice: has_twice(text) },
        Err(error) if text.ends_with('}') => {
            Printed::Bad(format!("looks like a JSON object but is not valid JSON: {error}"))
        }
        Err(_) => Printed::Plain(text.to_owned()),
    }
}

fn says_async(line: &str) -> bool {
    serde_json::from_str::<Object>(line).is_ok_and(|fields| is_async(&fields))
}

fn is_async(fields: &Object) -> bool {
    fields.get("async") == Some(&Value::Bool(true))
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
