//! Sample events: every required field with a value of its shape.

use gambrel_model::{Event, EventSpec};
use serde_json::{Map, Value, json};

use super::events::event_row;
use super::hook_input::build_input;
use super::schema::record::{FieldShape, SchemaField};

/// A sample of the hook input of an event.
pub fn sample_event(event: &Event, spec: &EventSpec) -> Value {
    let mut input = build_input(event, spec.name, spec);
    input["transcript_path"] = json!(format!("/tmp/{}.jsonl", event.session));
    let required = event_row(spec).input.into_iter().flatten().filter(|field| field.is_required);
    for field in required {
        let is_empty = input.get(field.name).is_none_or(|value| *value == json!(""));
        if is_empty {
            input[field.name] = sample_value(field);
        }
    }
    input
}

fn sample_value(field: &SchemaField) -> Value {
    match field.shape {
        FieldShape::Any | FieldShape::Text => json!(format!("sample {}", field.name)),
        FieldShape::TextOrNull => Value::Null,
        FieldShape::Flag => json!(false),
        FieldShape::Whole | FieldShape::Number => json!(1),
        FieldShape::Object => json!({}),
        FieldShape::Word(words) => json!(words.first()),
        FieldShape::List(_) => json!([]),
        FieldShape::Fields(fields) => {
            let pairs = fields.iter().map(|field| (field.name.to_owned(), sample_value(field)));
            Value::Object(pairs.collect::<Map<_, _>>())
        }
    }
}
