//! A spec in Markdown is enough to run: the template, the task board, and the end by
//! `session-complete`.

use serde_json::{Value, json};

use crate::processes::{TOKEN, full_count, processes_with_token};
use crate::run_fixture::{run_folder, run_to, state};
use crate::test_project::{TestProject, text, wait_until};

fn call(tool: &str, args: Value) -> Value {
    json!({"tool": format!("mcp__gambrel__{tool}"), "args": args})
}

/// A scripted agent that plans one task, does it, and ends the session. It decides nothing.
fn project_with_spec() -> TestProject {
    let project = TestProject::new();
    project.file("specs/feature.md", "# Feature\n\nBuild the parser.\n");
    let turns = json!([
        {"decision": "none", "tools": [call("task-add", json!({"tasks": [{"content": "Write it"}]})),
            call("iteration-summary", json!({"summary": "planned"}))]},
        {"decision": "none", "tools": [
            call("task-update", json!({"id": "TAS-1", "status": "in_progress"})),
            call("note-add", json!({"content": "mind the tabs", "type": "tip"})),
            call("session-complete", json!({})),
            call("task-update", json!({"id": "TAS-1", "status": "completed"})),
            call("iteration-summary", json!({"summary": "wrote it"}))]},
        {"decision": "none", "tools": [call("session-complete", json!({}))]},
    ]);
    project.file("turns.yaml", &json!({"turns": turns}).to_string());
    project.file(
        ".iteratr.hooks.yml",
        "version: 1\nhooks:\n  \
         pre_iteration: [{command: 'echo pre {{iteration}}', pipe_output: true}]\n  \
         post_iteration: [{command: 'echo post {{iteration}}', pipe_output: true}]\n  \
         on_task_complete: [{command: 'echo done {{task_id}}; echo {{task_id}} >> completed', pipe_output: true}]\n",
    );
    project
}

const RUN: [&str; 3] = ["specs/feature.md", "--agent", "script:turns.yaml"];

fn output_of(project: &TestProject, iteration: u32) -> String {
    let path = format!("stage-00-feature/iterations/{iteration:03}/output.md");
    std::fs::read_to_string(run_folder(project, "feature").join(path)).unwrap_or_default()
}

#[test]
fn a_spec_runs_until_the_agent_completes_the_session() {
    let project = project_with_spec();
    let plan = text(&run_to(&project, &[&RUN[..], &["--dry-run"]].concat(), 0).stdout);
    assert!(plan.contains("stage 0 feature: session, no limit of iterations\n"), "{plan}");
    let printed = text(&run_to(&project, &RUN, 0).stderr);
    assert!(printed.contains("  iteration 2\n") && !printed.contains("of at most"), "{printed}");
    let ended = state(&project, "feature");
    assert_eq!(
        (&ended["status"], &ended["completion_reason"]),
        (&json!("complete"), &json!("session_complete"))
    );
    let summaries: Vec<&Value> =
        ended["history"].as_array().unwrap().iter().map(|entry| &entry["summary"]).collect();
    assert_eq!(summaries, [&json!("planned"), &json!("wrote it"), &json!("")]);
    let refused = output_of(&project, 2);
    let words = "error: cannot complete session: 1 task(s) not in terminal state \
                 (completed/blocked/cancelled).";
    assert!(refused.contains(words), "{refused}");
    let tasks = project.run(&["task", "list", "--json"], b"");
    let tasks: Value = serde_json::from_slice(&tasks.stdout).unwrap();
    assert_eq!(
        (&tasks[0]["subject"], &tasks[0]["status"]),
        (&json!("Write it"), &json!("completed"))
    );
    assert_eq!(std::fs::read_to_string(project.root.join("completed")).unwrap(), "1\n");
}

