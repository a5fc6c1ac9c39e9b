//! `check` notes what runs and may do less than its author expects. Notes are for whoever looks a
//! file over: they change no exit code, and no firing shows or counts them.

use serde_json::Value;

use crate::ground::{BASH_LS, Ground, text};

/// Severity, place and message of everything that `check` tells.
fn told(ground: &Ground) -> (Option<i32>, Vec<(String, String, String)>) {
    let output = ground.run(&["check", "--json"], b"");
    let told: Value = serde_json::from_slice(&output.stdout).unwrap();
    let word = |c: &Value, key: &str| c[key].as_str().unwrap_or_default().to_owned();
    let one = |c: &Value| {
        let place = format!("{}:{}", c["line"], c["column"]);
        (word(c, "severity"), place, word(c, "message"))
    };
    (output.status.code(), told["complaints"].as_array().unwrap().iter().map(one).collect())
}

fn at(point: &str, action: &str) -> Ground {
    let ground = Ground::new();
    ground.file(".gambrel/hooks.yaml", &format!("hooks:\n  {point}:\n    - {{{action}}}\n"));
    ground
}

/// The one note on an action, and its place.
fn note(point: &str, action: &str) -> (String, String) {
    let (code, mut told) = told(&at(point, action));
    assert_eq!((code, told.len()), (Some(0), 1), "{action}: {told:?}");
    let (severity, place, message) = told.remove(0);
    assert_eq!(severity, "note", "{message}");
    (place, message)
}

fn clean(point: &str, action: &str) {
    assert_eq!(told(&at(point, action)), (Some(0), Vec::new()), "{action}");
}

const ASKS: &str = "type: webhook, await: true, url: \"https://example.com/x\"";

#[test]
fn a_variable_of_a_webhook_without_a_value_is_noted_where_it_stands() {
    let url = "type: webhook, url: \"${MY_HOOK}\", body: {text: hi}";
    let (place, message) = note("on_error", url);
    assert_eq!(place, "3:29");
    assert!(message.contains("`MY_HOOK` is not set") && message.contains("cannot be sent"));
    let header = "type: webhook, url: \"https://example.com/x\", headers: {x-key: \"${MY_KEY}\"}";
    assert!(note("on_error", header).1.contains("`${MY_KEY}` is sent as it stands"));
    let body = "type: webhook, url: \"https://example.com/x\", body: {a: [{b: \"x ${MY_KEY}\"}]}";
    assert!(note("on_error", body).1.contains("`MY_KEY` is not set"));
    let elsewhere = "type: webhook, url: \"https://example.com/x\", body: {text: \"${ERROR}\"}";
    assert!(note("on_stage_complete", elsewhere).1.contains("on_error only"));
    clean("on_error", elsewhere);
}

#[test]
fn the_environment_and_the_users_secrets_count_as_set() {
    let action =
        "type: webhook, url: \"${MY_HOOK}\", body: {key: \"${MY_KEY}\", of: \"${SESSION}\"}";
    let ground = at("on_error", action).with("MY_HOOK", "https://example.com/x");
    ground.file("../home/.config/gambrel/secrets.env", "export MY_KEY='k'\n");
    assert_eq!(told(&ground), (Some(0), Vec::new()));
    let ground = ground.with("MY_HOOK", "");
    assert!(told(&ground).1[0].2.contains("`MY_HOOK` is not set"), "an empty address is none");
}

#[test]
fn a_command_is_noted_only_where_a_name_is_nearly_ours() {
    let (place, message) = note("on_error", "type: shell, command: \"echo ${ITERATON}\"");
    assert_eq!(place, "3:36");
    assert!(message.contains("`ITERATON` is not set"), "{message}");
    for command in [
        "echo ${NO_SUCH_THING} ${CLAUDE_PROJECT_DIR} ${PWD} ${x}",
        "STAGES=3; echo ${STAGES}",
        "for STAGES in a b; do echo ${STAGES}; done",
        "echo ${STAGES:-none}",
        "echo ${ITERATION} ${ERROR}",
    ] {
        clean("on_error", &format!("type: shell, command: \"{command}\""));
    }
    clean("on_error", "type: shell, command: \"echo ${STAGES}\", env: {STAGES: \"3\"}");
    clean("on_error", "type: shell, command: \"echo ${STAGES}\", pass_env: [STAGES]");
}

