//! Fills the strings of a JSON value. The shape and the keys are the author's and never change.

use serde_json::Value;

use super::{Style, expand_plain};

/// Fills every string value; structure, keys, numbers and booleans stay as they are.
pub fn expand_json(value: &Value, style: Style, lookup: &dyn Fn(&str) -> Option<String>) -> Value {
    match value {
        Value::String(text) => Value::String(expand_plain(text, style, lookup)),
        Value::Array(list) => list.iter().map(|item| expand_json(item, style, lookup)).collect(),
        Value::Object(map) => {
            map.iter().map(|(key, item)| (key.clone(), expand_json(item, style, lookup))).collect()
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
    }
}
