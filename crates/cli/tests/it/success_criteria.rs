//! The ten success criteria of agent-pipelines, one test each, with the built program.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::approval_scene::{Scene, TIMEOUT};
use crate::ground::{Ground, text, until};
use crate::mailbox::{Mailbox, post, quiet_port};
use crate::stand_in::with_children;

/// Stands in for `gambrel run`: leaves what it was given, and where it was.
const CHILD: &str = "#!/bin/sh\n\
    printf '{\"pipeline\":\"%s\",\"inputs\":%s}' \"$1\" \"$(cat \"$5\")\" > \"$3/output.json\"\n";

/// A project with these actions at one point, and a stand-in for child pipelines.
fn project(point: &str, actions: &Value) -> Ground {
    let ground = with_children(Ground::new(), CHILD);
    ground.file(".gambrel/hooks.yaml", &json!({"hooks": {point: actions}}).to_string());
    ground
}

fn fire_with(ground: &Ground, more: &[&str], point: &str, vars: &Value) -> Value {
    let event = json!({"hook_point": point, "vars": vars}).to_string();
    let args = [&["fire", "--from", "unified"], more].concat();
    let output = ground.run(&args, event.as_bytes());
    let reply: Value = serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|_| panic!("{}", text(&output.stderr)));
    let code = i32::from(reply["abort"] == true);
    assert_eq!(output.status.code(), Some(code), "{reply}");
    reply
}

fn fire(ground: &Ground, point: &str, vars: &Value) -> Value {
    fire_with(ground, &[], point, vars)
}

fn statuses(reply: &Value) -> Vec<&str> {
    let actions = reply["actions"].as_array().unwrap();
    actions.iter().map(|action| action["status"].as_str().unwrap()).collect()
}

fn read(ground: &Ground, path: &str) -> String {
    std::fs::read_to_string(ground.root.join(path)).unwrap_or_default()
}

fn shell(command: &str) -> Value {
    json!({"type": "shell", "command": command, "await": true})
}

#[test]
fn all_three_action_types_work() {
    let mailbox = Mailbox::open();
    let actions = json!([
        shell("echo ${SESSION} > shell.txt"),
        {"type": "webhook", "url": mailbox.url("/hook"), "body": {"text": "${SESSION} is done"}},
        {"type": "spawn", "pipeline": "review", "inputs": {"session": "${SESSION}"}},
    ]);
    let ground = project("on_session_complete", &actions);
    let reply = fire(&ground, "on_session_complete", &json!({"SESSION": "night"}));
    assert_eq!(statuses(&reply), ["success", "started", "success"], "{reply}");
    assert_eq!(read(&ground, "shell.txt"), "night\n");
    assert_eq!(mailbox.wait_for(1).json(), json!({"text": "night is done"}));
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
    let ground = project("on_iteration_complete", &actions);
    let reply = fire(&ground, "on_iteration_complete", &json!({"ITERATION": 1}));
    assert_eq!(statuses(&reply), ["success"; 3], "{reply}");
    assert_eq!(read(&ground, "order"), "first\nsecond\n");
}

#[test]
fn fire_and_forget_does_not_block() {
    let hold = |name: &str| format!("until test -e go; do sleep 0.05; done; echo > {name}");
    let actions = json!([
        {"type": "shell", "command": hold("one"), "timeout": 30},
        {"type": "shell", "command": hold("two"), "timeout": 30},
        shell("echo ${LAST_HOOK_STATUS} > after"),
    ]);
    let ground = project("on_iteration_complete", &actions);
    // Both wait for a file that is made only when the reply is there.
    let reply = fire(&ground, "on_iteration_complete", &json!({}));
    assert_eq!(statuses(&reply), ["started", "started", "success"], "{reply}");
    assert_eq!(read(&ground, "after"), "success\n");
    assert!(!ground.root.join("one").exists() && !ground.root.join("two").exists());
    ground.file("go", "");
    until("both end", || ["one", "two"].iter().all(|name| ground.root.join(name).exists()));
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
    let ground = project("on_iteration_complete", &json!(actions));
    let vars = json!({"ITERATION": 10, "STAGE": "plan", "LAST_DECISION": "stop"});
    let reply = fire(&ground, "on_iteration_complete", &vars);
    let wanted = cases.iter().map(|(_, holds)| if *holds { "success" } else { "skipped" });
    let wanted: Vec<&str> = wanted.chain(["failed", "success"]).collect();
    assert_eq!(statuses(&reply), wanted, "{reply}");
}

