//! `fire --from run`: the passes of an end, and firings that are repeated under one key.

use serde_json::{Value, json};

use crate::test_project::{TestProject, text};

/// A project with one hook for the end of an iteration in three dialects. Each hook appends a line
/// to `log`.
fn project_with_end_hooks() -> TestProject {
    let project = TestProject::new();
    let stop = json!({"type": "command", "command": "echo claude $GAMBREL_FIRING >> log"});
    let settings = json!({"hooks": {"Stop": [{"hooks": [stop]}]}});
    project.file(".claude/settings.json", &settings.to_string());
    project.file(
        ".iteratr.hooks.yml",
        r#"{version: 1, hooks: {post_iteration: [{command: "echo iteratr >> log"}]}}"#,
    );
    project.file(
        ".gambrel/hooks.yaml",
        r#"{hooks: {on_iteration_end: [{type: shell, await: true, command: "echo unified >> log"}]}}"#,
    );
    project
}

fn end_event(more: Value) -> String {
    let mut event = json!({"moment": "iteration.end", "session": "s", "facts": {"iteration": 1}});
    for (key, value) in more.as_object().unwrap() {
        event[key] = value.clone();
    }
    event.to_string()
}

fn fire(project: &TestProject, event: &str) -> Value {
    let output = project.run(&["fire", "--from", "run"], event.as_bytes());
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

fn logged(project: &TestProject) -> Vec<String> {
    let log = std::fs::read_to_string(project.root.join("log")).unwrap_or_default();
    log.lines().map(str::to_owned).collect()
}

fn reason_of(decision: &Value, dialect: &str) -> String {
    let trail = decision["trail"].as_array().unwrap();
    let step = trail.iter().find(|step| step["dialect"] == dialect).unwrap();
    step["why"].as_str().unwrap_or_default().to_owned()
}

#[test]
fn runs_hooks_that_can_veto_the_end_before_the_others() {
    let project = project_with_end_hooks();
    let veto = fire(&project, &end_event(json!({"pass": "veto", "firing_key": "k1"})));
    assert_eq!(logged(&project), ["claude k1"]);
    for dialect in ["iteratr", "unified"] {
        assert_eq!(reason_of(&veto, dialect), "runs when the iteration has ended");
    }

    fire(&project, &end_event(json!({"pass": "notify"})));
    assert_eq!(logged(&project), ["claude k1", "iteratr", "unified"]);
}

/// A project whose only hook refuses every end.
fn project_with_refusing_hook() -> TestProject {
    let project = TestProject::new();
    let stop = json!({"type": "command", "command": "echo no >&2; exit 2"});
    let settings = json!({"hooks": {"Stop": [{"hooks": [stop]}]}});
    project.file(".claude/settings.json", &settings.to_string());
    project
}

#[test]
fn an_iteration_begins_without_refusals_of_the_last_one() {
    let project = project_with_refusing_hook();
    let run = json!({"run_dir": "/runs/1"});
    let ruling_of_end = || fire(&project, &end_event(run.clone()))["ruling"].clone();
    for _ in 0..3 {
        assert_eq!(ruling_of_end(), "deny");
    }

    let mut start = json!({"moment": "iteration.start", "session": "s", "run_dir": "/runs/1"});
    start["facts"] = json!({"iteration": 2});
    fire(&project, &start.to_string());
    let rulings: Vec<Value> = (0..9).map(|_| ruling_of_end()).collect();
    assert_eq!(rulings[..8], ["deny"; 8]);
    assert_eq!(rulings[8], "silent");
}

/// A run that was killed repeats a firing under its key, and gets the same answer.
#[test]
fn a_repeated_firing_counts_its_refusal_once() {
    let project = project_with_refusing_hook();
    let ruling = |key: &str| {
        let more = json!({"run_dir": "/runs/1", "firing_key": key});
        fire(&project, &end_event(more))["ruling"].clone()
    };
    for end in 1..=8 {
        let key = format!("end {end}");
        assert_eq!([ruling(&key), ruling(&key), ruling(&key)], ["deny"; 3], "{key}");
    }
    assert_eq!(ruling("end 9"), "silent");
}

#[test]
fn explain_names_the_pass_that_leaves_a_hook_out() {
    let project = project_with_end_hooks();
    let event = end_event(json!({"pass": "veto"}));
    let output = project.run(&["explain", "--from", "run", "--json"], event.as_bytes());
    let explained: Value = serde_json::from_slice(&output.stdout).unwrap();
    let hooks = explained["hooks"].as_array().unwrap();
    let iteratr = hooks.iter().find(|hook| hook["dialect"] == "iteratr").unwrap();
    assert_eq!(iteratr["runs"], false);
    assert_eq!(iteratr["why"], "runs when the iteration has ended");
    assert!(logged(&project).is_empty());
}

#[test]
fn runs_all_hooks_without_a_pass_and_refuses_an_unknown_one() {
    let project = project_with_end_hooks();
    fire(&project, &end_event(json!({})));
    assert_eq!(logged(&project).len(), 3);

    let output =
        project.run(&["fire", "--from", "run"], end_event(json!({"pass": "sometimes"})).as_bytes());
    assert_eq!(output.status.code(), Some(64));
    assert!(text(&output.stderr).contains("`all`, `veto` or `notify`"), "{}", text(&output.stderr));
}

/// A reply without the id of its firing and without times.
fn comparable_reply(reply: &Value) -> Value {
    let mut reply = reply.clone();
    reply.as_object_mut().unwrap().remove("id").unwrap();
    for step in reply["trail"].as_array_mut().unwrap() {
        step.as_object_mut().unwrap().remove("ms").unwrap();
    }
    reply
}

#[test]
fn reuses_recorded_outcomes_of_a_repeated_firing() {
    let project = TestProject::new();
    project.guard("echo run >> log; echo no >&2; exit 2", 5);
    let event = json!({
        "moment": "tool.before", "session": "s", "firing_key": "run-1:tool-7",
        "facts": {"tool": {"kind": "shell", "name": "Bash", "args": {"command": "ls"}}},
    });

    let first = fire(&project, &event.to_string());
    let second = fire(&project, &event.to_string());
    assert_eq!(logged(&project), ["run"]);
    assert_eq!(first["ruling"], "deny");
    assert!(!reason_of(&first, "claude").contains("reused"), "{first}");
    let mut expected = comparable_reply(&first);
    let step = &mut expected["trail"][0];
    step["ran"] = json!(false);
    let remark = "reused: this hook ran in an earlier firing with the same key";
    step["why"] = json!(format!("{remark}; {}", step["why"].as_str().unwrap()));
    assert_eq!(comparable_reply(&second), expected);

    let other = json!({"firing_key": "run-1:tool-8"});
    let mut event = event;
    event["firing_key"] = other["firing_key"].clone();
    fire(&project, &event.to_string());
    assert_eq!(logged(&project), ["run", "run"]);
}

#[test]
fn runs_a_hook_again_whose_answer_stopped_the_run() {
    let project = TestProject::new();
    project.guard(r#"echo run >> log; echo '{"continue": false, "stopReason": "stop"}'"#, 5);
    let event = json!({
        "moment": "tool.before", "session": "s", "firing_key": "k",
        "facts": {"tool": {"kind": "shell", "name": "Bash", "args": {"command": "ls"}}},
    });
    assert_eq!(fire(&project, &event.to_string())["ruling"], "halt");
    fire(&project, &event.to_string());
    assert_eq!(logged(&project), ["run", "run"]);
}

#[test]
fn reads_over_a_torn_record() {
    let project = TestProject::new();
    project.guard("echo run >> log", 5);
    let event = json!({
        "moment": "tool.before", "session": "s", "firing_key": "k",
        "facts": {"tool": {"kind": "shell", "name": "Bash", "args": {"command": "ls"}}},
    });
    fire(&project, &event.to_string());
    let folder = project.base.join("state/session-files");
    let file = std::fs::read_dir(folder).unwrap().next().unwrap().unwrap().path();
    let whole = std::fs::read(&file).unwrap();
    std::fs::write(&file, &whole[..whole.len() - 5]).unwrap();

    fire(&project, &event.to_string());
    assert_eq!(logged(&project), ["run", "run"]);
    fire(&project, &event.to_string());
    assert_eq!(logged(&project), ["run", "run"], "the second record counts");
}

#[test]
fn runs_with_the_same_session_name_share_no_messages() {
    let project = TestProject::new();
    project.file(
        ".iteratr.hooks.yml",
        r#"{version: 1, hooks: {post_iteration: [{command: "echo for the next turn", pipe_output: true}]}}"#,
    );
    fire(&project, &end_event(json!({"run_dir": "/runs/1"})));

    let start = |run_dir: &str| {
        let event = json!({"moment": "iteration.start", "session": "s", "run_dir": run_dir});
        fire(&project, &event.to_string())["context"].clone()
    };
    assert_eq!(start("/runs/2"), json!([]));
    assert_eq!(start("/runs/1"), json!(["for the next turn\n"]));
}

#[test]
fn refuses_a_run_folder_that_is_no_text() {
    let project = TestProject::new();
    let event = end_event(json!({"run_dir": 7}));
    let output = project.run(&["fire", "--from", "run"], event.as_bytes());
    assert_eq!(output.status.code(), Some(64));
    assert!(text(&output.stderr).contains("`run_dir` is a text"), "{}", text(&output.stderr));
}
