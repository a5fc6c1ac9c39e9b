//! Checks the event and tool tables of all dialects, and replies to events without hooks.

use std::collections::BTreeSet;

use gambrel_dialects::{DIALECTS, claude};
use gambrel_model::{CallerContext, Decision, Moment, Powers};

#[test]
fn dialect_names_are_unique() {
    let names: BTreeSet<&str> = DIALECTS.iter().map(|dialect| dialect.name).collect();
    assert_eq!(names.len(), DIALECTS.len());
}

#[test]
fn event_names_are_unique_for_each_moment() {
    for dialect in DIALECTS {
        let mut seen = BTreeSet::new();
        for row in dialect.events() {
            assert!(seen.insert((row.name, row.moment.name())), "{}: {}", dialect.name, row.name);
        }
    }
}

#[test]
fn tool_names_are_unique_in_a_dialect() {
    for dialect in DIALECTS {
        let names: BTreeSet<&str> = dialect.tools.iter().map(|word| word.name).collect();
        assert_eq!(names.len(), dialect.tools.len(), "{}", dialect.name);
    }
}

/// Lists the dialects of each moment, so that a lost row fails the test.
#[test]
fn dialects_share_moments() {
    let speak = |moment: &Moment| -> Vec<&str> {
        let has = |rows: &[gambrel_model::EventSpec]| rows.iter().any(|row| row.moment == *moment);
        DIALECTS.iter().filter(|d| has(d.events())).map(|d| d.name).collect()
    };
    let neutral = |mut names: Vec<&'static str>| {
        names.extend(["gambrel", "run"]);
        names
    };
    assert_eq!(speak(&Moment::SessionStart), neutral(vec!["claude", "omp", "iteratr", "unified"]));
    assert_eq!(speak(&Moment::IterationEnd), neutral(vec!["claude", "omp", "iteratr", "unified"]));
    assert_eq!(speak(&Moment::ToolBefore), neutral(vec!["claude", "omp", "unified"]));
    assert_eq!(
        speak(&Moment::TaskCompleted),
        neutral(vec!["claude", "teams", "iteratr", "unified"])
    );
    assert_eq!(speak(&Moment::TaskFailed), neutral(vec!["teams", "unified"]));
    assert_eq!(speak(&Moment::MemberIdle), neutral(vec!["claude", "teams", "unified"]));
    assert_eq!(speak(&Moment::Error), neutral(vec!["claude", "iteratr", "unified"]));
    assert_eq!(speak(&Moment::StageEnd), neutral(vec!["unified"]));
}

/// An empty decision is not a refusal for any caller.
#[test]
fn empty_decisions_exit_with_zero_for_every_caller() {
    let events = [
        (
            "claude",
            r#"{"hook_event_name":"PreToolUse","session_id":"s","tool_name":"Bash","tool_input":{}}"#,
        ),
        ("claude", r#"{"hook_event_name":"Stop","session_id":"s"}"#),
        ("omp", r#"{"type":"tool_call","toolName":"bash","input":{}}"#),
        ("teams", r#"{"event":"task_completed","team":{"id":"t"}}"#),
        ("iteratr", r#"{"hook":"pre_iteration","vars":{}}"#),
        ("unified", r#"{"hook_point":"on_iteration_start","vars":{}}"#),
        ("gambrel", r#"{"moment":"tool.before"}"#),
    ];
    for (name, native) in events {
        let dialect = DIALECTS.iter().find(|d| d.name == name).unwrap();
        let event = dialect.receive_event(native.as_bytes(), CallerContext::default()).unwrap();
        let reply = dialect.caller.write_reply(&event, &Decision::default());
        assert_eq!(reply.exit, 0, "{name}: {native}");
        let text = String::from_utf8(reply.stdout).unwrap();
        assert!(!text.contains("deny") && !text.contains("block\""), "{name}: {text}");
    }
}

#[test]
fn callers_that_accept_allow_also_accept_deny() {
    for dialect in DIALECTS {
        for row in dialect.events().iter().filter(|row| row.caller_powers.contains(Powers::ALLOW)) {
            assert!(row.caller_powers.contains(Powers::DENY), "{}: {}", dialect.name, row.name);
        }
    }
}

#[test]
fn every_claude_code_event_has_a_first_version() {
    let patch = |version: &str| -> u32 {
        let rest = version.strip_prefix("2.1.").unwrap_or_else(|| panic!("{version}"));
        rest.parse().unwrap_or_else(|_| panic!("{version}"))
    };
    for row in claude::CLAUDE.events() {
        let since = patch(claude::first_version(row));
        assert_eq!(since > 325, row.name.is_empty(), "{}: 2.1.{since}", row.name);
    }
    let since = |name: &str| {
        let mut rows = claude::CLAUDE.events().iter();
        claude::first_version(rows.find(|row| row.name == name).unwrap())
    };
    assert_eq!(since("PreToolUse"), "2.1.0");
    assert_eq!(since("CwdChanged"), "2.1.83");
    assert_eq!(since("PostModelSwitch"), "2.1.251");
}
