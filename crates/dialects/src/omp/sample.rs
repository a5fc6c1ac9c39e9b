//! Sample events: every required field with a value of its type.

use gambrel_model::{Event, EventSpec};
use serde_json::{Value, json};

use super::OMP;
use super::call::build_object;
use super::fields::{PAYLOADS, SIGNAL_FIELD, find_payload};

/// A sample of an event object.
pub fn sample_event(event: &Event, spec: &EventSpec) -> Value {
    let mut object = build_object(event, spec);
    let fields = find_payload(PAYLOADS, spec.name);
    for (name, kind) in fields.iter().filter(|field| **field != SIGNAL_FIELD) {
        let is_required = !name.ends_with('?') && !name.starts_with('[');
        if is_required && object.get(name).is_none() {
            object[*name] = match OMP.properties.session_keys.contains(name) {
                true => json!(event.session),
                false => sample_value(name, kind),
            };
        }
    }
    let cwd = event.cwd.display().to_string();
    object["ctx"] = json!({"hasUI": false, "cwd": cwd, "sessionId": event.session});
    object
}

/// A value of a TypeScript type.
fn sample_value(name: &str, kind: &str) -> Value {
    // Of a union of words, the first.
    let word = kind.strip_prefix('"').and_then(|rest| rest.split('"').next());
    match kind {
        _ if word.is_some() => json!(word),
        _ if kind.ends_with("[]") || kind.starts_with("Array<") => json!([]),
        _ if kind.contains("null") || kind.contains("undefined") => Value::Null,
        "string" => json!(format!("sample {name}")),
        "number" => json!(1),
        "boolean" => json!(false),
        _ => json!({}),
    }
}
