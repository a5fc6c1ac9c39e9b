//! The input schema of each event. Fields that Claude Code always sends are required; a caller of
//! `fire` may leave out more.

use serde_json::json;

use super::super::event_row::ClaudeEvent;
use super::record::FieldShape::{Fields, Text};
use super::record::{RecordSchema, SchemaField, optional, required};

/// Fields of every event.
const COMMON: &[SchemaField] = &[
    required("session_id", Text),
    required("transcript_path", Text),
    required("cwd", Text),
    optional("prompt_id", Text),
    optional("effort", Fields(&[optional("level", Text)])),
    optional("agent_id", Text),
    optional("agent_type", Text),
];

/// The input schema of an event.
pub fn input_record(event: &ClaudeEvent) -> RecordSchema {
    let name = json!({"const": event.spec.name});
    let record = RecordSchema::default().with_required("hook_event_name", name);
    event.input.iter().fold(record.with_fields(COMMON), |record, fields| record.with_fields(fields))
}
