//! The ten success criteria of agent-pipelines, one test each. Each is proved by a real
//! `gambrel run` with a real agent process and, where a child takes part, a real child run.

use serde_json::{Value, json};

use crate::approval_fixture::TIMEOUT_SECS;
use crate::http_server::{HttpServer, free_port, post_answer};
use crate::run_fixture::{project_with_stage, run_folder, run_to, state, trace};
use crate::test_project::{TestProject, text, wait_until};
use crate::value_injection::CALLER_VARIABLES;

/// A project whose stage `work` runs some iterations and has these hooks, by hook point. The hooks
/// belong to the stage, so they do not fire in the children that it starts. The pipeline `review`
/// is there to be started.
fn project_with_hooks(iterations: u32, hooks: &Value) -> TestProject {
    let stage = format!("termination: {{type: fixed, iterations: {iterations}}}\nhooks: {hooks}");
    let project = project_with_stage(&stage);
    let review = "name: review\nnodes: [{id: look, prompt: 'Look for ${SESSION}'}]\n";
    project.file(".gambrel/pipelines/review.yaml", review);
    project
}

fn shell(command: &str) -> Value {
    json!({"type": "shell", "command": command, "await": true})
}

fn read_file(project: &TestProject, path: &str) -> String {
    std::fs::read_to_string(project.root.join(path)).unwrap_or_default()
}

fn read_json(project: &TestProject, path: &str) -> Value {
    let text = read_file(project, path);
    serde_json::from_str(&text).unwrap_or_else(|_| panic!("{path}: {text}"))
}

fn error_of(project: &TestProject) -> (Value, Value) {
    let state = state(project, "work");
    (state["status"].clone(), state["error"]["type"].clone())
}

#[test]
fn all_three_action_types_work() {
    let server = HttpServer::start();
    let hooks = json!({"on_session_complete": [
        shell("echo ${SESSION} > shell.txt"),
        {"type": "webhook", "url": server.url("/hook"), "body": {"text": "${SESSION} is done"}},
        {"type": "spawn", "pipeline": "review", "inputs": {"session": "${SESSION}"}},
        shell("printf '%s' ${SPAWN_OUTPUT} > output"),
    ]});
    let project = project_with_hooks(1, &hooks);
    run_to(&project, &["work"], 0);
    assert_eq!(read_file(&project, "shell.txt"), "work\n");
    assert_eq!(server.wait_for_nth(1).json(), json!({"text": "work is done"}));
    assert_eq!(trace(&project), ["agent work 1", "agent look 1"]);
    let output = read_json(&project, "output");
    assert_eq!((&output["pipeline"], &output["status"]), (&json!("review"), &json!("complete")));
}

#[test]
fn await_mode_blocks_execution() {
    let hooks = json!({"on_iteration_complete": [
        shell("sleep 0.3; echo first >> trace"),
        {"type": "spawn", "pipeline": "review"},
        shell("test -n ${SPAWN_OUTPUT} && echo second >> trace"),
    ]});
    let project = project_with_hooks(2, &hooks);
    run_to(&project, &["work"], 0);
    let round = |iteration: u32| {
        [&format!("agent work {iteration}"), "first", "agent look 1", "second"].map(str::to_owned)
    };
    assert_eq!(trace(&project), [round(1), round(2)].concat());
}

#[test]
fn fire_and_forget_does_not_block() {
    let hold = |name: &str| format!("until test -e go; do sleep 0.05; done; echo > {name}");
    let hooks = json!({"on_iteration_complete": [
        {"type": "shell", "command": hold("one")},
        {"type": "shell", "command": hold("two")},
        {"type": "spawn", "pipeline": "review", "await": false},
        shell("echo \"$LAST_HOOK_STATUS:$SPAWN_OUTPUT\" > after"),
    ]});
    let project = project_with_hooks(1, &hooks);
    // The agent of the child waits too.
    project.script(
        "agent.sh",
        "#!/bin/sh\ncat > /dev/null\n\
         [ $STAGE = work ] || until test -e go; do sleep 0.05; done\n\
         printf '{\"decision\":\"stop\"}' > \"$STATUS\"\n",
    );
    // All of them wait for a file that is made only when the run is complete.
    run_to(&project, &["work"], 0);
    assert_eq!(state(&project, "work")["status"], "complete");
    assert_eq!(read_file(&project, "after"), "success:\n");
    assert!(!project.root.join("one").exists() && !project.root.join("two").exists());
    project.file("go", "");
    wait_until("both end", || ["one", "two"].iter().all(|name| project.root.join(name).exists()));
    let child = run_folder(&project, "work").join("children/on_iteration_complete-1/state.json");
    wait_until("the child is complete", || {
        std::fs::read_to_string(&child).is_ok_and(|state| state.contains("\"complete\""))
    });
}

