//! What a hook may print, event by event. What an answer can do is read off the event table; only
//! the fields without a neutral meaning are listed here.

use gambrel_model::{EventSpec, Powers, Ruling, Slot};
use serde_json::{Value, json};

use super::super::events::{Voice, voice};
use super::record::Shape::{Any, Fields, Flag, List, Number, Object, Text, Word};
use super::record::{Field, Record, may, must, word};

const WATCH: Field = may("watchPaths", List(&Text));
const TITLE: Field = may("sessionTitle", Text);
const SUPPRESS: Field = may("suppressOriginalPrompt", Flag);

/// Fields of an event's own output that only this dialect knows.
pub const NATIVE: &[(&str, &[Field])] = &[
    ("SessionStart", &[may("initialUserMessage", Text), TITLE, WATCH, may("reloadSkills", Flag)]),
    ("UserPromptSubmit", &[TITLE, SUPPRESS]),
    ("UserPromptExpansion", &[SUPPRESS]),
    ("MessageDisplay", &[may("displayContent", Text)]),
    ("PermissionDenied", &[may("retry", Flag)]),
    ("PostToolUse", &[may("updatedMCPToolOutput", Any), may("classifierContext", Text)]),
    ("CwdChanged", &[WATCH]),
    ("FileChanged", &[WATCH]),
    ("WorktreeCreate", &[may("worktreePath", Text)]),
];

const REQUEST: &[Field] = &[
    must("behavior", Word(&["allow", "deny"])),
    may("updatedInput", Object),
    may("updatedPermissions", List(&Object)),
    may("message", Text),
    may("interrupt", Flag),
];
const ACTION: &[Field] =
    &[may("action", Word(&["accept", "decline", "cancel"])), may("content", Object)];
const WORDS: &[Field] = &[may("stopReason", Text), may("suppressOutput", Flag)];
const REST: &[Field] =
    &[may("terminalSequence", Text), may("async", Flag), may("asyncTimeout", Number)];

/// What a hook may answer to the event of that name: events of a later day share one row.
pub fn record(row: &EventSpec, name: &str) -> Record {
    let plain = matches!(voice(row), Voice::Block | Voice::Permission);
    let halts = match row.hook_powers.contains(Powers::HALT) {
        true => "False stops everything, whatever `decision` says.",
        false => "Accepted; nothing is stopped at this event.",
    };
    let rules = match plain && row.hook_powers.contains(Powers::DENY) {
        true => "`block` objects, and `reason` says why.",
        false => "Accepted; nothing is refused with it at this event.",
    };
    let shows = match row.hook_powers.contains(Powers::MESSAGE_USER) {
        true => "Words for the person.",
        false => "Accepted; not shown at this event.",
    };
    Record::default()
        .with("continue", told(Flag.schema(), halts))
        .and(WORDS)
        .with("systemMessage", told(Text.schema(), shows))
        .with("decision", told(word(&["approve", "block"]), rules))
        .with("reason", Text.schema())
        .and(REST)
        .with("hookSpecificOutput", own(row, name).into_value())
}

/// The event's own output.
fn own(row: &EventSpec, name: &str) -> Record {
    let named = Record::default().needing("hookEventName", json!({"const": name}));
    let mut own = match voice(row) {
        Voice::Permission => named
            .with("permissionDecision", word(&rulings(row)))
            .with("permissionDecisionReason", Text.schema()),
        Voice::Request => named.with("decision", Fields(REQUEST).schema()),
        Voice::Action => named.and(ACTION),
        Voice::Exit | Voice::Block => named,
    };
    // A permission request carries its rewrite inside the decision.
    if voice(row) == Voice::Permission && row.rewritable.contains(&Slot::Input) {
        own = own.with("updatedInput", Object.schema());
    }
    if row.rewritable.contains(&Slot::Output) {
        own = own.with("updatedToolOutput", Any.schema());
    }
    if row.hook_powers.contains(Powers::MESSAGE_AGENT) {
        own = own.with("additionalContext", Text.schema());
    }
    let native = NATIVE.iter().find(|(name, _)| *name == row.name);
    own.and(native.map_or(&[], |(_, fields)| fields))
}

fn rulings(row: &EventSpec) -> Vec<&'static str> {
    let all = [Ruling::Allow, Ruling::Deny, Ruling::Ask, Ruling::Defer];
    let here = all.into_iter().filter(|ruling| row.hook_powers.contains(ruling.power()));
    here.map(Ruling::word).collect()
}

fn told(mut schema: Value, what: &str) -> Value {
    schema["description"] = json!(what);
    schema
}
