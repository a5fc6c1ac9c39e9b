//! The ten success criteria of agent-pipelines, one test each, with the built program.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::approval_fixture::{ApprovalFixture, TIMEOUT_SECS};
use crate::fake_runner::with_fake_runner;
use crate::http_server::{HttpServer, free_port, post_answer};
use crate::test_project::{TestProject, text, wait_until};

/// Replaces `gambrel run`: writes its pipeline and inputs to `output.json`.
const CHILD: &str = "#!/bin/sh\n\
    printf '{\"pipeline\":\"%s\",\"inputs\":%s}' \"$1\" \"$(cat \"$5\")\" > \"$3/output.json\"\n";

/// A project with these actions at one hook point, and a fake runner for child pipelines.
fn project_with_actions(point: &str, actions: &Value) -> TestProject {
    let project = with_fake_runner(TestProject::new(), CHILD);
    project.file(".gambrel/hooks.yaml", &json!({"hooks": {point: actions}}).to_string());
    project
}

fn fire_with(project: &TestProject, more: &[&str], point: &str, vars: &Value) -> Value {
    let event = json!({"hook_point": point, "vars": vars}).to_string();
    let args = [&["fire", "--from", "unified"], more].concat();
    let output = project.run(&args, event.as_bytes());
    let reply: Value = serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|_| panic!("{}", text(&output.stderr)));
    let code = i32::from(reply["abort"] == true);
    assert_eq!(output.status.code(), Some(code), "{reply}");
    reply
}

fn fire(project: &TestProject, point: &str, vars: &Value) -> Value {
    fire_with(project, &[], point, vars)
}

fn statuses(reply: &Value) -> Vec<&str> {
    let actions = reply["actions"].as_array().unwrap();
    actions.iter().map(|action| action["status"].as_str().unwrap()).collect()
}

fn read_file(project: &TestProject, path: &str) -> String {
    std::fs::read_to_string(project.root.join(path)).unwrap_or_default()
}

fn shell(command: &str) -> Value {
    json!({"type": "shell", "command": command, "await": true})
}

#[test]
fn all_three_action_types_work() {
    let server = HttpServer::start();
    let actions = json!([
        shell("echo ${SESSION} > shell.txt"),
        {"type": "webhook", "url": server.url("/hook"), "body": {"text": "${SESSION} is done"}},
        {"type": "spawn", "pipeline": "review", "inputs": {"session": "${SESSION}"}},
    ]);
    let project = project_with_actions("on_session_complete", &actions);
    let reply = fire(&project, "on_session_complete", &json!({"SESSION": "night"}));
    assert_eq!(statuses(&reply), ["success", "started", "success"], "{reply}");
    assert_eq!(read_file(&project, "shell.txt"), "night\n");
    assert_eq!(server.wait_for_nth(1).json(), json!({"text": "night is done"}));
    let output = reply["vars"]["SPAWN_OUTPUT"].as_str().unwrap();
    let whole = json!({"pipeline": "review", "inputs": {"session": "night"}});
    assert_eq!(serde_json::from_str::<Value>(output).unwrap(), whole);
}

#[test]
fn await_mode_blocks_execution() {
    let actions = json!([
        shell("sleep 0.3; echo first >> order"),
        {"type": "spawn", "pipeline": "review", "inputs": {}},
        shell("test -n ${SPAWN_OUTPUT} && echo second >> order"),
    ]);
    let project = project_with_actions("on_iteration_complete", &actions);
    let reply = fire(&project, "on_iteration_complete", &json!({"ITERATION": 1}));
    assert_eq!(statuses(&reply), ["success"; 3], "{reply}");
    assert_eq!(read_file(&project, "order"), "first\nsecond\n");
}

#[test]
fn fire_and_forget_does_not_block() {
    let hold = |name: &str| format!("until test -e go; do sleep 0.05; done; echo > {name}");
    let actions = json!([
        {"type": "shell", "command": hold("one"), "timeout": 30},
        {"type": "shell", "command": hold("two"), "timeout": 30},
        shell("echo ${LAST_HOOK_STATUS} > after"),
    ]);
    let project = project_with_actions("on_iteration_complete", &actions);
    // Both wait for a file that is made only when the reply is there.
    let reply = fire(&project, "on_iteration_complete", &json!({}));
    assert_eq!(statuses(&reply), ["started", "started", "success"], "{reply}");
    assert_eq!(read_file(&project, "after"), "success\n");
    assert!(!project.root.join("one").exists() && !project.root.join("two").exists());
    project.file("go", "");
    wait_until("both end", || ["one", "two"].iter().all(|name| project.root.join(name).exists()));
}