#[test]
fn variables_resolve_in_all_contexts() {
    const TOLD: [&str; 12] = [
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
    let vars: Value = TOLD
        .iter()
        .map(|name| ((*name).to_owned(), json!(format!("the {name}"))))
        .collect::<serde_json::Map<_, _>>()
        .into();
    let body: Value = TOLD
        .iter()
        .map(|name| ((*name).to_owned(), json!(format!("${{{name}}}"))))
        .collect::<serde_json::Map<_, _>>()
        .into();
    let mailbox = Mailbox::open();
    let placed: Vec<String> = TOLD.iter().map(|name| format!("${{{name}}}")).collect();
    let named: Vec<String> = TOLD.iter().map(|name| format!("\"${name}\"")).collect();
    let actions = json!([
        shell(&format!("printf '%s\\n' {} > templates", placed.join(" "))),
        shell(&format!("printf '%s\\n' {} > environment", named.join(" "))),
        shell("printf '%s' ${TIMESTAMP} > time"),
        shell("test \"$LAST_HOOK_STATUS\" = success && test ${LAST_HOOK_STATUS} = success"),
        {"type": "webhook", "url": mailbox.url("/${STAGE}?s=${SESSION}"),
            "headers": {"x-stage": "${STAGE}"}, "body": body},
        {"type": "spawn", "pipeline": "review", "inputs": body},
        shell("test -n \"$SPAWN_OUTPUT\" && printf '%s' ${SPAWN_OUTPUT} > output"),
    ]);
    let ground = project("on_error", &actions);
    let reply = fire(&ground, "on_error", &vars);
    assert_eq!(
        statuses(&reply).iter().filter(|status| **status == "success").count(),
        6,
        "{reply}"
    );
    let lines: String = TOLD.iter().map(|name| format!("the {name}\n")).collect();
    assert_eq!(read(&ground, "templates"), lines);
    assert_eq!(read(&ground, "environment"), lines);
    let time = read(&ground, "time");
    assert!(time.len() >= 20 && time.contains('T') && time.ends_with('Z'), "{time}");
    let letter = mailbox.wait_for(1);
    assert_eq!(letter.target, "/the%20STAGE?s=the%20SESSION");
    assert_eq!(letter.header("x-stage"), Some(&b"the STAGE"[..]));
    assert_eq!(letter.json(), vars);
    let output: Value = serde_json::from_str(&read(&ground, "output")).unwrap();
    assert_eq!(output["inputs"], vars);
}

#[test]
fn callback_server_handles_responses() {
    for (action, aborts) in [("approve", false), ("reject", true), ("later", false)] {
        let scene = Scene::new();
        let mut waiting = scene.ask("night");
        let link = scene.mailbox.wait_for(1).link();
        assert!(waiting.is_waiting());
        assert_eq!(post(&link, action, "Looks good, proceed").status, 200);
        let reply = waiting.reply();
        assert_eq!(reply["abort"], aborts, "{action}: {reply}");
        if !aborts {
            let said = json!({"action": action, "message": "Looks good, proceed"});
            assert_eq!(scene.heard(), said);
        }
    }
}

#[test]
fn child_pipelines_spawn_and_return_outputs() {
    let child =
        json!({"type": "spawn", "pipeline": "review", "inputs": {"files": "${CHANGED_FILES}"}});
    let actions = json!([child, child, shell("printf '%s' ${SPAWN_OUTPUT} > output")]);
    let ground = project("on_iteration_complete", &actions);
    let session = ground.root.join("a session");
    let vars = json!({"ITERATION": 10, "CHANGED_FILES": "a.rs b.rs", "SESSION_DIR": session});
    let reply = fire(&ground, "on_iteration_complete", &vars);
    assert_eq!(statuses(&reply), ["success"; 3], "{reply}");
    let children = session.join("children");
    for name in ["on_iteration_complete-10", "on_iteration_complete-10-2"] {
        let inputs = std::fs::read(children.join(name).join("inputs.json")).unwrap();
        let inputs: Value = serde_json::from_slice(&inputs).unwrap();
        assert_eq!(inputs, json!({"files": "a.rs b.rs"}));
    }
    let output: Value = serde_json::from_str(&read(&ground, "output")).unwrap();
    assert_eq!(output, json!({"pipeline": "review", "inputs": {"files": "a.rs b.rs"}}));
}

#[test]
fn global_hooks_apply_unless_disabled() {
    let ground = Ground::new();
    let home = ground.base.join("home/.config/agent-pipelines");
    std::fs::create_dir_all(&home).unwrap();
    let global = json!({"hooks": {"on_session_complete": [shell("echo global >> said")]}});
    std::fs::write(home.join("hooks.yaml"), global.to_string()).unwrap();
    let own = |off: bool| {
        json!({"name": "full", "disable_global_hooks": off,
            "hooks": {"on_session_complete": [shell("echo pipeline >> said")]}})
        .to_string()
    };
    ground.file("on.yaml", &own(false));
    ground.file("off.yaml", &own(true));
    for (file, flag, said) in [
        ("on.yaml", "--pipeline", "pipeline\nglobal\n"),
        ("off.yaml", "--pipeline", "pipeline\n"),
        ("off.yaml", "--stage", "pipeline\n"),
    ] {
        fire_with(&ground, &[flag, file], "on_session_complete", &json!({}));
        assert_eq!(read(&ground, "said"), said, "{flag} {file}");
        std::fs::remove_file(ground.root.join("said")).unwrap();
    }
    fire(&ground, "on_session_complete", &json!({}));
    assert_eq!(read(&ground, "said"), "global\n");
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
    let ground = project("on_iteration_complete", &actions);
    let reply = fire(&ground, "on_iteration_complete", &json!({}));
    assert_eq!(reply["abort"], true);
    assert_eq!(statuses(&reply), ["failed", "success", "failed", "failed", "skipped"], "{reply}");
    assert_eq!(read(&ground, "after"), "failed\n");
    assert_eq!(read(&ground, "continued"), "try\n");
    assert_eq!(read(&ground, "retried"), "try\n".repeat(3), "1 + retries attempts");
    assert_eq!(read(&ground, "aborted"), "try\n");
    assert!(!ground.root.join("never").exists());
}

#[test]
fn timeouts_trigger() {
    let mailbox = Mailbox::open();
    let wait = |on_timeout: &str, port: u16| {
        json!({"type": "webhook", "url": mailbox.url("/ask"), "body": {"link": "${CALLBACK_URL}"},
            "await": true, "timeout": 1, "on_timeout": on_timeout, "callback_port": port})
    };
    let port = quiet_port();
    let actions = json!([
        {"type": "shell", "command": "sleep 40; echo > survived", "await": true, "timeout": 1},
        wait("continue", port),
        wait("abort", port),
        shell("echo never > never"),
    ]);
    let ground = project("on_iteration_complete", &actions);
    let began = Instant::now();
    let reply = fire(&ground, "on_iteration_complete", &json!({}));
    assert!(began.elapsed() < Duration::from_secs(u64::from(TIMEOUT) / 2), "{:?}", began.elapsed());
    assert_eq!(statuses(&reply), ["failed", "failed", "failed", "skipped"], "{reply}");
    assert_eq!(reply["abort"], true);
    assert!(!ground.root.join("never").exists() && !ground.root.join("survived").exists());
}
