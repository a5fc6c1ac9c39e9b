//! The steps that every dialect shares when it parses an event: read the JSON object
//! and its fields.

use gambrel_model::{CallerContext, Complaint, SourceSpan, lossy_json};
use serde_json::Value;

/// The largest event that a dialect accepts.
pub const MAX_EVENT_BYTES: usize = 64 * 1024 * 1024;

/// Parses the JSON object that a caller sent.
pub fn parse_object(native: &[u8]) -> Result<Value, Complaint> {
    if native.len() > MAX_EVENT_BYTES {
        let message =
            format!("the event has {} bytes; the limit is {MAX_EVENT_BYTES}", native.len());
        return Err(event_error(message));
    }

    // Invalid UTF-8 is replaced instead of refused, so that gate hooks still run.
    let text = match std::str::from_utf8(native) {
        Ok(text) => std::borrow::Cow::Borrowed(text),
        Err(_) => String::from_utf8_lossy(native),
    };
    let text = text.strip_prefix('\u{feff}').unwrap_or(&text);

    let value: Value = lossy_json::from_text(text).map_err(|error| {
        let at = SourceSpan { line: error.line(), column: error.column(), ..SourceSpan::default() };
        Complaint::error(at, format!("the event on stdin is not JSON: {error}"))
    })?;
    match value {
        Value::Object(_) => Ok(value),
        _ => Err(event_error("the event on stdin is not a JSON object")),
    }
}

/// A text field. A value of any other type counts as absent.
pub fn text_field(value: &Value, key: &str) -> Option<String> {
    value.get(key)?.as_str().map(str::to_owned)
}

/// The event's name: the payload's own field, else the name that the caller gave separately.
pub fn event_name(native: &Value, key: &str, context: &CallerContext) -> Option<String> {
    let written = text_field(native, key).filter(|name| !name.is_empty());
    written.or_else(|| context.event_name.clone())
}

/// The texts of a list.
pub fn string_list(config: &Value, key: &str) -> Vec<String> {
    let items = config.get(key).and_then(Value::as_array).into_iter().flatten();
    items.filter_map(Value::as_str).map(str::to_owned).collect()
}

/// A mistake in an event that a caller sends.
pub fn event_error(message: impl Into<String>) -> Complaint {
    Complaint::error(SourceSpan::default(), message)
}
