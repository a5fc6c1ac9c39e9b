//! `check` prints notes on hooks that may do less than their author expects. Notes change no exit
//! code, and no firing shows or counts them.

use serde_json::Value;

use crate::test_project::{BASH_LS, TestProject, text};

/// Exit code of `check`, and severity, place and message of each complaint.
fn check_project(project: &TestProject) -> (Option<i32>, Vec<(String, String, String)>) {
    let output = project.run(&["check", "--json"], b"");
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    let field = |c: &Value, key: &str| c[key].as_str().unwrap_or_default().to_owned();
    let read_complaint = |c: &Value| {
        let place = format!("{}:{}", c["line"], c["column"]);
        (field(c, "severity"), place, field(c, "message"))
    };
    (
        output.status.code(),
        report["complaints"].as_array().unwrap().iter().map(read_complaint).collect(),
    )
}

fn project_with_action(point: &str, action: &str) -> TestProject {
    let project = TestProject::new();
    for script in ["guard.sh", "watch.sh", "format.sh"] {
        project.script(script, "#!/bin/sh\n");
    }
    project.file(".gambrel/hooks.yaml", &format!("hooks:\n  {point}:\n    - {{{action}}}\n"));
    project
}

/// The one note on an action, and its place.
fn single_note(point: &str, action: &str) -> (String, String) {
    let (code, mut complaints) = check_project(&project_with_action(point, action));
    assert_eq!((code, complaints.len()), (Some(0), 1), "{action}: {complaints:?}");
    let (severity, place, message) = complaints.remove(0);
    assert_eq!(severity, "note", "{message}");
    (place, message)
}

fn assert_clean(point: &str, action: &str) {
    assert_eq!(
        check_project(&project_with_action(point, action)),
        (Some(0), Vec::new()),
        "{action}"
    );
}

const ASKS: &str = "type: webhook, await: true, url: \"https://example.com/x\"";

#[test]
fn notes_unset_webhook_variables_at_their_place() {
    let url = "type: webhook, url: \"${MY_HOOK}\", body: {text: hi}";
    let (place, message) = single_note("on_error", url);
    assert_eq!(place, "3:29");
    assert!(message.contains("`MY_HOOK` is not set") && message.contains("cannot be sent"));
    let header = "type: webhook, url: \"https://example.com/x\", headers: {x-key: \"${MY_KEY}\"}";
    assert!(single_note("on_error", header).1.contains("`${MY_KEY}` is sent unchanged"));
    let body = "type: webhook, url: \"https://example.com/x\", body: {a: [{b: \"x ${MY_KEY}\"}]}";
    assert!(single_note("on_error", body).1.contains("`MY_KEY` is not set"));
    let elsewhere = "type: webhook, url: \"https://example.com/x\", body: {text: \"${ERROR}\"}";
    assert!(single_note("on_stage_complete", elsewhere).1.contains("on_error only"));
    assert_clean("on_error", elsewhere);
}

#[test]
fn the_environment_and_the_users_secrets_count_as_set() {
    let action =
        "type: webhook, url: \"${MY_HOOK}\", body: {key: \"${MY_KEY}\", of: \"${SESSION}\"}";
    let project = project_with_action("on_error", action).with("MY_HOOK", "https://example.com/x");
    project.file("../home/.config/gambrel/secrets.env", "export MY_KEY='k'\n");
    assert_eq!(check_project(&project), (Some(0), Vec::new()));
    let project = project.with("MY_HOOK", "");
    assert!(
        check_project(&project).1[0].2.contains("`MY_HOOK` is not set"),
        "an empty value counts as unset"
    );
}

#[test]
fn notes_only_misspelled_variables_in_commands() {
    let (place, message) = single_note("on_error", "type: shell, command: \"echo ${ITERATON}\"");
    assert_eq!(place, "3:36");
    assert!(message.contains("`ITERATON` is not set"), "{message}");
    for command in [
        "echo ${NO_SUCH_THING} ${CLAUDE_PROJECT_DIR} ${PWD} ${x}",
        "STAGES=3; echo ${STAGES}",
        "for STAGES in a b; do echo ${STAGES}; done",
        "echo ${STAGES:-none}",
        "echo ${ITERATION} ${ERROR}",
    ] {
        assert_clean("on_error", &format!("type: shell, command: \"{command}\""));
    }
    assert_clean("on_error", "type: shell, command: \"echo ${STAGES}\", env: {STAGES: \"3\"}");
    assert_clean("on_error", "type: shell, command: \"echo ${STAGES}\", pass_env: [STAGES]");
}

