//! JSON Schemas (draft-07) of the input and the output of hooks, generated from the dialect's own
//! tables. Also checks an answer against its schema.

mod input;
mod output;
pub(super) mod record;
#[cfg(test)]
mod tests;
mod validation;

use gambrel_model::EventSpec;
use serde_json::{Map, Value, json};

use super::events::{event_row, event_specs};

/// The schema draft that editors and validators support.
const DRAFT: &str = "http://json-schema.org/draft-07/schema#";

/// The direction of a document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// From gambrel to the hook, on stdin.
    Input,
    /// From the hook to gambrel, on stdout.
    Output,
}

impl Direction {
    /// Both directions.
    pub const ALL: [Self; 2] = [Self::Input, Self::Output];

    /// The name in documents and file names.
    pub fn name(self) -> &'static str {
        match self {
            Self::Input => "input",
            Self::Output => "output",
        }
    }
}

/// The names of all events with schemas.
pub fn event_names() -> impl Iterator<Item = &'static str> {
    named_rows().map(|row| row.name)
}

/// The schema of an event in one direction; `None` for an unknown event.
pub fn event_schema(event: &str, direction: Direction) -> Option<Value> {
    named_rows().find(|row| row.name == event).map(|row| schema_document(row, direction))
}

/// Both schemas of an event; `None` for an unknown event.
pub fn event_schemas(event: &str) -> Option<Value> {
    named_rows().find(|row| row.name == event).map(schema_pair)
}

/// The schemas of all events in one document.
pub fn all_schemas() -> Value {
    let events: Map<String, Value> =
        named_rows().map(|row| (row.name.to_owned(), schema_pair(row))).collect();
    json!({"$schema": DRAFT, "title": "Hook events of Claude Code", "events": events})
}

/// The first mistake in an answer to an event; `None` if it fits its schema.
pub(super) fn find_mismatch(
    row: &EventSpec,
    name: &str,
    answer: &Map<String, Value>,
) -> Option<String> {
    validation::find_mismatch(&output::output_record(row, name).into_value(), answer)
}

/// The rows of named events. The row for newer events has no schema.
fn named_rows() -> impl Iterator<Item = &'static EventSpec> {
    event_specs().iter().filter(|row| !row.name.is_empty())
}

fn schema_pair(row: &EventSpec) -> Value {
    let both = Direction::ALL
        .map(|direction| (direction.name().to_owned(), schema_document(row, direction)));
    Value::Object(both.into_iter().collect())
}

/// The schema of an event, complete in itself.
fn schema_document(row: &EventSpec, direction: Direction) -> Value {
    let record = match direction {
        Direction::Input => input::input_record(event_row(row)),
        Direction::Output => output::output_record(row, row.name),
    };
    let mut schema = Map::new();
    schema.insert("$schema".into(), json!(DRAFT));
    schema.insert("title".into(), json!(format!("{} {}", row.name, direction.name())));
    schema.extend(record.into_schema());
    Value::Object(schema)
}
