//! What a hook's stdout is: JSON, text, or JSON gone wrong. Meaning is read elsewhere.

use std::path::Path;

use gambrel_model::Parting;
use serde_json::Value;

use super::output::Object;
use crate::document::{Document, Language};

const ASYNC: &str = "async";

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
}

/// The first line with which a hook goes on without being waited for.
pub fn parting() -> Parting {
    Parting { flag: ASYNC.into(), millis: "asyncTimeout".into() }
}

/// What a hook said after it asked not to be waited for; `None` if it did not ask.
pub fn said_later(stdout: &str) -> Option<&str> {
    // The same object over several lines comes too late to be left at, and means no less.
    let spread = || {
        let fields = serde_json::from_str::<Object>(stdout.trim()).ok()?;
        (fields.get(ASYNC) == Some(&Value::Bool(true))).then_some("")
    };
    parting().after(stdout).or_else(spread)
}

/// Tells them apart.
pub fn printed(stdout: &str) -> Printed {
    let text = stdout.trim();
    if !text.starts_with('{') {
        return Printed::Plain(text.to_owned());
    }
    match serde_json::from_str::<Object>(text) {
        Ok(fields) => Printed::Fields { fields, twice: has_twice(text) },
        Err(error) if text.ends_with('}') => {
            Printed::Bad(format!("looks like a JSON object but is not valid JSON: {error}"))
        }
        Err(_) => Printed::Plain(text.to_owned()),
    }
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
