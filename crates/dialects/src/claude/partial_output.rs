//! Reads the outer fields of an answer that cannot be parsed: truncated, nested too deep, or with a
//! number out of range. Only a refusal in these fields counts.

use serde_json::{Map, Value};

use super::output::JsonObject;

/// Nested objects whose fields are read: the answer, `hookSpecificOutput`, and its `decision`.
const MAX_FIELD_DEPTH: usize = 3;

/// The fields of the outer objects that are complete in a text.
pub fn outer_fields(text: &str) -> JsonObject {
    let mut reader = PartialReader { rest: text.trim_start(), open: Vec::new(), skipped: 0 };
    match reader.read_object() {
        Some(fields) => fields,
        None => reader.close_all(),
    }
}

struct PartialReader<'t> {
    rest: &'t str,
    /// The open objects with their keys, outermost first.
    open: Vec<(String, JsonObject)>,
    /// The number of open lists and deeper objects inside the innermost one.
    skipped: usize,
}

impl PartialReader<'_> {
    /// Reads until the outermost object closes; `None` if the text ends before.
    fn read_object(&mut self) -> Option<JsonObject> {
        let mut key: Option<String> = None;
        let mut after_colon = false;
        loop {
            let c = self.rest.chars().next()?;
            match c {
                '"' => {
                    let text = self.read_string()?;
                    match (after_colon, key.take()) {
                        (true, Some(key)) => self.insert_field(key, Value::String(text)),
                        _ => key = Some(text),
                    }
                    after_colon = false;
                    continue;
                }
                '{' if self.skipped == 0 && self.open.len() < MAX_FIELD_DEPTH => {
                    self.open.push((key.take().unwrap_or_default(), Map::new()));
                    after_colon = false;
                }
                '{' | '[' => self.skipped += 1,
                '}' if self.skipped == 0 => {
                    let (name, fields) = self.open.pop()?;
                    match self.open.last_mut() {
                        Some((_, outer)) => drop(outer.insert(name, Value::Object(fields))),
                        None => return Some(fields),
                    }
                }
                '}' | ']' => {
                    self.skipped = self.skipped.saturating_sub(1);
                    key = None;
                }
                ':' => after_colon = true,
                ',' => (key, after_colon) = (None, false),
                't' | 'f' if after_colon && self.skipped == 0 => {
                    let value = self.rest.starts_with("true");
                    if let Some(key) = key.take() {
                        self.insert_field(key, Value::Bool(value));
                    }
                }
                _ => {}
            }
            self.rest = &self.rest[c.len_utf8()..];
        }
    }

    fn insert_field(&mut self, key: String, value: Value) {
        if self.skipped == 0
            && let Some((_, fields)) = self.open.last_mut()
        {
            fields.insert(key, value);
        }
    }

    /// Reads a string and decodes its escapes; `None` if it does not end.
    fn read_string(&mut self) -> Option<String> {
        let mut escaped = false;
        let end = self.rest.char_indices().skip(1).find(|(_, c)| {
            let ends = *c == '"' && !escaped;
            escaped = *c == '\\' && !escaped;
            ends
        });
        let (end, _) = end?;
        let (quoted, rest) = self.rest.split_at(end + 1);
        self.rest = rest;
        Some(serde_json::from_str(quoted).unwrap_or_default())
    }

    fn close_all(mut self) -> JsonObject {
        while self.open.len() > 1 {
            if let (Some((name, fields)), Some((_, outer))) =
                (self.open.pop(), self.open.last_mut())
            {
                outer.insert(name, Value::Object(fields));
            }
        }
        self.open.pop().map(|(_, fields)| fields).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn finds_complete_fields() {
        for (text, fields) in [
            (
                r#"{"decision":"block","reason":"no","x":["#,
                json!({"decision": "block", "reason": "no"}),
            ),
            (
                r#"{"a":[1,{"decision":"block"}],"hookSpecificOutput":{"permissionDecision":"deny","big":"xx"#,
                json!({"hookSpecificOutput": {"permissionDecision": "deny"}}),
            ),
            (
                r#"{"continue":false,"stopReason":"a\"b","deep":{"a":{"b":{"c":{"#,
                json!({"continue": false, "stopReason": "a\"b", "deep": {"a": {}}}),
            ),
            (r#"{"reason":"block","decision":"blo"#, json!({"reason": "block"})),
            ("", json!({})),
            ("[[[", json!({})),
        ] {
            assert_eq!(Value::Object(outer_fields(text)), fields, "{text}");
        }
    }
}
