//! The schemas against the tables of the dialect.

use std::collections::BTreeSet;

use gambrel_model::{Powers, Subject};

use super::input::INPUTS;
use super::output::NATIVE;
use super::{Way, all, both, names, one, rows};

#[test]
fn the_events_are_those_of_the_event_table() {
    let described: Vec<&str> = INPUTS.iter().map(|(name, ..)| *name).collect();
    assert_eq!(described, names().collect::<Vec<_>>());
    assert_eq!(described.len(), 33);
    let known: BTreeSet<&str> = names().collect();
    assert!(NATIVE.iter().all(|(name, _)| known.contains(name)));
}

#[test]
fn what_a_matcher_looks_at_is_an_input() {
    for row in rows() {
        let field = match row.subject {
            Subject::Cause(field) => field,
            Subject::Tool => "tool_name",
            _ => continue,
        };
        let input = one(row.name, Way::Input).unwrap();
        assert!(input["properties"][field].is_object(), "{}: {field}", row.name);
    }
}

#[test]
fn an_answer_is_bound_to_its_event() {
    for row in rows() {
        let output = one(row.name, Way::Output).unwrap();
        let own = &output["properties"]["hookSpecificOutput"];
        assert_eq!(own["properties"]["hookEventName"]["const"], row.name);
        assert_eq!(own["required"][0], "hookEventName");
        let told = own["properties"]["additionalContext"].is_object();
        assert_eq!(told, row.hook_powers.contains(Powers::MESSAGE_AGENT), "{}", row.name);
    }
}

#[test]
fn a_permission_has_the_words_that_the_event_knows() {
    let words = |event: &str| {
        let output = one(event, Way::Output).unwrap();
        let own = &output["properties"]["hookSpecificOutput"]["properties"];
        own["permissionDecision"]["enum"].clone()
    };
    assert_eq!(words("PreToolUse"), serde_json::json!(["allow", "deny", "ask", "defer"]));
    assert_eq!(words("PreModelSwitch"), serde_json::json!(["allow", "deny", "ask"]));
    assert!(words("Stop").is_null());
}

#[test]
fn a_mode_is_only_in_a_turn() {
    let with =
        |event: &&str| one(event, Way::Input).unwrap()["properties"]["permission_mode"].is_object();
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
    assert_eq!(names().filter(with).collect::<Vec<_>>(), expected);
}

#[test]
fn the_whole_is_made_of_its_parts() {
    let whole = all();
    for name in names() {
        assert_eq!(whole["events"][name], both(name).unwrap());
        for way in Way::ALL {
            assert_eq!(whole["events"][name][way.word()], one(name, way).unwrap());
        }
    }
    assert!(one("PreEverything", Way::Input).is_none() && one("", Way::Input).is_none());
}
