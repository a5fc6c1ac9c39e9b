//! Translation of tools and their arguments between dialects.

use gambrel_model::{Tool, ToolKind, ToolWord};
use proptest::prelude::*;
use serde_json::{Value, json};

static FLAT: &[ToolWord] = &[
    ToolWord {
        kind: ToolKind::Edit,
        shape: "edit",
        name: "Change",
        fields: &[("path", "file"), ("edits[].old", "before"), ("edits[].new", "after")],
    },
    ToolWord {
        kind: ToolKind::Edit,
        shape: "edit",
        name: "Changes",
        fields: &[
            ("path", "file"),
            ("edits[].old", "edits[].before"),
            ("edits[].new", "edits[].after"),
        ],
    },
];

static OTHER: &[ToolWord] = &[ToolWord {
    kind: ToolKind::Edit,
    shape: "edit",
    name: "edit",
    fields: &[
        ("edits[].old", "oldText"),
        ("edits[].new", "newText"),
        ("edits[].old", "edits[].oldText"),
        ("edits[].new", "edits[].newText"),
    ],
}];

#[test]
fn one_edit_is_flat_on_both_sides() {
    let input = json!({"file": "a.rs", "before": "x", "after": "y", "why": "because"});
    let tool = Tool::from_native(FLAT, "Change", &input);
    assert_eq!(
        tool.args,
        json!({"path": "a.rs", "edits": [{"old": "x", "new": "y"}], "why": "because"})
    );
    let (name, native) = tool.to_native(OTHER);
    assert_eq!(name, "edit");
    assert_eq!(native, json!({"path": "a.rs", "oldText": "x", "newText": "y", "why": "because"}));
}

#[test]
fn several_edits_take_the_word_that_holds_a_list() {
    let input = json!({"path": "a", "edits": [{"oldText": "1", "newText": "2"}, {"oldText": "3", "newText": "4"}]});
    let tool = Tool::from_native(OTHER, "edit", &input);
    let (name, native) = tool.to_native(FLAT);
    assert_eq!(name, "Changes");
    assert_eq!(native["edits"][1], json!({"before": "3", "after": "4"}));
    assert_eq!(tool.to_native(OTHER).1, input);
}

#[test]
fn a_tool_without_a_word_keeps_its_name() {
    let tool = Tool::from_native(FLAT, "mcp__srv__do", &json!({"a": 1}));
    assert_eq!(tool.kind, ToolKind::Mcp);
    assert_eq!(tool.to_native(OTHER), ("mcp__srv__do".to_owned(), json!({"a": 1})));
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<i64>().prop_map(Value::from),
        "[a-z]{0,5}".prop_map(Value::from)
    ];
    leaf.prop_recursive(3, 20, 4, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
            proptest::collection::btree_map(
                prop_oneof![Just("edits".to_owned()), Just("oldText".to_owned()), "[a-z]{1,5}"],
                inner,
                0..4
            )
            .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn input_round_trips_in_its_own_dialect(old in "[a-z]{0,5}", new in "[a-z]{0,5}", extra in any_json()) {
        let input = json!({"file": "f", "before": old, "after": new, "extra": extra});
        let tool = Tool::from_native(FLAT, "Change", &input);
        prop_assert_eq!(tool.to_native(FLAT), ("Change".to_owned(), input));
    }

    #[test]
    fn translates_any_input(input in any_json()) {
        for (words, name) in [(FLAT, "Change"), (FLAT, "Changes"), (OTHER, "edit"), (OTHER, "nothing")] {
            let tool = Tool::from_native(words, name, &input);
            let _there = tool.to_native(FLAT);
            let _back = tool.to_native(OTHER);
        }
    }
}

#[test]
fn a_decoy_does_not_hide_what_the_tool_is_given() {
    let tool = Tool::from_native(
        OTHER,
        "edit",
        &json!({"path": "real", "file": "decoy", "oldText": "a", "before": "decoy", "newText": "b"}),
    );
    let (_, native) = tool.to_native(FLAT);
    assert_eq!(native, json!({"file": "real", "before": "a", "after": "b"}));
    let tool = Tool::from_native(FLAT, "Change", &json!({"file": "real", "path": "decoy"}));
    assert_eq!(tool.args, json!({"path": "real"}));
}

#[test]
fn flat_fields_beside_a_list_lose_no_edit() {
    let both = json!({"oldText": "a", "newText": "b", "edits": [{"oldText": "c", "newText": "d"}]});
    let tool = Tool::from_native(OTHER, "edit", &both);
    assert_eq!(tool.args["edits"], json!([{"old": "a", "new": "b"}, {"old": "c", "new": "d"}]));
}
