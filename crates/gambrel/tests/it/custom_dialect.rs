//! A new dialect is one folder and one row; a new action is one file and one row. The toy dialect works with all others as caller and as
//! hook format, without a change in any other file.

use gambrel::Ruling;
use gambrel_model::Dialect;
use serde_json::{Value, json};

use crate::harness::{fire, folder_with_files};
use crate::toy::TOY;

static TABLE: &[&Dialect] = &[
    &gambrel_dialects::claude::CLAUDE,
    &gambrel_dialects::omp::OMP,
    &gambrel_dialects::teams::TEAMS,
    &gambrel_dialects::iteratr::ITERATR,
    &gambrel_dialects::unified::UNIFIED,
    &gambrel_dialects::neutral::NEUTRAL,
    &gambrel_dialects::run::RUN,
    &TOY,
];

const CLAUDE_EVENT: &str = r#"{"hook_event_name":"PreToolUse","session_id":"s","cwd":"/",
    "tool_name":"Bash","tool_input":{"command":"rm -rf /"}}"#;

fn json(bytes: &[u8]) -> Value {
    serde_json::from_slice(bytes).expect("JSON")
}

#[test]
fn its_hooks_deny_tools_of_other_callers() {
    let folder = folder_with_files(&[("toy.txt", "about-to grep -q 'rm -rf' && echo no\n")]);
    let (decision, reply) = fire(TABLE, folder.path(), "claude", CLAUDE_EVENT);
    assert_eq!(decision.merged.ruling, Ruling::Deny);
    let reply = json(&reply.stdout);
    assert_eq!(reply["hookSpecificOutput"]["permissionDecision"], "deny");
    assert_eq!(reply["hookSpecificOutput"]["permissionDecisionReason"], "the toy says no");
}

#[test]
fn its_hooks_deny_tools_of_a_run() {
    let folder = folder_with_files(&[("toy.txt", "about-to grep -q 'rm -rf' && echo no\n")]);
    let tool = json!({"kind": "shell", "name": "Bash", "args": {"command": "rm -rf /"}});
    let event = json!({"moment": "tool.before", "session": "s", "facts": {"tool": tool}});
    let (_, reply) = fire(TABLE, folder.path(), "run", &event.to_string());
    let reply = json(&reply.stdout);
    assert_eq!(reply["said"], "deny");
    assert_eq!(reply["reasons"][0]["text"], "the toy says no");
}

#[test]
fn the_table_has_every_dialect_and_the_toy() {
    let names = |table: &[&Dialect]| -> Vec<&str> { table.iter().map(|row| row.name).collect() };
    let mut expected = names(gambrel_dialects::DIALECTS);
    expected.push("toy");
    assert_eq!(names(TABLE), expected);
}

#[test]
fn its_hooks_receive_arguments_under_their_own_names() {
    let folder = folder_with_files(&[("toy.txt", "about-to cat\n")]);
    let (decision, _) = fire(TABLE, folder.path(), "claude", CLAUDE_EVENT);
    let words =
        decision.merged.messages_for(gambrel_model::Audience::AgentNow).next().expect("words");
    assert_eq!(json(words.as_bytes()), json!({"line": "rm -rf /"}));
}

#[test]
fn hooks_of_other_dialects_deny_its_callers() {
    let settings = r#"{"hooks":{"PreToolUse":[{"matcher":"Bash","hooks":[
        {"type":"command","command":"grep -q '\"command\":\"ls\"' && { echo not today >&2; exit 2; }"}]}]}}"#;
    let folder = folder_with_files(&[(".claude/settings.json", settings)]);
    let native = r#"{"what":"about-to","with":{"line":"ls"}}"#;
    let (_, reply) = fire(TABLE, folder.path(), "toy", native);
    let reply = json(&reply.stdout);
    assert_eq!(reply["go"], false);
    assert!(reply["why"][0].as_str().expect("a reason").contains("not today"));
}

#[test]
fn its_hooks_run_with_a_custom_action() {
    let folder = folder_with_files(&[("toy.txt", "about-to =no\n")]);
    let (decision, _) = fire(TABLE, folder.path(), "claude", CLAUDE_EVENT);
    assert_eq!(decision.merged.ruling, Ruling::Deny);
    assert_eq!(decision.trail[0].action, "answer");
}