#[test]
fn conditions_evaluate() {
    let cases = [
        ("${ITERATION} == 10", true),
        ("${ITERATION} == 1", false),
        ("${ITERATION} % 10 == 0", true),
        ("${ITERATION} % 3 == 0", false),
        ("${STAGE} == 'plan'", true),
        ("${STAGE} == 'work'", false),
        ("${LAST_DECISION} == 'stop'", true),
        ("${ITERATION} > 5 && ${STAGE} == 'plan'", true),
        ("${ITERATION} > 5 && ${STAGE} == 'work'", false),
        ("${ITERATION} > 50 || ${STAGE} == 'plan'", true),
        ("${NEXT_STAGE} == 'deploy'", false),
        ("${LAST_HOOK_STATUS} == 'failed'", false),
    ];
    let action = |(when, _): &(&str, bool)| json!({"type": "shell", "command": "true", "await": true, "when": when});
    let mut actions: Vec<Value> = cases.iter().map(action).collect();
    actions.push(shell("false"));
    actions.push(action(&("${LAST_HOOK_STATUS} == 'failed'", true)));
    let project = project_with_actions("on_iteration_complete", &json!(actions));
    let vars = json!({"ITERATION": 10, "STAGE": "plan", "LAST_DECISION": "stop"});
    let reply = fire(&project, "on_iteration_complete", &vars);
    let wanted = cases.iter().map(|(_, holds)| if *holds { "success" } else { "skipped" });
    let wanted: Vec<&str> = wanted.chain(["failed", "success"]).collect();
    assert_eq!(statuses(&reply), wanted, "{reply}");
}

#[test]
fn variables_resolve_in_all_contexts() {
    const VARIABLES: [&str; 12] = [
        "SESSION",
        "STAGE",
        "NEXT_STAGE",
        "ITERATION",
        "MAX_ITERATIONS",
        "PROGRESS",
        "STATUS",
        "CTX",
        "LAST_DECISION",
        "CHANGED_FILES",
        "STAGE_OUTPUTS",
        "ERROR",
    ];
    let vars: Value = VARIABLES
        .iter()
        .map(|name| ((*name).to_owned(), json!(format!("the {name}"))))
        .collect::<serde_json::Map<_, _>>()
        .into();
    let body: Value = VARIABLES
        .iter()
        .map(|name| ((*name).to_owned(), json!(format!("${{{name}}}"))))
        .collect::<serde_json::Map<_, _>>()
        .into();
    let server = HttpServer::start();
    let placed: Vec<String> = VARIABLES.iter().map(|name| format!("${{{name}}}")).collect();
    let named: Vec<String> = VARIABLES.iter().map(|name| format!("\"${name}\"")).collect();
    let actions = json!([
        shell(&format!("printf '%s\\n' {} > templates", placed.join(" "))),
        shell(&format!("printf '%s\\n' {} > environment", named.join(" "))),
        shell("printf '%s' ${TIMESTAMP} > time"),
        shell("test \"$LAST_HOOK_STATUS\" = success && test ${LAST_HOOK_STATUS} = success"),
        {"type": "webhook", "url": server.url("/${STAGE}?s=${SESSION}"),
            "headers": {"x-stage": "${STAGE}"}, "body": body},
        {"type": "spawn", "pipeline": "review", "inputs": body},
        shell("test -n \"$SPAWN_OUTPUT\" && printf '%s' ${SPAWN_OUTPUT} > output"),
    ]);
    let project = project_with_actions("on_error", &actions);
    let reply = fire(&project, "on_error", &vars);
    assert_eq!(
        statuses(&reply).iter().filter(|status| **status == "success").count(),
        6,
        "{reply}"
    );
    let lines: String = VARIABLES.iter().map(|name| format!("the {name}\n")).collect();
    assert_eq!(read_file(&project, "templates"), lines);
    assert_eq!(read_file(&project, "environment"), lines);
    let time = read_file(&project, "time");
    assert!(time.len() >= 20 && time.contains('T') && time.ends_with('Z'), "{time}");
    let request = server.wait_for_nth(1);
    assert_eq!(request.target, "/the%20STAGE?s=the%20SESSION");
    assert_eq!(request.header("x-stage"), Some(&b"the STAGE"[..]));
    assert_eq!(request.json(), vars);
    let output: Value = serde_json::from_str(&read_file(&project, "output")).unwrap();
    assert_eq!(output["inputs"], vars);
}

#[test]
fn callback_server_handles_responses() {
    for (action, aborts) in [("approve", false), ("reject", true), ("later", false)] {
        let fixture = ApprovalFixture::new();
        let mut waiting = fixture.start_fire("night");
        let link = fixture.server.wait_for_nth(1).link();
        assert!(waiting.is_waiting());
        assert_eq!(post_answer(&link, action, "Looks good, proceed").status, 200);
        let reply = waiting.reply();
        assert_eq!(reply["abort"], aborts, "{action}: {reply}");
        if !aborts {
            let expected = json!({"action": action, "message": "Looks good, proceed"});
            assert_eq!(fixture.recorded_answer(), expected);
        }
    }
}