#[test]
fn notes_a_question_without_a_callback_link() {
    let (place, message) = single_note("on_tool_before", &format!("{ASKS}, body: {{text: hi}}"));
    assert_eq!(place, "3:72");
    assert!(message.contains("no `${CALLBACK_URL}`"), "{message}");
    single_note("on_tool_before", ASKS);
    assert_clean(
        "on_tool_before",
        &format!("{ASKS}, body: {{yes: \"${{CALLBACK_URL}}?action=ok\"}}"),
    );
    assert_clean("on_tool_before", &format!("{ASKS}, headers: {{x-link: \"${{CALLBACK_URL}}\"}}"));
    assert_clean(
        "on_tool_before",
        "type: webhook, url: \"https://example.com/x\", body: {text: hi}",
    );
}

#[test]
fn notes_gate_commands_that_cannot_block() {
    for point in ["on_tool_before", "on_iteration_start"] {
        let (_, message) = single_note(point, "type: shell, command: ./guard.sh");
        assert!(message.contains(point) && message.contains("nobody waits"), "{message}");
        let (_, message) = single_note(point, "type: shell, command: ./guard.sh, await: true");
        assert!(message.contains("its failure is ignored"), "{message}");
        assert_clean(point, "type: shell, command: ./guard.sh, await: true, on_failure: abort");
        assert_clean(point, "type: shell, command: ./watch.sh, on_failure: continue");
    }
    let retried = "type: shell, command: ./guard.sh, await: true, on_failure: retry";
    assert!(single_note("on_tool_before", retried).1.contains("after its last attempt"));
    assert_clean("on_tool_after", "type: shell, command: ./format.sh");
}

#[test]
fn warns_about_approvals_that_do_not_hold() {
    let question = format!("{ASKS}, body: {{yes: \"${{CALLBACK_URL}}\"}}");
    for (point, more) in [
        ("on_stage_complete", ""),
        ("on_iteration_start", ", on_failure: retry"),
        ("on_task_completed", ""),
    ] {
        let (code, complaints) =
            check_project(&project_with_action(point, &format!("{question}{more}")));
        assert_eq!((code, complaints.len()), (Some(1), 1), "{point}: {complaints:?}");
        assert_eq!(complaints[0].0, "warning");
        assert!(complaints[0].2.contains("this approval does not hold"), "{complaints:?}");
    }
    assert_clean("on_stage_complete", &format!("{question}, on_failure: abort"));
    assert_clean("on_stage_complete", &format!("{question}, on_failure: continue"));
    for point in ["on_tool_before", "on_tool_permission", "on_task_created"] {
        assert_clean(point, &question);
    }
}

#[test]
fn prints_and_counts_notes() {
    let project = project_with_action("on_tool_before", "type: shell, command: ./guard.sh");
    let output = project.run(&["check", "--color=never"], b"");
    let printed = text(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{printed}");
    assert!(printed.contains("note: this command can block nothing"), "{printed}");
    assert!(printed.contains("hooks.yaml:3:7"), "{printed}");
    assert!(printed.contains("1 hook, 0 errors, 0 warnings, 1 note\n"), "{printed}");
    let output = project.run(&["check", "--color=never", ".gambrel/hooks.yaml"], b"");
    assert_eq!(output.status.code(), Some(0));
    assert!(text(&output.stdout).contains("1 note\n"), "{}", text(&output.stdout));
}

#[test]
fn no_firing_shows_or_counts_a_note() {
    let project =
        project_with_action("on_tool_before", "type: shell, command: \"true\", tools: [shell]");
    assert_eq!(check_project(&project).1.len(), 1);
    let args = ["fire", "--from", "claude", "--strict", "--json"];
    let output = project.run(&args, BASH_LS.as_bytes());
    let decision: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(
        (&decision["ruling"], &decision["complaints"]),
        (&"silent".into(), &Value::Array(vec![]))
    );
    assert_eq!(text(&output.stderr), "");
    let listed = project.run(&["list"], b"");
    assert_eq!(text(&listed.stderr), "");
}