#[test]
fn conditions_evaluate() {
    type Holds = fn(u32) -> bool;
    let conditions: [(&str, Holds); 12] = [
        ("${ITERATION} == 10", |n| n == 10),
        ("${ITERATION} == 1", |n| n == 1),
        ("${ITERATION} % 10 == 0", |n| n == 10),
        ("${ITERATION} % 3 == 0", |n| n % 3 == 0),
        ("${STAGE} == 'work'", |_| true),
        ("${STAGE} == 'plan'", |_| false),
        ("${LAST_DECISION} == 'stop'", |n| n == 10),
        ("${ITERATION} > 5 && ${STAGE} == 'work'", |n| n > 5),
        ("${ITERATION} > 5 && ${STAGE} == 'plan'", |_| false),
        ("${ITERATION} > 8 || ${LAST_DECISION} == 'stop'", |n| n > 8),
        ("${NEXT_STAGE} == 'deploy'", |_| false),
        ("${LAST_HOOK_STATUS} == 'failed'", |_| false),
    ];
    let when = |(number, condition): (usize, &str)| {
        let command = format!("echo ${{ITERATION}} {number} >> trace");
        json!({"type": "shell", "command": command, "await": true, "when": condition})
    };
    let named = conditions.iter().map(|(condition, _)| *condition);
    let mut actions: Vec<Value> = named.enumerate().map(when).collect();
    actions.push(shell("false"));
    actions.push(when((conditions.len(), "${LAST_HOOK_STATUS} == 'failed'")));
    let project = project_with_hooks(12, &json!({"on_iteration_complete": actions}));
    let go_on = "  - {decision: continue}\n".repeat(9);
    project.file("turns.yaml", &format!("turns:\n{go_on}  - {{decision: stop}}\n"));
    run_to(&project, &["work", "--agent", "script:turns.yaml"], 0);

    let mut expected = Vec::new();
    for iteration in 1..=10 {
        let true_ones = conditions.iter().enumerate().filter(|(_, (_, holds))| holds(iteration));
        expected.extend(true_ones.map(|(number, _)| format!("{iteration} {number}")));
        expected.push(format!("{iteration} {}", conditions.len()));
    }
    assert_eq!(trace(&project), expected);
}

/// The variables of the point `on_iteration_complete` that have a value there: all but the error.
fn set_variables() -> Vec<&'static str> {
    CALLER_VARIABLES.into_iter().filter(|name| *name != "ERROR").collect()
}

/// The values of [`set_variables`] at the end of the first iteration of `plan` in the run `night`.
fn first_values(project: &TestProject) -> Value {
    let stage = run_folder(project, "night").join("stage-00-plan");
    let iteration = stage.join("iterations/001");
    json!({
        "SESSION": "night", "STAGE": "plan", "NEXT_STAGE": "deploy", "ITERATION": "1",
        "MAX_ITERATIONS": "3", "PROGRESS": stage.join("progress.md"),
        "STATUS": iteration.join("status.json"), "CTX": iteration.join("context.json"),
        "LAST_DECISION": "continue", "CHANGED_FILES": "a file.rs\nb.rs",
        "STAGE_OUTPUTS": json!([iteration.join("output.md")]).to_string(),
    })
}

