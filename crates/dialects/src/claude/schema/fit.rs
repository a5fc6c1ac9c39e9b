//! Whether a document fits a schema, by the few keywords that the schemas here are made of. Knows
//! no event; what is wrong it says in words.

use serde_json::{Map, Value};

/// What is wrong first with an object; `None` when it fits.
pub fn misfit(schema: &Value, fields: &Map<String, Value>) -> Option<String> {
    missing(schema, fields).or_else(|| in_fields(schema, fields))
}

fn in_value(schema: &Value, value: &Value, name: &str) -> Option<String> {
    let is_type = |kind: &&str| is(kind, value);
    let types = types(schema);
    if !types.is_empty() && !types.iter().any(is_type) {
        let words: Vec<&str> = types.into_iter().map(word).collect();
        return Some(format!("`{name}` is not {}", words.join(" or ")));
    }
    if let Some(only) = schema.get("const").filter(|only| *only != value) {
        return Some(format!("`{name}` is `{}`, not `{}`", shown(value), shown(only)));
    }
    let words = schema.get("enum").and_then(Value::as_array);
    if let Some(words) = words.filter(|words| !words.contains(value)) {
        let words: Vec<String> = words.iter().map(shown).collect();
        return Some(format!("`{name}` is one of {}, not `{}`", words.join(", "), shown(value)));
    }
    match value {
        Value::Object(fields) => misfit(schema, fields),
        Value::Array(items) => in_list(schema, items, name),
        _ => None,
    }
}

fn missing(schema: &Value, fields: &Map<String, Value>) -> Option<String> {
    let mut required = schema.get("required")?.as_array()?.iter().filter_map(Value::as_str);
    required.find(|name| !fields.contains_key(*name)).map(|name| format!("`{name}` is missing"))
}

/// Fields that the schema does not name pass.
fn in_fields(schema: &Value, fields: &Map<String, Value>) -> Option<String> {
    let known = schema.get("properties")?.as_object()?;
    fields.iter().find_map(|(name, field)| in_value(known.get(name)?, field, name))
}

fn in_list(schema: &Value, items: &[Value], name: &str) -> Option<String> {
    let shape = schema.get("items")?;
    let mut numbered = items.iter().enumerate();
    numbered.find_map(|(at, item)| in_value(shape, item, &format!("{name}[{at}]")))
}

fn types(schema: &Value) -> Vec<&str> {
    match schema.get("type") {
        Some(Value::String(one)) => vec![one],
        Some(Value::Array(some)) => some.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    }
}

fn is(kind: &str, value: &Value) -> bool {
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

fn word(kind: &str) -> &str {
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

/// A value inside a sentence: a text without its quotes, and not all of a long one.
fn shown(value: &Value) -> String {
    const MOST: usize = 60;
    let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    match text.char_indices().nth(MOST) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}
