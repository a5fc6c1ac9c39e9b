//! JSON Schemas (draft-07) of what `DocumentFields` reads, for editors. A schema refuses what its
//! reader reports as an error or as an unknown key; a null value is an absent key for both. It must
//! not know which file has which keys.

use serde_json::{Map, Value, json};

/// The schema draft that editors and validators support.
pub const SCHEMA_DRAFT: &str = "http://json-schema.org/draft-07/schema#";

/// A key of a file: its name, the value that its reader accepts, and what it means.
#[derive(Clone, Copy)]
pub struct KeySchema {
    /// The key.
    pub name: &'static str,
    /// The value.
    pub shape: ValueShape,
    /// What editors show about the key.
    pub text: &'static str,
}

/// The value that a method of `DocumentFields` accepts.
#[derive(Clone, Copy)]
pub enum ValueShape {
    /// Any value.
    Any,
    /// `read_text`: in YAML, numbers and booleans are texts too.
    Text,
    /// `read_text` for a required key.
    RequiredText,
    /// `read_text` for a required key whose value is not empty.
    FilledText,
    /// `read_word`.
    Word(&'static [&'static str]),
    /// `read_flag`.
    Flag,
    /// `read_count` with limits.
    Count {
        /// The least value.
        min: u64,
        /// The greatest value.
        max: u64,
    },
    /// `read_integer`.
    Integer,
    /// `read_seconds`, and whether 0 is a value.
    Seconds {
        /// Whether 0 is accepted.
        zero: bool,
    },
    /// `read_texts`.
    Texts,
    /// `read_map` with any keys.
    Map,
    /// `read_text_map`.
    TextMap,
    /// Something else.
    Custom(fn() -> Value),
}

/// Durations are below this number of seconds.
const MAX_DURATION_SECONDS: f64 = 1e9;

impl ValueShape {
    /// The shape as a schema.
    pub fn to_schema(self) -> Value {
        match self {
            Self::Any => json!({}),
            Self::Text => json!({"type": ["string", "number", "boolean", "null"]}),
            Self::RequiredText => json!({"type": ["string", "number", "boolean"]}),
            Self::FilledText => {
                json!({"type": ["string", "number", "boolean"], "pattern": "\\S"})
            }
            Self::Word(words) => {
                let words = words.iter().map(|word| json!(word)).chain([Value::Null]);
                json!({"enum": words.collect::<Vec<_>>()})
            }
            Self::Flag => json!({"type": ["boolean", "null"]}),
            Self::Count { min, max } => {
                json!({"type": ["integer", "null"], "minimum": min, "maximum": max})
            }
            Self::Integer => json!({"type": ["integer", "null"]}),
            Self::Seconds { zero } => {
                let least = if zero { "minimum" } else { "exclusiveMinimum" };
                let limit = MAX_DURATION_SECONDS;
                json!({"type": ["number", "null"], least: 0, "exclusiveMaximum": limit})
            }
            Self::Texts => json!({"type": ["array", "null"], "items": Self::Text.to_schema()}),
            Self::Map => json!({"type": ["object", "null"]}),
            Self::TextMap => {
                json!({"type": ["object", "null"], "additionalProperties": Self::Text.to_schema()})
            }
            Self::Custom(build) => build(),
        }
    }
}

impl KeySchema {
    /// The schema of the key's value, with its description.
    pub fn to_schema(&self) -> Value {
        let mut schema = self.shape.to_schema();
        schema["description"] = json!(self.text);
        schema
    }
}

/// The schemas of a file's keys, for the names that its reader knows. A name without a row accepts
/// any value.
pub fn key_schemas(names: &[&str], rows: &[KeySchema]) -> Map<String, Value> {
    let schema_of = |name: &str| {
        let row = rows.iter().find(|row| row.name == name);
        row.map_or_else(|| json!({}), KeySchema::to_schema)
    };
    names.iter().map(|name| ((*name).to_owned(), schema_of(name))).collect()
}

/// The schema of a map that has only these keys.
pub fn closed_map(properties: Map<String, Value>) -> Value {
    json!({"type": ["object", "null"], "properties": properties, "additionalProperties": false})
}
