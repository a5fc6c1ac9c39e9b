//! Compares the schemas with the tables of the dialect.

use std::collections::BTreeSet;

use gambrel_model::{Powers, Subject};

use super::super::events::TABLE;
use super::{Direction, all_schemas, event_names, event_schema, event_schemas, named_rows};

#[test]
fn schemas_cover_the_event_table() {
    assert_eq!(event_names().collect::<BTreeSet<_>>().len(), 33);
    let named = TABLE.iter().filter(|event| !event.spec.name.is_empty());
    for event in named {
        let has_fields = event.input.iter().any(|fields| !fields.is_empty());
        assert!(has_fields, "{}", event.spec.name);
    }
}

#[test]
fn inputs_have_the_subject_of_the_matcher() {
    for row in named_rows() {
        let field = match row.subject {
            Subject::Cause(field) => field,
            Subject::Tool => "tool_name",
            _ => continue,
        };
        let input = event_schema(row.name, Direction::Input).unwrap();
        assert!(input["properties"][field].is_object(), "{}: {field}", row.name);
    }
}

#[test]
fn outputs_name_their_event() {
    for row in named_rows() {
        let output = event_schema(row.name, Direction::Output).unwrap();
        let own = &output["properties"]["hookSpecificOutput"];
        assert_eq!(own["properties"]["hookEventName"]["const"], row.name);
        assert_eq!(own["required"][0], "hookEventName");
        let has_context = own["properties"]["additionalContext"].is_object();
        assert_eq!(has_context, row.hook_powers.contains(Powers::MESSAGE_AGENT), "{}", row.name);
    }
}

#[test]
fn permissions_have_the_rulings_of_their_event() {
    let words = |event: &str| {
        let output = event_schema(event, Direction::Output).unwrap();
        let own = &output["properties"]["hookSpecificOutput"]["properties"];
        own["permissionDecision"]["enum"].clone()
    };
    assert_eq!(words("PreToolUse"), serde_json::json!(["allow", "deny", "ask", "defer"]));
    assert_eq!(words("PreModelSwitch"), serde_json::json!(["allow", "deny", "ask"]));
    assert!(words("Stop").is_null());
}

#[test]
fn only_events_of_a_turn_have_a_mode() {
    let with = |event: &&str| {
        event_schema(event, Direction::Input).unwrap()["properties"]["permission_mode"].is_object()
    };
    let expected = [
        "UserPromptSubmit",
        "UserPromptExpansion",
        "PreToolUse",
        "PermissionRequest",
        "PostToolUse",
        "PostToolUseFailure",
        "PostToolBatch",
        "SubagentStop",
        "Stop",
    ];
    assert_eq!(event_names().filter(with).collect::<Vec<_>>(), expected);
}

#[test]
fn the_combined_document_has_every_schema() {
    let whole = all_schemas();
    for name in event_names() {
        assert_eq!(whole["events"][name], event_schemas(name).unwrap());
        for way in Direction::ALL {
            assert_eq!(whole["events"][name][way.name()], event_schema(name, way).unwrap());
        }
    }
    assert!(
        event_schema("PreEverything", Direction::Input).is_none()
            && event_schema("", Direction::Input).is_none()
    );
}
