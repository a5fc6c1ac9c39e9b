//! JSON Schemas (draft-07) of what every event sends to a hook and of what a hook may answer,
//! from the same tables that the dialect works by; and whether an answer fits. Writes nothing.

mod fit;
mod input;
mod output;
mod record;
#[cfg(test)]
mod tests;

use gambrel_model::EventSpec;
use serde_json::{Map, Value, json};

use super::events::EVENTS;

/// The draft that editors and validators agree on.
const DRAFT: &str = "http://json-schema.org/draft-07/schema#";

/// Which way a document goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// What a hook reads on stdin.
    Input,
    /// What a hook may print on stdout.
    Output,
}

impl Way {
    /// Both of them.
    pub const ALL: [Self; 2] = [Self::Input, Self::Output];

    /// The way's name in documents and file names.
    pub fn word(self) -> &'static str {
        match self {
            Self::Input => "input",
            Self::Output => "output",
        }
    }
}

/// The names of all events that have schemas.
pub fn names() -> impl Iterator<Item = &'static str> {
    rows().map(|row| row.name)
}

/// The schema of one event in one way; none for an event that is not known.
pub fn one(event: &str, way: Way) -> Option<Value> {
    rows().find(|row| row.name == event).map(|row| document(row, way))
}

/// Both schemas of one event; none for an event that is not known.
pub fn both(event: &str) -> Option<Value> {
    rows().find(|row| row.name == event).map(pair)
}

/// The schemas of all events in one document.
pub fn all() -> Value {
    let events: Map<String, Value> = rows().map(|row| (row.name.to_owned(), pair(row))).collect();
    json!({"$schema": DRAFT, "title": "Hook events of Claude Code", "events": events})
}

/// What is wrong with an answer at the event of that name; `None` when it fits its schema.
pub(super) fn misfit(row: &EventSpec, name: &str, answer: &Map<String, Value>) -> Option<String> {
    fit::misfit(&output::record(row, name).into_value(), answer)
}

/// Events of a later day have no name, and no schema.
fn rows() -> impl Iterator<Item = &'static EventSpec> {
    EVENTS.iter().filter(|row| !row.name.is_empty())
}

fn pair(row: &EventSpec) -> Value {
    let both = Way::ALL.map(|way| (way.word().to_owned(), document(row, way)));
    Value::Object(both.into_iter().collect())
}

/// Each schema stands on its own, also when it is cut out of the whole.
fn document(row: &EventSpec, way: Way) -> Value {
    let record = match way {
        Way::Input => input::record(row),
        Way::Output => output::record(row, row.name),
    };
    let mut schema = Map::new();
    schema.insert("$schema".into(), json!(DRAFT));
    schema.insert("title".into(), json!(format!("{} {}", row.name, way.word())));
    schema.extend(record.into_schema());
    Value::Object(schema)
}
