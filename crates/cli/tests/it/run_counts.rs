//! Counts of a run: turns, tool calls, time, tokens and cost, per iteration and in total.

use serde_json::{Value, json};

use crate::run_fixture::{project_with_stage, run_folder, run_to, state};
use crate::test_project::{TestProject, text, wait_until};

/// A stage of some iterations with a scripted agent.
fn scripted_project(iterations: u32, turns: &str) -> TestProject {
    let project = project_with_stage(&format!(
        "termination: {{type: fixed, iterations: {iterations}}}\npermissions: allow"
    ));
    project.file("turns.yaml", turns);
    project
}

const SCRIPT: [&str; 3] = ["work", "--agent", "script:turns.yaml"];

/// A stop hook that refuses once in each iteration.
fn refuse_first_stop(project: &TestProject) {
    project.script(
        "stop.sh",
        "#!/bin/sh\n[ -e refuse ] || exit 0\nrm refuse\necho 'again' >&2\nexit 2\n",
    );
    project.file("refuse", "");
    let stop = json!({"type": "command", "command": "./stop.sh"});
    let settings = json!({"hooks": {"Stop": [{"hooks": [stop]}]}});
    project.file(".claude/settings.json", &settings.to_string());
}

/// The lines of the log of a type.
fn lines_of(project: &TestProject, kind: &str) -> Vec<Value> {
    let text = std::fs::read_to_string(run_folder(project, "work").join("events.jsonl")).unwrap();
    let lines = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    lines.filter(|line| line["type"] == kind).collect()
}

#[test]
fn counts_turns_calls_and_reports_of_every_iteration() {
    let project = scripted_project(
        2,
        r#"
turns:
  - sleep: 0.05
    tools: [{tool: shell, args: {command: ls}}, {tool: shell, args: {command: 'rm -rf /'}}]
    status: '{"decision":"continue","usage":{"input_tokens":100,"output_tokens":20,"cost_usd":0.1}}'
  - status: '{"decision":"continue","usage":{"input_tokens":7,"output_tokens":1,"cost_usd":0.2}}'
"#,
    );
    project.file(
        ".gambrel/hooks.yaml",
        "hooks:\n  on_tool_before: [{type: rule, block: 'rm -rf', message: no}]\n",
    );
    let output = run_to(&project, &SCRIPT, 0);
    let shown = text(&output.stderr);
    let state = state(&project, "work");
    let first = &state["history"][0]["counts"];
    assert_eq!(first["turns"], 1);
    assert_eq!((&first["tool_calls"], &first["blocked_calls"]), (&json!(2), &json!(1)), "{shown}");
    let usage = json!({"input_tokens": 100, "output_tokens": 20, "cost_usd": 0.1});
    assert_eq!(first["usage"], usage);
    assert!(first["wall_seconds"].as_f64().unwrap() >= 0.05);
    let total = &state["counts"];
    assert_eq!(total["turns"], 2);
    assert_eq!(total["tool_calls"], 2);
    // In binary fractions 0.1 + 0.2 is not 0.3.
    let usage = json!({"input_tokens": 107, "output_tokens": 21, "cost_usd": 0.3});
    assert_eq!(total["usage"], usage);
    let complete = lines_of(&project, "iteration_complete");
    assert_eq!(complete[0]["data"]["counts"], *first);
    assert!(shown.contains("total: 2 turns, 2 tool calls (1 blocked), "), "{shown}");
    assert!(shown.contains(" 128 tokens, $0.3000"), "{shown}");

    let status = text(&project.run(&["status", "work"], b"").stdout);
    assert!(status.contains("counts     2 turns, 2 tool calls (1 blocked), "), "{status}");
    assert!(status.contains(" 8 tokens, $0.2000"), "{status}");
    let status = project.json(&["status", "work", "--json"]);
    assert_eq!(status["counts"], *total);
    assert_eq!(project.json(&["runs", "--json"])[0]["counts"], *total);
}

