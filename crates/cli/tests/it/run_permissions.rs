//! Tool calls of an agent in a run: hooks decide, a person answers where they ask, and hooks see
//! the result.

use std::process::Child;

use serde_json::{Value, json};

use crate::acp_fixture;
use crate::run_fixture::{project_with_stage, run_folder, run_to, trace};
use crate::test_project::{TestProject, text};

/// A scripted agent that calls the tool `shell` once in each of two iterations.
fn project_with_calls(stage: &str, call: &Value) -> TestProject {
    let project =
        project_with_stage(&format!("termination: {{type: fixed, iterations: 2}}\n{stage}"));
    project.file("turns.yaml", &json!({"turns": [{"say": "words", "tools": [call]}]}).to_string());
    project
}

fn deploy_call() -> Value {
    json!({"tool": "shell", "args": {"command": "deploy --now"}})
}

/// A hook of Claude Code that asks the user about every call.
fn add_asking_hook(project: &TestProject) {
    let answer = json!({"hookSpecificOutput": {
        "hookEventName": "PreToolUse", "permissionDecision": "ask",
        "permissionDecisionReason": "production is affected",
    }});
    project.file("answer.json", &answer.to_string());
    let hook = json!({"type": "command", "command": "cat answer.json"});
    let settings = json!({"hooks": {"PreToolUse": [{"hooks": [hook]}]}});
    project.file(".claude/settings.json", &settings.to_string());
}

fn start(project: &TestProject) -> Child {
    project.start(&["run", "work", "--agent", "script:turns.yaml"], b"")
}

/// Waits for an open question of the run that is not in `known`.
fn wait_for_question(project: &TestProject, known: &[String]) -> Value {
    acp_fixture::wait_for_question(project, known).1
}

fn id_of(ticket: &Value) -> String {
    ticket["ticket"].as_str().unwrap().to_owned()
}

fn answer(project: &TestProject, args: &[&str]) {
    let output = project.run(args, b"");
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
}

fn agent_output(project: &TestProject, iteration: u32) -> String {
    let path = format!("stage-00-work/iterations/{iteration:03}/output.md");
    std::fs::read_to_string(run_folder(project, "work").join(path)).unwrap_or_default()
}

#[test]
fn a_scripted_agent_reads_the_output_as_hooks_rewrote_it() {
    let call = json!({"tool": "shell", "args": {"command": "cat .env"}, "output": "KEY=sk-1234"});
    let project = project_with_calls("", &call);
    let rule = json!({"name": "no keys", "rule": {"redact": "sk-[0-9]+"}});
    let hooks = json!({"hooks": {"on_tool_after": [rule]}});
    project.file(".gambrel/hooks.yaml", &hooks.to_string());
    run_to(&project, &["work", "--agent", "script:turns.yaml"], 0);
    assert_eq!(agent_output(&project, 1), "words\n[shell: KEY=[redacted]]\n");
}

#[test]
fn the_log_says_which_call_a_hook_refused_and_why() {
    let project = project_with_calls("", &deploy_call());
    let rule = json!({"name": "guard", "rule": {"block": "deploy", "message": "not on Fridays"}});
    let hooks = json!({"hooks": {"on_tool_before": [rule]}});
    project.file(".gambrel/hooks.yaml", &hooks.to_string());
    run_to(&project, &["work", "--agent", "script:turns.yaml"], 0);
    let log = std::fs::read_to_string(run_folder(&project, "work").join("events.jsonl")).unwrap();
    let lines = log.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let hook = lines.map(|line| line["data"].clone()).find(|data| data["title"] == "guard");
    let hook = hook.unwrap();
    assert_eq!((&hook["tool"], &hook["call"]), (&json!("shell"), &json!("deploy --now")));
    assert_eq!((&hook["verdict"], &hook["why"]), (&json!("deny"), &json!("not on Fridays")));
}

