//! Shapes of JSON values in hook documents, and their schemas. Independent of events.

use serde_json::{Map, Value, json};

/// A field of a document.
pub struct SchemaField {
    /// The key.
    pub name: &'static str,
    /// The shape of the value.
    pub shape: FieldShape,
    /// Whether the field is required.
    pub is_required: bool,
}

/// An optional field.
pub const fn optional(name: &'static str, shape: FieldShape) -> SchemaField {
    SchemaField { name, shape, is_required: false }
}

/// A required field.
pub const fn required(name: &'static str, shape: FieldShape) -> SchemaField {
    SchemaField { name, shape, is_required: true }
}

/// The shape of a value.
#[derive(Clone, Copy)]
pub enum FieldShape {
    /// Any value.
    Any,
    /// A text.
    Text,
    /// A text or null.
    TextOrNull,
    /// True or false.
    Flag,
    /// An integer.
    Whole,
    /// A number.
    Number,
    /// An object with arbitrary fields.
    Object,
    /// One of these words.
    Word(&'static [&'static str]),
    /// A list of one shape.
    List(&'static FieldShape),
    /// An object with these fields.
    Fields(&'static [SchemaField]),
}

impl FieldShape {
    /// The shape as a schema.
    pub fn to_schema(self) -> Value {
        match self {
            Self::Any => json!({}),
            Self::Text => json!({"type": "string"}),
            Self::TextOrNull => json!({"type": ["string", "null"]}),
            Self::Flag => json!({"type": "boolean"}),
            Self::Whole => json!({"type": "integer"}),
            Self::Number => json!({"type": "number"}),
            Self::Object => json!({"type": "object"}),
            Self::Word(words) => enum_schema(words),
            Self::List(item) => json!({"type": "array", "items": item.to_schema()}),
            Self::Fields(fields) => RecordSchema::default().with_fields(fields).into_value(),
        }
    }
}

/// The schema of an enumeration.
pub fn enum_schema(words: &[&str]) -> Value {
    json!({"type": "string", "enum": words})
}

/// Builds the schema of an object. Other fields are allowed, as in the dialect.
#[derive(Default)]
pub struct RecordSchema {
    properties: Map<String, Value>,
    required: Vec<&'static str>,
}

impl RecordSchema {
    /// Adds fields.
    pub fn with_fields(self, fields: &[SchemaField]) -> Self {
        fields.iter().fold(self, |record, field| match field.is_required {
            true => record.with_required(field.name, field.shape.to_schema()),
            false => record.with_optional(field.name, field.shape.to_schema()),
        })
    }

    /// Adds an optional field.
    pub fn with_optional(mut self, name: &'static str, schema: Value) -> Self {
        self.properties.insert(name.to_owned(), schema);
        self
    }

    /// Adds a required field.
    pub fn with_required(mut self, name: &'static str, schema: Value) -> Self {
        self.required.push(name);
        self.with_optional(name, schema)
    }

    /// The schema as keywords.
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

    /// The schema as a value.
    pub fn into_value(self) -> Value {
        Value::Object(self.into_schema())
    }
}
