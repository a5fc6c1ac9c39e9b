//! Validates a document against a schema. Supports only the keywords of this folder's schemas.

use gambrel_model::text::truncate_chars;
use serde_json::{Map, Value};

/// The first mistake in an object; `None` if it fits.
pub fn find_mismatch(schema: &Value, fields: &Map<String, Value>) -> Option<String> {
    missing_field(schema, fields).or_else(|| check_fields(schema, fields))
}

fn check_value(schema: &Value, value: &Value, name: &str) -> Option<String> {
    let is_type = |kind: &&str| has_type(kind, value);
    let types = schema_types(schema);
    if !types.is_empty() && !types.iter().any(is_type) {
        let words: Vec<&str> = types.into_iter().map(type_name).collect();
        return Some(format!("`{name}` is not {}", words.join(" or ")));
    }
    if let Some(only) = schema.get("const").filter(|only| *only != value) {
        return Some(format!(
            "`{name}` is `{}`, not `{}`",
            shorten_value(value),
            shorten_value(only)
        ));
    }
    let words = schema.get("enum").and_then(Value::as_array);
    if let Some(words) = words.filter(|words| !words.contains(value)) {
        let words: Vec<String> = words.iter().map(shorten_value).collect();
        return Some(format!(
            "`{name}` is one of {}, not `{}`",
            words.join(", "),
            shorten_value(value)
        ));
    }
    match value {
        Value::Object(fields) => find_mismatch(schema, fields),
        Value::Array(items) => check_list(schema, items, name),
        _ => None,
    }
}

fn missing_field(schema: &Value, fields: &Map<String, Value>) -> Option<String> {
    let mut required = schema.get("required")?.as_array()?.iter().filter_map(Value::as_str);
    required.find(|name| !fields.contains_key(*name)).map(|name| format!("`{name}` is missing"))
}

/// The first mistake in the fields. Fields outside the schema are allowed.
fn check_fields(schema: &Value, fields: &Map<String, Value>) -> Option<String> {
    let known = schema.get("properties")?.as_object()?;
    fields.iter().find_map(|(name, field)| check_value(known.get(name)?, field, name))
}

fn check_list(schema: &Value, items: &[Value], name: &str) -> Option<String> {
    let shape = schema.get("items")?;
    let mut numbered = items.iter().enumerate();
    numbered.find_map(|(at, item)| check_value(shape, item, &format!("{name}[{at}]")))
}

fn schema_types(schema: &Value) -> Vec<&str> {
    match schema.get("type") {
        Some(Value::String(one)) => vec![one],
        Some(Value::Array(some)) => some.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    }
}

fn has_type(kind: &str, value: &Value) -> bool {
    match kind {
        "null" => value.is_null(),
        "boolean" => value.is_boolean(),
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        "string" => value.is_string(),
        "array" => value.is_array(),
        _ => value.is_object(),
    }
}

fn type_name(kind: &str) -> &str {
    match kind {
        "null" => "null",
        "boolean" => "true or false",
        "integer" => "a whole number",
        "number" => "a number",
        "string" => "a text",
        "array" => "a list",
        _ => "an object",
    }
}

/// A value for a message: a text without quotes, and shortened if it is long.
fn shorten_value(value: &Value) -> String {
    const MAX_SHOWN_CHARS: usize = 60;
    let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    truncate_chars(&text, MAX_SHOWN_CHARS, "…")
}