/// The author's words say best what is asked. Without a name the call is the title.
#[test]
fn a_question_has_the_name_of_its_hook() {
    for (name, title) in [(Some("Deploy now?"), "Deploy now?"), (None, "shell deploy --now")] {
        let project = project_with_calls("", &deploy_call());
        let rule = json!({"name": name, "rule": {"ask": "deploy", "message": "it is Friday"}});
        let mut hooks = json!({"hooks": {"on_tool_before": [rule]}});
        if name.is_none() {
            hooks["hooks"]["on_tool_before"][0].as_object_mut().unwrap().remove("name");
        }
        project.file(".gambrel/hooks.yaml", &hooks.to_string());
        let run = start(&project);
        let ticket = wait_for_question(&project, &[]);
        assert_eq!((&ticket["title"], &ticket["why"]), (&json!(title), &json!("it is Friday")));
        let id = id_of(&ticket);
        let status = text(&project.run(&["status", "work"], b"").stdout);
        // The name alone does not say what would run.
        let about = name.map_or(title.to_owned(), |name| format!("{name} (deploy --now)"));
        let line = format!("question   {about}: gambrel approve {id}, or gambrel deny {id}\n");
        assert!(status.contains(&line), "{status}");
        answer(&project, &["deny", &id]);
        let next = wait_for_question(&project, std::slice::from_ref(&id));
        answer(&project, &["deny", &id_of(&next)]);
        let output = run.wait_with_output().unwrap();
        let printed = text(&output.stderr);
        assert!(printed.contains(&format!("  question {id}: {about}\n")), "{printed}");
        assert!(output.status.success());
    }
}

#[test]
fn a_person_approves_one_call_and_refuses_the_next() {
    let project = project_with_calls("", &deploy_call());
    add_asking_hook(&project);
    let run = start(&project);
    let first = wait_for_question(&project, &[]);
    assert_eq!(first["title"], "shell deploy --now", "{first}");
    assert!(first.to_string().contains("production is affected"), "{first}");
    answer(&project, &["approve", &id_of(&first)]);
    let second = wait_for_question(&project, &[id_of(&first)]);
    answer(&project, &["deny", &id_of(&second), "--message", "not today"]);
    let output = run.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let shown = text(&output.stderr);
    assert!(shown.contains(&format!("gambrel approve {}", id_of(&first))), "{shown}");
    assert_eq!(agent_output(&project, 1), "words\n");
    assert!(agent_output(&project, 2).contains("refused: the user refuses: not today"));
}

#[test]
fn the_plan_decides_where_no_hook_does() {
    let refused = project_with_calls("permissions: deny", &deploy_call());
    run_to(&refused, &["work", "--agent", "script:turns.yaml"], 0);
    assert!(agent_output(&refused, 1).contains("`permissions: deny` of the plan"));

    let asked = project_with_calls("permissions: ask", &deploy_call());
    let run = start(&asked);
    let first = wait_for_question(&asked, &[]);
    answer(&asked, &["approve", &id_of(&first)]);
    answer(&asked, &["approve", &id_of(&wait_for_question(&asked, &[id_of(&first)]))]);
    let output = run.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert_eq!(agent_output(&asked, 2), "words\n");
}

#[test]
fn a_killed_run_asks_again_and_closes_the_old_question() {
    let project = project_with_calls("permissions: ask", &deploy_call());
    let mut run = start(&project);
    let first = wait_for_question(&project, &[]);
    run.kill().unwrap();
    run.wait().unwrap();

    let run = project.start(&["resume", "work"], b"");
    let second = wait_for_question(&project, &[id_of(&first)]);
    let late = project.run(&["approve", &id_of(&first)], b"");
    assert_eq!(late.status.code(), Some(1), "{}", text(&late.stderr));
    answer(&project, &["approve", &id_of(&second)]);
    let known = [id_of(&first), id_of(&second)];
    answer(&project, &["approve", &id_of(&wait_for_question(&project, &known))]);
    let output = run.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
}

#[test]
fn a_signal_ends_a_run_that_waits_for_an_answer() {
    let project = project_with_calls("permissions: ask", &deploy_call());
    let run = start(&project);
    wait_for_question(&project, &[]);
    answer(&project, &["stop", "work"]);
    let output = run.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(143), "{}", text(&output.stderr));
}

#[test]
fn hooks_see_the_result_of_a_call() {
    let call = json!({"tool": "shell", "args": {"command": "make"}, "output": "built it"});
    let failing = json!({"tool": "shell", "args": {"command": "test"}, "error": "2 failed"});
    let project = project_with_calls("", &call);
    let turns = json!({"turns": [{"tools": [call, failing]}]});
    project.file("turns.yaml", &turns.to_string());
    let keep =
        |name: &str| json!([{"hooks": [{"type": "command", "command": format!("cat >> {name}")}]}]);
    let settings =
        json!({"hooks": {"PostToolUse": keep("after"), "PostToolUseFailure": keep("failed")}});
    project.file(".claude/settings.json", &settings.to_string());
    run_to(&project, &["work", "--agent", "script:turns.yaml", "--max", "1"], 0);
    let read = |name: &str| std::fs::read_to_string(project.root.join(name)).unwrap_or_default();
    assert!(
        read("after").contains("built it") && read("after").contains("make"),
        "{}",
        read("after")
    );
    assert!(read("failed").contains("2 failed"), "{}", read("failed"));
    assert!(trace(&project).is_empty());
}
