//! The texts inside a JSON value.

use serde_json::Value;

/// Edits every text in a value. Keys, numbers and flags stay as they are.
pub fn edit_texts(value: &mut Value, edit: &dyn Fn(&mut String)) {
    match value {
        Value::String(text) => edit(text),
        Value::Array(items) => items.iter_mut().for_each(|item| edit_texts(item, edit)),
        Value::Object(fields) => fields.values_mut().for_each(|field| edit_texts(field, edit)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// A copy of a value with every text replaced.
pub fn map_texts(value: &Value, replace: &dyn Fn(&str) -> String) -> Value {
    let mut copy = value.clone();
    edit_texts(&mut copy, &|text| *text = replace(text));
    copy
}
