//! The few shapes of JSON that hook documents are made of, and how each is written as a schema.
//! Knows no event.

use serde_json::{Map, Value, json};

/// A field of a document.
pub struct Field {
    /// Its key.
    pub name: &'static str,
    /// What its value looks like.
    pub shape: Shape,
    /// Whether there is no document without it.
    pub must: bool,
}

/// A field that may be absent.
pub const fn may(name: &'static str, shape: Shape) -> Field {
    Field { name, shape, must: false }
}

/// A field that is always there.
pub const fn must(name: &'static str, shape: Shape) -> Field {
    Field { name, shape, must: true }
}

/// What a value looks like.
#[derive(Clone, Copy)]
pub enum Shape {
    /// Anything at all.
    Any,
    /// A text.
    Text,
    /// A text, or null.
    TextOrNull,
    /// True or false.
    Flag,
    /// A number without a fraction.
    Whole,
    /// A number.
    Number,
    /// An object whose fields are somebody else's.
    Object,
    /// One of these words.
    Word(&'static [&'static str]),
    /// A list of one shape.
    List(&'static Shape),
    /// An object with fields of its own.
    Fields(&'static [Field]),
}

impl Shape {
    /// The shape as a schema.
    pub fn schema(self) -> Value {
        match self {
            Self::Any => json!({}),
            Self::Text => json!({"type": "string"}),
            Self::TextOrNull => json!({"type": ["string", "null"]}),
            Self::Flag => json!({"type": "boolean"}),
            Self::Whole => json!({"type": "integer"}),
            Self::Number => json!({"type": "number"}),
            Self::Object => json!({"type": "object"}),
            Self::Word(words) => word(words),
            Self::List(item) => json!({"type": "array", "items": item.schema()}),
            Self::Fields(fields) => Record::default().and(fields).into_value(),
        }
    }
}

/// One of some words.
pub fn word(words: &[&str]) -> Value {
    json!({"type": "string", "enum": words})
}

/// An object in the making. Fields that are not named pass, as they do in the dialect.
#[derive(Default)]
pub struct Record {
    properties: Map<String, Value>,
    required: Vec<&'static str>,
}

impl Record {
    /// The same with these fields.
    pub fn and(self, fields: &[Field]) -> Self {
        fields.iter().fold(self, |record, field| match field.must {
            true => record.needing(field.name, field.shape.schema()),
            false => record.with(field.name, field.shape.schema()),
        })
    }

    /// The same with a field that may be absent.
    pub fn with(mut self, name: &'static str, schema: Value) -> Self {
        self.properties.insert(name.to_owned(), schema);
        self
    }

    /// The same with a field that is always there.
    pub fn needing(mut self, name: &'static str, schema: Value) -> Self {
        self.required.push(name);
        self.with(name, schema)
    }

    /// The keywords of the schema.
    pub fn into_schema(self) -> Map<String, Value> {
        let mut schema = Map::new();
        schema.insert("type".into(), json!("object"));
        schema.insert("properties".into(), Value::Object(self.properties));
        if !self.required.is_empty() {
            schema.insert("required".into(), json!(self.required));
        }
        schema.insert("additionalProperties".into(), json!(true));
        schema
    }

    /// The schema.
    pub fn into_value(self) -> Value {
        Value::Object(self.into_schema())
    }
}