#[test]
fn variables_resolve_in_all_contexts() {
    let server = HttpServer::start();
    let variables = set_variables();
    let templates: serde_json::Map<String, Value> =
        variables.iter().map(|name| ((*name).to_owned(), json!(format!("${{{name}}}")))).collect();
    let placed: Vec<String> = variables.iter().map(|name| format!("${{{name}}}")).collect();
    let named: Vec<String> = variables.iter().map(|name| format!("\"${name}\"")).collect();
    let hooks = json!({
        "on_iteration_complete": [
            shell(&format!("printf '%s\\0' {} > templates", placed.join(" "))),
            shell(&format!("printf '%s\\0' {} > environment", named.join(" "))),
            shell("printf '%s' ${TIMESTAMP} > time"),
            shell("test \"$LAST_HOOK_STATUS\" = success && echo ${LAST_HOOK_STATUS} > status"),
            {"type": "webhook", "url": server.url("/${STAGE}?file=${CHANGED_FILES}"),
                "headers": {"x-stage": "${STAGE}"}, "body": templates},
            {"type": "spawn", "pipeline": "review", "inputs": templates},
            shell("printf '%s' \"$SPAWN_OUTPUT\" > output"),
        ],
        "on_error": [shell("printf '%s|%s|%s' ${ERROR} \"$ERROR\" ${LAST_DECISION} > error")],
    });
    let project = project_with_hooks(3, &hooks);
    let pipeline = "name: release\nnodes: [{id: plan, stage: work}, {id: deploy, prompt: Go}]\n";
    project.file("release.yaml", pipeline);
    project.script(
        "agent.sh",
        "#!/bin/sh\ncat\n[ $STAGE-$ITERATION = plan-2 ] && { echo \"no 'key'\" >&2; exit 7; }\n\
         printf '{\"decision\":\"continue\",\"work\":{\"files_touched\":[\"b.rs\",\"a file.rs\"]}}' > \"$STATUS\"\n",
    );
    run_to(&project, &["release.yaml", "--session", "night"], 1);

    let values = first_values(&project);
    let lines: String =
        variables.iter().map(|name| format!("{}\0", values[name].as_str().unwrap())).collect();
    assert_eq!(read_file(&project, "templates"), lines);
    assert_eq!(read_file(&project, "environment"), lines);
    assert_eq!(read_file(&project, "status"), "success\n");
    let time = read_file(&project, "time");
    assert!(time.len() == 20 && time.contains('T') && time.ends_with('Z'), "{time}");
    let request = server.wait_for_nth(1);
    assert_eq!(request.target, "/plan?file=a%20file.rs%0Ab.rs");
    assert_eq!(request.header("x-stage"), Some(&b"plan"[..]));
    assert_eq!(request.json(), values);
    let child = ".gambrel/runs/night/children/on_iteration_complete-1";
    assert_eq!(read_json(&project, &format!("{child}/inputs.json")), values);
    assert_eq!(read_json(&project, "output")["status"], "complete");
    let error = "the agent exited with code 7: no 'key'";
    assert_eq!(read_file(&project, "error"), format!("{error}|{error}|continue"));
}

#[test]
fn callback_server_handles_responses() {
    for (action, aborts) in [("approve", false), ("reject", true), ("later", false)] {
        let server = HttpServer::start();
        let hooks = json!({"on_stage_complete": [
            {"type": "webhook", "url": server.url("/ask"), "await": true,
                "callback_port": free_port(), "timeout": TIMEOUT_SECS,
                "body": {"text": "Plan of ${SESSION}", "yes": "${CALLBACK_URL}?action=approve"}},
            shell("printf '%s' ${HOOK_RESPONSE} > answer.json"),
        ]});
        let project = project_with_hooks(1, &hooks);
        let mut waiting = project.start(&["run", "work"], b"");
        let request = server.wait_for_nth(1);
        assert_eq!(request.json()["text"], "Plan of work");
        assert!(waiting.try_wait().unwrap().is_none(), "the run did not wait");
        assert_eq!(post_answer(&request.link(), action, "Looks good, proceed").status, 200);
        let output = waiting.wait_with_output().unwrap();
        let code = Some(i32::from(aborts));
        assert_eq!(output.status.code(), code, "{action}: {}", text(&output.stderr));
        if aborts {
            assert_eq!(error_of(&project), (json!("failed"), json!("hook_abort")));
            let message = state(&project, "work")["error"]["message"].to_string();
            assert!(message.contains("Looks good, proceed"), "{message}");
            assert!(!project.root.join("answer.json").exists());
        } else {
            let expected = json!({"action": action, "message": "Looks good, proceed"});
            assert_eq!(read_json(&project, "answer.json"), expected);
        }
    }
}

#[test]
fn child_pipelines_spawn_and_return_outputs() {
    let child =
        json!({"type": "spawn", "pipeline": "review", "inputs": {"files": "${CHANGED_FILES}"}});
    let hooks = json!({"on_iteration_complete": [
        child, child, shell("printf '%s' ${SPAWN_OUTPUT} > output"),
    ]});
    let project = project_with_hooks(1, &hooks);
    // The agent of a child answers with what the child received.
    project.script(
        "agent.sh",
        "#!/bin/sh\ncat > /dev/null\necho \"agent $STAGE $SESSION\" >> trace\n\
         [ $STAGE = look ] && printf '{\"seen\":%s}' \"$(cat \"$GAMBREL_RUN_DIR/inputs.json\")\" \
         > \"$GAMBREL_RUN_DIR/output.json\"\n\
         printf '{\"decision\":\"stop\",\"work\":{\"files_touched\":[\"a.rs\",\"b.rs\"]}}' > \"$STATUS\"\n",
    );
    run_to(&project, &["work"], 0);
    let folders = ["on_iteration_complete-1", "on_iteration_complete-1-2"];
    assert_eq!(
        trace(&project),
        [
            "agent work work".to_owned(),
            format!("agent look {}", folders[0]),
            format!("agent look {}", folders[1]),
        ]
    );
    let inputs = json!({"files": "a.rs\nb.rs"});
    for name in folders {
        let child = format!(".gambrel/runs/work/children/{name}");
        assert_eq!(read_json(&project, &format!("{child}/inputs.json")), inputs);
        assert_eq!(read_json(&project, &format!("{child}/state.json"))["status"], "complete");
        let context = format!("{child}/stage-00-look/iterations/001/context.json");
        assert_eq!(read_json(&project, &context)["inputs"]["from_parent"], inputs);
    }
    assert_eq!(read_json(&project, "output"), json!({"seen": inputs}));
}

