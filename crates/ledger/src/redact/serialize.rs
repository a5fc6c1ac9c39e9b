//! Serializes the ledger's values with secrets redacted. Records are not cloned.

use std::borrow::Cow;

use gambrel_model::ledger::{JournalRecord, ProcessOrigin, SessionState};
use serde::ser::{SerializeMap, SerializeSeq, SerializeStruct};
use serde::{Serialize, Serializer};
use serde_json::Value;

use super::Redactor;

/// A journal record that serializes without secrets.
pub(crate) struct RedactedRecord<'a>(pub(crate) &'a JournalRecord, pub(crate) &'a Redactor);

impl Serialize for RedactedRecord<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self(record, redactor) = self;
        let mut fields = serializer.serialize_struct("Record", 8)?;
        fields.serialize_field("id", &redactor.redact_text(&record.id))?;
        fields.serialize_field("at", &record.at)?;
        fields.serialize_field("step", &record.step)?;
        fields.serialize_field("session", &redactor.redact_text(&record.session))?;
        let ProcessOrigin { node, pid, start_time } = &record.origin;
        fields.serialize_field("pid", pid)?;
        if !node.is_empty() {
            fields.serialize_field("node", node)?;
        }
        if *start_time > 0 {
            fields.serialize_field("start_time", start_time)?;
        }
        fields.serialize_field("body", &RedactedValue(&record.body, redactor))?;
        fields.end()
    }
}

struct RedactedValue<'a>(&'a Value, &'a Redactor);

impl Serialize for RedactedValue<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self(value, redactor) = self;
        match value {
            Value::String(text) => serializer.serialize_str(&redactor.redact_text(text)),
            Value::Number(number) => match redactor.redact_number(&number.to_string()) {
                Some(mark) => serializer.serialize_str(&mark),
                None => number.serialize(serializer),
            },
            Value::Array(items) => {
                let mut list = serializer.serialize_seq(Some(items.len()))?;
                for item in items {
                    list.serialize_element(&RedactedValue(item, redactor))?;
                }
                list.end()
            }
            Value::Object(fields) => {
                let mut map = serializer.serialize_map(Some(fields.len()))?;
                for (key, field) in fields {
                    map.serialize_entry(
                        &redactor.redact_text(key),
                        &RedactedValue(field, redactor),
                    )?;
                }
                map.end()
            }
            Value::Null | Value::Bool(_) => value.serialize(serializer),
        }
    }
}

/// The state of a session with secrets redacted. The result still parses as a session state.
pub(crate) fn redact_state(
    state: &SessionState,
    redactor: &Redactor,
) -> Result<Value, serde_json::Error> {
    let mut value = serde_json::to_value(state)?;
    let before = value.clone();
    let entries = value.get_mut("owed").and_then(Value::as_array_mut);
    for entry in entries.into_iter().flatten() {
        for part in ["from", "verdict"] {
            if let Some(part) = entry.get_mut(part) {
                redactor.redact_value(part);
            }
        }
    }
    if value != before && serde_json::from_value::<SessionState>(value.clone()).is_err() {
        return redact_each_text(&before, redactor);
    }
    Ok(value)
}

/// Redacts text by text, and keeps a text if the state would not parse without it. Necessary if a
/// password equals a word of the format, such as `silent`.
fn redact_each_text(state: &Value, redactor: &Redactor) -> Result<Value, serde_json::Error> {
    let mut kept = state.clone();
    let mut leaves = Vec::new();
    if let Some(entries) = state.get("owed") {
        string_leaves(entries, "/owed", &mut leaves);
    }
    for place in leaves {
        let Some(Value::String(text)) = kept.pointer(&place).cloned() else { continue };
        let Cow::Owned(clean) = redactor.redact_text(&text) else { continue };
        let mut tried = kept.clone();
        if let Some(leaf) = tried.pointer_mut(&place) {
            *leaf = Value::String(clean);
        }
        if serde_json::from_value::<SessionState>(tried.clone()).is_ok() {
            kept = tried;
        }
    }
    Ok(kept)
}

fn string_leaves(value: &Value, at: &str, found: &mut Vec<String>) {
    match value {
        Value::String(_) => found.push(at.to_owned()),
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                string_leaves(item, &format!("{at}/{index}"), found);
            }
        }
        Value::Object(fields) => {
            for (key, field) in fields {
                let key = key.replace('~', "~0").replace('/', "~1");
                string_leaves(field, &format!("{at}/{key}"), found);
            }
        }
        _ => {}
    }
}