#[test]
fn adds_the_reports_of_all_turns_and_reads_each_once() {
    let report =
        |tokens: u32| format!(r#"{{"decision":"continue","usage":{{"input_tokens":{tokens}}}}}"#);
    // The second turn of the second iteration reports nothing: what the first one wrote stays.
    let turns = format!(
        "turns:\n  - status: '{}'\n  - status: '{}'\n  - status: '{}'\n  - decision: none\n",
        report(10),
        report(10),
        report(50)
    );
    let project = scripted_project(2, &turns);
    project.file(
        ".gambrel/hooks.yaml",
        "hooks:\n  on_iteration_complete: [{type: shell, await: true, command: 'touch refuse'}]\n",
    );
    refuse_first_stop(&project);
    let output = run_to(&project, &SCRIPT, 0);
    let state = state(&project, "work");
    let counts = |index: usize| &state["history"][index]["counts"];
    assert_eq!(counts(0)["turns"], 2, "{}", text(&output.stderr));
    assert_eq!(counts(0)["usage"]["input_tokens"], 20);
    assert_eq!(counts(1)["turns"], 2);
    assert_eq!(counts(1)["usage"]["input_tokens"], 50);
    assert_eq!(state["counts"]["usage"]["input_tokens"], 70);
}

#[test]
fn warns_of_impossible_reports_and_counts_none_of_them() {
    let bad = [
        r#"{"input_tokens":-5,"output_tokens":3}"#,
        r#"{"input_tokens":"12","cost_usd":"free"}"#,
        r#"{"input_tokens":99999999999999999999,"cost_usd":1e200}"#,
        r#"[1, 2]"#,
        r#""many""#,
    ];
    let turns =
        bad.map(|usage| format!("  - status: '{{\"decision\":\"continue\",\"usage\":{usage}}}'\n"));
    let project = scripted_project(5, &format!("turns:\n{}", turns.concat()));
    let output = run_to(&project, &SCRIPT, 0);
    let shown = text(&output.stderr);
    for warning in [
        "status.json: `usage.input_tokens` is -5, not a whole number from 0 to 1000000000000",
        "status.json: `usage.input_tokens` is \"12\"",
        "status.json: `usage.cost_usd` is \"free\", not a number from 0 to 1000000",
        "status.json: `usage.cost_usd` is 1e+200",
        "status.json: `usage` is [1,2], not a map",
        "status.json: `usage` is \"many\"",
    ] {
        assert!(shown.contains(warning), "{warning}\n{shown}");
    }
    assert_eq!(state(&project, "work")["counts"]["usage"], json!({"output_tokens": 3}));
}

/// A folder on PATH with a program that prints what an agent prints.
fn fake_program(project: TestProject, name: &str, body: &str) -> TestProject {
    let status =
        "printf '{\"decision\":\"continue\",\"usage\":{\"input_tokens\":999999}}' > \"$STATUS\"";
    project
        .script(&format!("bin/{name}"), &format!("#!/bin/sh\ncat > /dev/null\n{body}\n{status}\n"));
    let path = format!("{}:{}", project.root.join("bin").display(), std::env::var("PATH").unwrap());
    project.with("PATH", &path)
}

fn one_iteration() -> TestProject {
    project_with_stage("termination: {type: fixed, iterations: 1}")
}

const CLAUDE_RESULT: &str = r#"{"type":"result","subtype":"success","num_turns":3,"total_cost_usd":0.0125,"usage":{"input_tokens":4,"cache_creation_input_tokens":100,"cache_read_input_tokens":2000,"output_tokens":50}}"#;

#[test]
fn reads_what_claude_and_codex_print() {
    let claude = json!({
        "input_tokens": 2104, "output_tokens": 50, "cost_usd": 0.0125, "model_turns": 3,
    });
    let stream = format!(
        "echo '{{\"type\":\"system\"}}'\necho '{{\"type\":\"assistant\",\"usage\":{{\"input_tokens\":5}}}}'\necho '{CLAUDE_RESULT}'"
    );
    let codex = "echo '{\"type\":\"thread.started\"}'\n\
        echo '{\"type\":\"turn.completed\",\"usage\":{\"input_tokens\":90,\"cached_input_tokens\":80,\"output_tokens\":7}}'";
    let cases = [
        ("claude", format!("echo '{CLAUDE_RESULT}'"), "-p --output-format json", claude.clone()),
        ("claude", stream.clone(), "-p --output-format=stream-json --verbose", claude.clone()),
        // The agent writes output.md itself, so what it prints is in output.log.
        (
            "claude",
            format!("echo mine > \"$OUTPUT\"\n{stream}"),
            "-p --output-format stream-json",
            claude,
        ),
        (
            "codex",
            codex.to_owned(),
            "exec --json -",
            json!({
                "input_tokens": 90, "output_tokens": 7, "model_turns": 1,
            }),
        ),
    ];
    for (name, body, args, expected) in cases {
        let project = fake_program(one_iteration(), name, &body);
        let agent = format!("command:{name} {args}");
        let output = run_to(&project, &["work", "--agent", &agent], 0);
        let counts = &state(&project, "work")["counts"];
        assert_eq!(counts["usage"], expected, "{agent}: {}", text(&output.stderr));
    }
}

#[test]
fn reads_printed_numbers_only_of_agents_that_print_them() {
    let project = fake_program(one_iteration(), "claude", &format!("echo '{CLAUDE_RESULT}'"));
    run_to(&project, &["work", "--agent", "command:claude -p"], 0);
    // What the agent wrote to status.json.
    assert_eq!(state(&project, "work")["counts"]["usage"], json!({"input_tokens": 999_999}));
}

#[test]
fn counts_what_a_failed_agent_printed() {
    let project =
        fake_program(one_iteration(), "claude", &format!("echo '{CLAUDE_RESULT}'\nexit 3"));
    run_to(&project, &["work", "--agent", "command:claude -p --output-format json"], 1);
    assert_eq!(state(&project, "work")["counts"]["usage"]["output_tokens"], 50);
}

#[test]
fn keeps_the_counts_of_a_killed_run() {
    let project = one_iteration();
    project.script(
        "agent.sh",
        "#!/bin/sh\ncat > /dev/null\n\
         printf '{\"decision\":\"continue\",\"usage\":{\"input_tokens\":11}}' > \"$STATUS\"\n",
    );
    project.file(
        ".gambrel/hooks.yaml",
        "hooks:\n  on_iteration_complete: [{type: shell, await: true, timeout: 60, \
         command: 'touch reached; [ -e go ] || sleep 60'}]\n",
    );
    let mut child = project.start(&["run", "work"], b"");
    wait_until("the hook runs", || project.root.join("reached").exists());
    child.kill().unwrap();
    child.wait().unwrap();
    project.file("go", "");
    let status = project.json(&["status", "work", "--json"]);
    assert_eq!(status["counts"]["usage"]["input_tokens"], 11);
    let output = project.run(&["resume", "work"], b"");
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert!(text(&output.stderr).contains("total: 1 turn, "), "{}", text(&output.stderr));
    let state = state(&project, "work");
    assert_eq!(state["counts"]["turns"], 1);
    assert_eq!(state["counts"]["usage"]["input_tokens"], 11);
    assert_eq!(state["history"][0]["counts"]["usage"]["input_tokens"], 11);
}