#[test]
fn global_hooks_apply_unless_disabled() {
    let own = json!({"on_session_complete": [shell("echo own >> log")]});
    let project = project_with_hooks(1, &own);
    let home = project.base.join("home/.config/agent-pipelines");
    std::fs::create_dir_all(&home).unwrap();
    let global = json!({"hooks": {"on_session_complete": [shell("echo global >> log")]}});
    std::fs::write(home.join("hooks.yaml"), global.to_string()).unwrap();
    let pipeline = |off: bool| {
        json!({"name": "full", "disable_global_hooks": off, "hooks": own,
            "nodes": [{"id": "one", "prompt": "Go", "provider": "command:./agent.sh"}]})
        .to_string()
    };
    project.file("on.yaml", &pipeline(false));
    project.file("off.yaml", &pipeline(true));
    let stage = read_file(&project, ".gambrel/stages/work/stage.yaml");
    project.file("quiet/stage.yaml", &format!("{stage}disable_global_hooks: true\n"));
    project.file("quiet/prompt.md", "Go");
    for (target, expected) in [
        ("on.yaml", "own\nglobal\n"),
        ("off.yaml", "own\n"),
        ("quiet/stage.yaml", "own\n"),
        ("work", "own\nglobal\n"),
    ] {
        run_to(&project, &[target, "--session", &target.replace(['.', '/'], "-")], 0);
        assert_eq!(read_file(&project, "log"), expected, "{target}");
        std::fs::remove_file(project.root.join("log")).unwrap();
    }
}

#[test]
fn hook_failures_respect_on_failure() {
    let failing = |policy: &str, file: &str| {
        json!({"type": "shell", "command": format!("echo try >> {file}; exit 3"), "await": true,
            "on_failure": policy, "retries": 2, "retry_delay": 0})
    };
    let hooks = json!({"on_iteration_complete": [
        failing("continue", "continued"),
        shell("echo ${LAST_HOOK_STATUS} >> after"),
        failing("retry", "retried"),
        shell("echo ${LAST_HOOK_STATUS} >> after"),
        failing("abort", "aborted"),
        shell("echo never > never"),
    ], "on_session_complete": [shell("echo never > never")]});
    let project = project_with_hooks(3, &hooks);
    run_to(&project, &["work"], 1);
    assert_eq!(error_of(&project), (json!("failed"), json!("hook_abort")));
    assert_eq!(trace(&project), ["agent work 1"]);
    assert_eq!(read_file(&project, "after"), "failed\nfailed\n");
    assert_eq!(read_file(&project, "continued"), "try\n");
    assert_eq!(read_file(&project, "retried"), "try\n".repeat(3), "1 + retries attempts");
    assert_eq!(read_file(&project, "aborted"), "try\n");
    assert!(!project.root.join("never").exists());
}

#[test]
fn timeouts_trigger() {
    let server = HttpServer::start();
    let port = free_port();
    let wait = |on_timeout: &str| {
        json!({"type": "webhook", "url": server.url("/ask"), "body": {"link": "${CALLBACK_URL}"},
            "await": true, "timeout": 5, "on_timeout": on_timeout, "callback_port": port})
    };
    let note = || shell("echo ${LAST_HOOK_STATUS} >> after");
    // An action whose timeout does not work ends by itself and succeeds.
    let hooks = json!({"on_iteration_complete": [
        {"type": "shell", "command": "sleep 60", "await": true, "timeout": 1},
        note(),
        {"type": "spawn", "pipeline": "review", "timeout": 2},
        note(),
        wait("continue"),
        note(),
        wait("abort"),
        shell("echo never > never"),
    ]});
    let project = project_with_hooks(2, &hooks);
    project.script(
        "agent.sh",
        "#!/bin/sh\ncat > /dev/null\n[ $STAGE = work ] || sleep 60\n\
         echo \"agent $STAGE\" >> trace\nprintf '{\"decision\":\"continue\"}' > \"$STATUS\"\n",
    );
    run_to(&project, &["work"], 1);
    assert_eq!(read_file(&project, "after"), "failed\n".repeat(3));
    assert_eq!(trace(&project), ["agent work"]);
    assert_eq!(error_of(&project), (json!("failed"), json!("hook_abort")));
    let message = state(&project, "work")["error"]["message"].to_string();
    assert!(message.contains("nobody answered"), "{message}");
    assert!(!project.root.join("never").exists());
}
