//! The steps that every dialect shares when it parses an event: read the JSON object
//! and its fields.

use gambrel_model::{CallerContext, Complaint, SourceSpan, lossy_json};
use serde_json::Value;

/// The largest event that a dialect accepts.
pub const MAX_EVENT_BYTES: usize = 64 * 1024 * 1024;

/// Parses the JSON object that a caller sent.
pub fn parse_object(native: &[u8]) -> Result<Value, Complaint> {
    let refuse = |message: String| Complaint::error(SourceSpan::default(), message);
    if native.len() > MAX_EVENT_BYTES {
        let message =
            format!("the event has {} bytes; the limit is {MAX_EVENT_BYTES}", native.len());
        return Err(refuse(message));
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
        _ => Err(refuse("the event on stdin is not a JSON object".into())),
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

/// A value as text. Numbers and booleans keep their JSON form.
pub fn value_as_text(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// Formats milliseconds since the epoch as `2026-11-15T20:25:16Z`, or with milliseconds as
/// JavaScript does. Uses civil-from-days over the proleptic Gregorian calendar.
pub fn iso_time(at: u64, milliseconds: bool) -> String {
    let (days, second) = ((at / 86_400_000) as i64, at / 1_000 % 86_400);

    let shifted = days + 719_468;
    let era = shifted.div_euclid(146_097);
    let day_of_era = shifted.rem_euclid(146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 { shifted_month + 3 } else { shifted_month - 9 };
    let year = year_of_era + era * 400 + i64::from(month <= 2);

    let fraction = if milliseconds { format!(".{:03}", at % 1_000) } else { String::new() };
    let (hour, minute, second) = (second / 3_600, second / 60 % 60, second % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}{fraction}Z")
}