#[test]
fn the_prompt_contains_the_spec_and_the_board() {
    let project = project_with_spec();
    project.script("agent.sh", "#!/bin/sh\ncat\n");
    project.run(&["task", "add", "Write it", "--priority", "1"], b"");
    let args =
        ["specs/feature.md", "--agent", "command:./agent.sh", "--max", "2", "--extra", "Be brief."];
    run_to(&project, &args, 0);
    let prompt = output_of(&project, 2);
    let wanted = [
        "post 1\n",
        "Build the parser.",
        "- TAS-1 [remaining] priority 1: Write it",
        "Be brief.",
        "session feature",
        "iteration 2",
    ];
    for words in wanted {
        assert!(prompt.contains(words), "{words}: {prompt}");
    }
    assert_eq!(state(&project, "feature")["completion_reason"], "max_iterations");
    assert_eq!(state(&project, "feature")["history"][0]["decision"], "continue");
}

#[test]
fn a_project_has_its_own_template_and_limit() {
    let project = project_with_spec();
    project.script("agent.sh", "#!/bin/sh\ncat\n");
    project.file("iteratr.yml", "iterations: 1\ntemplate: my.template\n");
    project.file("my.template", "mine {{iteration}} {{unknown}}\n");
    let args = ["specs/feature.md", "--agent", "command:./agent.sh"];
    run_to(&project, &args, 0);
    assert_eq!(output_of(&project, 1), "pre 1\n\n\nmine 1 {{unknown}}\n");
    assert_eq!(state(&project, "feature")["history"].as_array().unwrap().len(), 1);
    project.file(".iteratr.template", "theirs {{spec}}\n");
    run_to(&project, &[&args[..], &["--fresh"]].concat(), 0);
    assert!(output_of(&project, 1).contains("theirs # Feature"), "{}", output_of(&project, 1));
    project.file("iteratr.yml", "iterations: many\n");
    let output = run_to(&project, &[&args[..], &["--fresh"]].concat(), 64);
    assert!(text(&output.stderr).contains("`iterations` is a number"), "{}", text(&output.stderr));
}

/// Every buffered text reaches a prompt or the final delivery, whenever the run is killed.
#[test]
fn a_killed_spec_loses_no_buffered_text() {
    let (mut kills, mut lost) = (0, 0);
    let mut seed = 17_u64;
    for number in 0..full_count(12, 300) {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let token = format!("run-spec-{number}-{}", std::process::id());
        let project = project_with_spec().with(TOKEN, &token);
        // An agent that keeps every prompt, and does the work of the scripted one.
        let gambrel = crate::test_project::program();
        project.script(
            "agent.sh",
            &format!(
                "#!/bin/sh\ncat >> prompts\n\
                 [ \"$ITERATION\" = 1 ] && {gambrel} task add 'Write it' > /dev/null\n\
                 [ \"$ITERATION\" = 2 ] && {gambrel} task done 1 > /dev/null\n\
                 exit 0\n"
            ),
        );
        let args = ["run", "specs/feature.md", "--agent", "command:./agent.sh", "--max", "3"];
        let mut run = project.start(&args, b"");
        std::thread::sleep(std::time::Duration::from_micros((seed >> 33) % 500_000));
        run.kill().unwrap();
        let ended = run.wait().unwrap();
        wait_until("no process is left", || processes_with_token(&token).is_empty());
        if ended.code() != Some(0) {
            kills += 1;
            let output = project.run(&[&args[..], &["--resume"]].concat(), b"");
            let is_complete = text(&output.stderr).contains("is complete");
            let expected = if is_complete { 64 } else { 0 };
            assert_eq!(output.status.code(), Some(expected), "{}", text(&output.stderr));
        }
        let prompts = std::fs::read_to_string(project.root.join("prompts")).unwrap();
        let wanted = ["post 1\n", "post 2\n", "post 3\n", "done 1\n"];
        lost += wanted.iter().filter(|words| !prompts.contains(**words)).count();
    }
    eprintln!("spec runs: {kills} killed, {lost} buffered texts lost");
    assert_eq!(lost, 0);
}
