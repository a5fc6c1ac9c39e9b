//! The output schema of each event. The event table defines the powers of an answer; this file
//! lists only the fields without a neutral meaning.

use gambrel_model::{EventSpec, Powers, Ruling, Slot};
use serde_json::{Value, json};

use super::super::event_row::ReplyForm;
use super::super::events::event_row;
use super::record::FieldShape::{Any, Fields, Flag, List, Number, Object, Text, Word};
use super::record::{RecordSchema, SchemaField, enum_schema, optional, required};

const REQUEST: &[SchemaField] = &[
    required("behavior", Word(&["allow", "deny"])),
    optional("updatedInput", Object),
    optional("updatedPermissions", List(&Object)),
    optional("message", Text),
    optional("interrupt", Flag),
];
const ACTION: &[SchemaField] =
    &[optional("action", Word(&["accept", "decline", "cancel"])), optional("content", Object)];
const WORDS: &[SchemaField] = &[optional("stopReason", Text), optional("suppressOutput", Flag)];
const REST: &[SchemaField] = &[
    optional("terminalSequence", Text),
    optional("async", Flag),
    optional("asyncTimeout", Number),
];

/// The output schema of an event. All events newer than the table share one row.
pub fn output_record(row: &EventSpec, name: &str) -> RecordSchema {
    let plain = matches!(event_row(row).reply, ReplyForm::Block | ReplyForm::Permission);
    let halts = match row.hook_powers.contains(Powers::HALT) {
        true => "False stops everything, whatever `decision` says.",
        false => "Accepted; nothing is stopped at this event.",
    };
    let rules = match plain && row.hook_powers.contains(Powers::DENY) {
        true => "`block` refuses, and `reason` says why.",
        false => "Accepted; nothing is refused with it at this event.",
    };
    let shows = match row.hook_powers.contains(Powers::MESSAGE_USER) {
        true => "A message for the user.",
        false => "Accepted; not shown at this event.",
    };
    RecordSchema::default()
        .with_optional("continue", with_description(Flag.to_schema(), halts))
        .with_fields(WORDS)
        .with_optional("systemMessage", with_description(Text.to_schema(), shows))
        .with_optional("decision", with_description(enum_schema(&["approve", "block"]), rules))
        .with_optional("reason", Text.to_schema())
        .with_fields(REST)
        .with_optional("hookSpecificOutput", specific_record(row, name).into_value())
}

/// The schema of `hookSpecificOutput`.
fn specific_record(row: &EventSpec, name: &str) -> RecordSchema {
    let named = RecordSchema::default().with_required("hookEventName", json!({"const": name}));
    let mut own = match event_row(row).reply {
        ReplyForm::Permission => named
            .with_optional("permissionDecision", enum_schema(&allowed_rulings(row)))
            .with_optional("permissionDecisionReason", Text.to_schema()),
        ReplyForm::Request => named.with_optional("decision", Fields(REQUEST).to_schema()),
        ReplyForm::Action => named.with_fields(ACTION),
        ReplyForm::Exit | ReplyForm::Block => named,
    };
    // A permission request has its rewrite inside `decision`.
    if event_row(row).reply == ReplyForm::Permission && row.rewritable.contains(&Slot::Input) {
        own = own.with_optional("updatedInput", Object.to_schema());
    }
    if row.rewritable.contains(&Slot::Output) {
        own = own.with_optional("updatedToolOutput", Any.to_schema());
    }
    if row.hook_powers.contains(Powers::MESSAGE_AGENT) {
        own = own.with_optional("additionalContext", Text.to_schema());
    }
    own.with_fields(event_row(row).output)
}

fn allowed_rulings(row: &EventSpec) -> Vec<&'static str> {
    let all = [Ruling::Allow, Ruling::Deny, Ruling::Ask, Ruling::Defer];
    let here = all.into_iter().filter(|ruling| row.hook_powers.contains(ruling.required_power()));
    here.map(Ruling::as_str).collect()
}

fn with_description(mut schema: Value, what: &str) -> Value {
    schema["description"] = json!(what);
    schema
}