#[test]
fn child_pipelines_spawn_and_return_outputs() {
    let child =
        json!({"type": "spawn", "pipeline": "review", "inputs": {"files": "${CHANGED_FILES}"}});
    let actions = json!([child, child, shell("printf '%s' ${SPAWN_OUTPUT} > output")]);
    let project = project_with_actions("on_iteration_complete", &actions);
    let session = project.root.join("a session");
    let vars = json!({"ITERATION": 10, "CHANGED_FILES": "a.rs b.rs", "SESSION_DIR": session});
    let reply = fire(&project, "on_iteration_complete", &vars);
    assert_eq!(statuses(&reply), ["success"; 3], "{reply}");
    let children = session.join("children");
    for name in ["on_iteration_complete-10", "on_iteration_complete-10-2"] {
        let inputs = std::fs::read(children.join(name).join("inputs.json")).unwrap();
        let inputs: Value = serde_json::from_slice(&inputs).unwrap();
        assert_eq!(inputs, json!({"files": "a.rs b.rs"}));
    }
    let output: Value = serde_json::from_str(&read_file(&project, "output")).unwrap();
    assert_eq!(output, json!({"pipeline": "review", "inputs": {"files": "a.rs b.rs"}}));
}

#[test]
fn global_hooks_apply_unless_disabled() {
    let project = TestProject::new();
    let home = project.base.join("home/.config/agent-pipelines");
    std::fs::create_dir_all(&home).unwrap();
    let global = json!({"hooks": {"on_session_complete": [shell("echo global >> log")]}});
    std::fs::write(home.join("hooks.yaml"), global.to_string()).unwrap();
    let own = |off: bool| {
        json!({"name": "full", "disable_global_hooks": off,
            "hooks": {"on_session_complete": [shell("echo pipeline >> log")]}})
        .to_string()
    };
    project.file("on.yaml", &own(false));
    project.file("off.yaml", &own(true));
    for (file, flag, expected) in [
        ("on.yaml", "--pipeline", "pipeline\nglobal\n"),
        ("off.yaml", "--pipeline", "pipeline\n"),
        ("off.yaml", "--stage", "pipeline\n"),
    ] {
        fire_with(&project, &[flag, file], "on_session_complete", &json!({}));
        assert_eq!(read_file(&project, "log"), expected, "{flag} {file}");
        std::fs::remove_file(project.root.join("log")).unwrap();
    }
    fire(&project, "on_session_complete", &json!({}));
    assert_eq!(read_file(&project, "log"), "global\n");
}

#[test]
fn hook_failures_respect_on_failure() {
    let failing = |policy: &str, file: &str| {
        json!({"type": "shell", "command": format!("echo try >> {file}; exit 3"), "await": true,
            "on_failure": policy, "retries": 2, "retry_delay": 0})
    };
    let actions = json!([
        failing("continue", "continued"),
        shell("echo ${LAST_HOOK_STATUS} > after"),
        failing("retry", "retried"),
        failing("abort", "aborted"),
        shell("echo never > never"),
    ]);
    let project = project_with_actions("on_iteration_complete", &actions);
    let reply = fire(&project, "on_iteration_complete", &json!({}));
    assert_eq!(reply["abort"], true);
    assert_eq!(statuses(&reply), ["failed", "success", "failed", "failed", "skipped"], "{reply}");
    assert_eq!(read_file(&project, "after"), "failed\n");
    assert_eq!(read_file(&project, "continued"), "try\n");
    assert_eq!(read_file(&project, "retried"), "try\n".repeat(3), "1 + retries attempts");
    assert_eq!(read_file(&project, "aborted"), "try\n");
    assert!(!project.root.join("never").exists());
}

#[test]
fn timeouts_trigger() {
    let server = HttpServer::start();
    let wait = |on_timeout: &str, port: u16| {
        json!({"type": "webhook", "url": server.url("/ask"), "body": {"link": "${CALLBACK_URL}"},
            "await": true, "timeout": 1, "on_timeout": on_timeout, "callback_port": port})
    };
    let port = free_port();
    let actions = json!([
        {"type": "shell", "command": "sleep 40; echo > survived", "await": true, "timeout": 1},
        wait("continue", port),
        wait("abort", port),
        shell("echo never > never"),
    ]);
    let project = project_with_actions("on_iteration_complete", &actions);
    let began = Instant::now();
    let reply = fire(&project, "on_iteration_complete", &json!({}));
    assert!(
        began.elapsed() < Duration::from_secs(u64::from(TIMEOUT_SECS) / 2),
        "{:?}",
        began.elapsed()
    );
    assert_eq!(statuses(&reply), ["failed", "failed", "failed", "skipped"], "{reply}");
    assert_eq!(reply["abort"], true);
    assert!(!project.root.join("never").exists() && !project.root.join("survived").exists());
}
