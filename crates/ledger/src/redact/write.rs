//! Writes the ledger's values with secrets redacted. Records are not cloned.

use std::borrow::Cow;

use gambrel_model::ledger::{JournalRecord, ProcessOrigin, SessionState};
use serde::Serialize;
use serde_json::Value;

use super::{Redactor, SecretSearch};

/// More than most records have.
const LINE_BYTES: usize = 2048;

/// A journal record as JSON without secrets.
pub(crate) fn write_record(
    record: &JournalRecord,
    redactor: &Redactor,
) -> serde_json::Result<Vec<u8>> {
    let JournalRecord { id, at, step, session, origin, body } = record;
    let mut writer = RedactingWriter {
        json: Vec::with_capacity(LINE_BYTES),
        redactor,
        search: redactor.search(),
    };
    writer.write_raw("{\"id\":");
    writer.write_text(id);
    writer.write_raw(",\"at\":");
    writer.write_plain(at)?;
    writer.write_raw(",\"step\":");
    writer.write_plain(step)?;
    writer.write_raw(",\"session\":");
    writer.write_text(session);
    let ProcessOrigin { node, pid, start_time } = origin;
    writer.write_raw(",\"pid\":");
    writer.write_plain(pid)?;
    if !node.is_empty() {
        writer.write_raw(",\"node\":");
        writer.write_plain(node)?;
    }
    if *start_time > 0 {
        writer.write_raw(",\"start_time\":");
        writer.write_plain(start_time)?;
    }
    writer.write_raw(",\"body\":");
    writer.write_value(body)?;
    writer.write_raw("}");
    Ok(writer.json)
}

/// Writes JSON. One pass over a text redacts and escapes it.
struct RedactingWriter<'r> {
    json: Vec<u8>,
    redactor: &'r Redactor,
    search: &'r SecretSearch,
}

impl RedactingWriter<'_> {
    fn write_raw(&mut self, json: &str) {
        self.json.extend_from_slice(json.as_bytes());
    }

    /// Writes a value that holds no secret.
    fn write_plain(&mut self, value: &impl Serialize) -> serde_json::Result<()> {
        serde_json::to_writer(&mut self.json, value)
    }

    fn write_value(&mut self, value: &Value) -> serde_json::Result<()> {
        match value {
            Value::Null | Value::Bool(_) => self.write_plain(value)?,
            Value::Number(_) => self.write_number(value)?,
            Value::String(text) => self.write_text(text),
            Value::Array(items) => {
                let mut before = "[";
                for item in items {
                    self.write_raw(before);
                    self.write_value(item)?;
                    before = ",";
                }
                self.write_raw(if items.is_empty() { "[]" } else { "]" });
            }
            Value::Object(fields) => {
                let mut before = "{";
                for (key, field) in fields {
                    self.write_raw(before);
                    self.write_text(key);
                    self.write_raw(":");
                    self.write_value(field)?;
                    before = ",";
                }
                self.write_raw(if fields.is_empty() { "{}" } else { "}" });
            }
        }
        Ok(())
    }

    fn write_number(&mut self, number: &Value) -> serde_json::Result<()> {
        let start = self.json.len();
        self.write_plain(number)?;
        let digits = self.json.get(start..).unwrap_or_default();
        if self.redactor.contains_known(digits) {
            let digits = String::from_utf8_lossy(digits).into_owned();
            self.json.truncate(start);
            self.write_text(&digits);
        }
        Ok(())
    }

    fn write_text(&mut self, text: &str) {
        let start = self.json.len();
        if !self.write_without_secrets(text) {
            self.json.truncate(start);
            // A second search would find what is left on purpose.
            let clean = self.redactor.redact_text(text);
            self.json.push(b'"');
            clean.bytes().for_each(|byte| self.write_byte(byte));
            self.json.push(b'"');
        }
    }

    /// Writes a text as JSON. False if it has a secret; then a part of it was written.
    fn write_without_secrets(&mut self, text: &str) -> bool {
        let (search, bytes) = (self.search, text.as_bytes());
        self.json.push(b'"');
        let (mut written, mut from) = (0, 0);
        while let Some(at) = search.marks.find(bytes, from) {
            if search.marks.may_be_secret(bytes, at)
                && search.secrets_at(bytes, at).next().is_some()
            {
                return false;
            }
            if let Some(byte) = bytes.get(at).filter(|byte| search.marks.is_escaped(**byte)) {
                self.json.extend_from_slice(bytes.get(written..at).unwrap_or_default());
                self.write_byte(*byte);
                written = at + 1;
            }
            from = at + 1;
        }
        self.json.extend_from_slice(bytes.get(written..).unwrap_or_default());
        self.json.push(b'"');
        true
    }

    /// Writes a byte of a text, escaped if necessary.
    fn write_byte(&mut self, byte: u8) {
        let escape = match byte {
            b'"' => "\\\"",
            b'\\' => "\\\\",
            b'\n' => "\\n",
            b'\r' => "\\r",
            b'\t' => "\\t",
            0x08 => "\\b",
            0x0C => "\\f",
            control @ ..b' ' => return self.write_raw(&format!("\\u{control:04x}")),
            plain => return self.json.push(plain),
        };
        self.write_raw(escape);
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

#[cfg(test)]
mod tests {
    use gambrel_model::ledger::{FiringPhase, JournalRecord, ProcessOrigin};
    use proptest::prelude::*;
    use serde_json::Value;

    use super::{Redactor, write_record};

    fn texts() -> impl Strategy<Value = String> {
        prop_oneof![
            any::<String>(),
            "[a-z\"\\\\\n\t\u{1}\u{8}\u{c}\u{7f}é ]{0,12}",
            "(x|sk-|ghp_|eyJ|://|hunter2|%|h)(unter2|abcdef0123456789){0,2}",
        ]
    }

    fn values() -> impl Strategy<Value = Value> {
        let leaves = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            prop_oneof![any::<i64>(), Just(4_711_000)].prop_map(Value::from),
            any::<f64>().prop_map(Value::from),
            texts().prop_map(Value::from),
        ];
        leaves.prop_recursive(3, 20, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                // Keys stay different without their secrets.
                prop::collection::vec((texts(), inner), 0..4).prop_map(|fields| {
                    let keyed = fields.into_iter().enumerate();
                    keyed.map(|(index, (key, value))| (format!("{index} {key}"), value)).collect()
                }),
            ]
        })
    }

    proptest! {
        /// The same bytes as serde_json writes for the redacted value.
        #[test]
        fn writes_what_serde_json_would(body in values(), session in texts()) {
            let known = [("A", "hunter2"), ("B", "4711"), ("C", "\n ")];
            let known = known.map(|(name, value)| (name.to_owned(), value.to_owned()));
            let redactor = Redactor::new(std::iter::empty::<(String, String)>(), known.into_iter());
            let origin = ProcessOrigin::of_this_process();
            let step = FiringPhase::Finished;
            let record = JournalRecord { id: "1".into(), at: 2, step, session, origin, body };
            let written = write_record(&record, &redactor).unwrap();
            let mut clean = record;
            redactor.redact_value(&mut clean.body);
            clean.session = redactor.redact_text(&clean.session).into_owned();
            let expected = serde_json::to_string(&clean).unwrap();
            prop_assert_eq!(String::from_utf8(written).unwrap(), expected);
        }
    }
}