#[test]
fn a_question_without_a_link_for_its_answer_is_noted() {
    let (place, message) = note("on_tool_before", &format!("{ASKS}, body: {{text: hi}}"));
    assert_eq!(place, "3:72");
    assert!(message.contains("no `${CALLBACK_URL}`"), "{message}");
    note("on_tool_before", ASKS);
    clean("on_tool_before", &format!("{ASKS}, body: {{yes: \"${{CALLBACK_URL}}?action=ok\"}}"));
    clean("on_tool_before", &format!("{ASKS}, headers: {{x-link: \"${{CALLBACK_URL}}\"}}"));
    clean("on_tool_before", "type: webhook, url: \"https://example.com/x\", body: {text: hi}");
}

#[test]
fn a_command_that_can_block_nothing_at_a_gate_is_noted() {
    for point in ["on_tool_before", "on_iteration_start"] {
        let (_, message) = note(point, "type: shell, command: ./guard.sh");
        assert!(message.contains(point) && message.contains("nobody waits"), "{message}");
        let (_, message) = note(point, "type: shell, command: ./guard.sh, await: true");
        assert!(message.contains("its failure is passed over"), "{message}");
        clean(point, "type: shell, command: ./guard.sh, await: true, on_failure: abort");
        clean(point, "type: shell, command: ./watch.sh, on_failure: continue");
    }
    let retried = "type: shell, command: ./guard.sh, await: true, on_failure: retry";
    assert!(note("on_tool_before", retried).1.contains("after its last attempt"));
    clean("on_tool_after", "type: shell, command: ./format.sh");
}

#[test]
fn an_approval_that_does_not_hold_is_a_warning() {
    let question = format!("{ASKS}, body: {{yes: \"${{CALLBACK_URL}}\"}}");
    for (point, more) in [
        ("on_stage_complete", ""),
        ("on_iteration_start", ", on_failure: retry"),
        ("on_task_completed", ""),
    ] {
        let (code, told) = told(&at(point, &format!("{question}{more}")));
        assert_eq!((code, told.len()), (Some(1), 1), "{point}: {told:?}");
        assert_eq!(told[0].0, "warning");
        assert!(told[0].2.contains("this approval does not hold"), "{told:?}");
    }
    clean("on_stage_complete", &format!("{question}, on_failure: abort"));
    clean("on_stage_complete", &format!("{question}, on_failure: continue"));
    for point in ["on_tool_before", "on_tool_permission", "on_task_created"] {
        clean(point, &question);
    }
}

#[test]
fn notes_are_drawn_and_counted_by_check() {
    let ground = at("on_tool_before", "type: shell, command: ./guard.sh");
    let output = ground.run(&["check", "--color=never"], b"");
    let told = text(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{told}");
    assert!(told.contains("note: this command can block nothing"), "{told}");
    assert!(told.contains("hooks.yaml:3:7"), "{told}");
    assert!(told.contains("1 hooks, 0 errors, 0 warnings, 1 note\n"), "{told}");
    let output = ground.run(&["check", "--color=never", ".gambrel/hooks.yaml"], b"");
    assert_eq!(output.status.code(), Some(0));
    assert!(text(&output.stdout).contains("1 note\n"), "{}", text(&output.stdout));
}

#[test]
fn no_firing_shows_or_counts_a_note() {
    let ground = at("on_tool_before", "type: shell, command: \"true\", tools: [shell]");
    assert_eq!(told(&ground).1.len(), 1);
    let args = ["fire", "--from", "claude", "--strict", "--json"];
    let output = ground.run(&args, BASH_LS.as_bytes());
    let decision: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(
        (&decision["ruling"], &decision["complaints"]),
        (&"silent".into(), &Value::Array(vec![]))
    );
    assert_eq!(text(&output.stderr), "");
    let listed = ground.run(&["list"], b"");
    assert_eq!(text(&listed.stderr), "");
}
