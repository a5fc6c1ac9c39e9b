//! What the ledger writes, seen through the redactor: nothing is cloned, nothing slips past.

use std::borrow::Cow;

use gambrel_model::ledger::{JournalRecord, SessionState};
use serde::ser::{SerializeMap, SerializeSeq, SerializeStruct};
use serde::{Serialize, Serializer};
use serde_json::Value;

use super::Redactor;

/// A record as it may be written.
pub(crate) struct VeiledRecord<'a>(pub(crate) &'a JournalRecord, pub(crate) &'a Redactor);

impl Serialize for VeiledRecord<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self(record, redactor) = self;
        let mut fields = serializer.serialize_struct("Record", 6)?;
        fields.serialize_field("id", &redactor.redact_text(&record.id))?;
        fields.serialize_field("at", &record.at)?;
        fields.serialize_field("step", &record.step)?;
        fields.serialize_field("session", &redactor.redact_text(&record.session))?;
        fields.serialize_field("pid", &record.pid)?;
        fields.serialize_field("body", &Veiled(&record.body, redactor))?;
        fields.end()
    }
}

struct Veiled<'a>(&'a Value, &'a Redactor);

impl Serialize for Veiled<'_> {
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
                    list.serialize_element(&Veiled(item, redactor))?;
                }
                list.end()
            }
            Value::Object(fields) => {
                let mut map = serializer.serialize_map(Some(fields.len()))?;
                for (key, field) in fields {
                    map.serialize_entry(&redactor.redact_text(key), &Veiled(field, redactor))?;
                }
                map.end()
            }
            Value::Null | Value::Bool(_) => value.serialize(serializer),
        }
    }
}

/// What is kept of a session, with the owed words redacted, and still readable as what it was.
pub(crate) fn veil_state(
    state: &SessionState,
    redactor: &Redactor,
) -> Result<Value, serde_json::Error> {
    let mut value = serde_json::to_value(state)?;
    let before = value.clone();
    let debts = value.get_mut("owed").and_then(Value::as_array_mut);
    for debt in debts.into_iter().flatten() {
        for part in ["from", "verdict"] {
            if let Some(part) = debt.get_mut(part) {
                redactor.redact_value(part);
            }
        }
    }
    if value != before && serde_json::from_value::<SessionState>(value.clone()).is_err() {
        return keep_the_grammar(&before, redactor);
    }
    Ok(value)
}

/// Somebody's password is a word of our own grammar (`silent`): that word stays, the rest goes.
fn keep_the_grammar(state: &Value, redactor: &Redactor) -> Result<Value, serde_json::Error> {
    let mut kept = state.clone();
    let mut leaves = Vec::new();
    if let Some(owed) = state.get("owed") {
        string_leaves(owed, "/owed", &mut leaves);
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
