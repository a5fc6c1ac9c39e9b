//! A run of a spec is killed at each of its own writes and resumed: every piped text reaches the agent
//! at least once, and the run completes.

use std::path::Path;

use serde_json::{Value, json};

use crate::crash_points::can_trace;
use crate::processes::{TOKEN, full_count, processes_with_token};
use crate::run_fixture::{count_type, run_folder, state};
use crate::run_kill::run_killed_at;
use crate::test_project::{TestProject, text, wait_until};

/// System calls by which a run changes files, the board's database included.
const SYSCALLS: [&str; 8] =
    ["write", "pwrite64", "rename", "fdatasync", "fsync", "mkdir", "unlink", "ftruncate"];
const ITERATIONS: usize = 3;
/// More calls of one kind than the run makes.
const MAX_POINT_COUNT: usize = 3_000;
const RUN: [&str; 4] = ["run", "specs/feature.md", "--agent", "script:turns.yaml"];
const HOOKS: &str = "hooks:\n  \
    session_start: [{command: 'echo [start]', pipe_output: true}]\n  \
    pre_iteration: [{command: 'echo [pre {{iteration}}]', pipe_output: true}]\n  \
    post_iteration: [{command: 'echo [post {{iteration}}]', pipe_output: true}]\n  \
    on_task_complete: [{command: 'echo [done {{task_id}}]', pipe_output: true}]\n";
/// What the hooks pipe.
const PIPED: [&str; 8] =
    ["[start]", "[pre 1]", "[pre 2]", "[pre 3]", "[post 1]", "[post 2]", "[post 3]", "[done 1]"];

/// The line that sends the output of `post_iteration` at once.
const IMMEDIATE: &str = "post_iteration: immediate\n";

/// Kills and what they led to.
#[derive(Default)]
struct SpecKillCounts {
    points: usize,
    lost: usize,
    repeated: usize,
}

/// The turns of an agent that prints every prompt. It plans a task, completes it unless the board says
/// that it is complete, and ends the session.
fn write_turns(project: &TestProject, is_done: bool) {
    let call =
        |tool: &str, args: Value| json!({"tool": format!("mcp__gambrel__{tool}"), "args": args});
    let mut work = vec![call("iteration-summary", json!({"summary": "wrote it"}))];
    if !is_done {
        work.insert(0, call("task-update", json!({"id": "TAS-1", "status": "completed"})));
    }
    let answer = json!({"echo": true, "decision": "none"});
    let turns = [
        json!({"echo": true, "decision": "none", "tools": [
            call("task-add", json!({"tasks": [{"content": "Write it"}]})),
            call("iteration-summary", json!({"summary": "planned"}))]}),
        json!({"echo": true, "decision": "none", "tools": work}),
        json!({"echo": true, "decision": "none", "tools": [call("session-complete", json!({}))]}),
    ];
    let hooks = std::fs::read_to_string(project.root.join(".iteratr.hooks.yml")).unwrap();
    // With immediate output every iteration has a second prompt, else the final delivery has one.
    let turns: Vec<Value> = match hooks.starts_with(IMMEDIATE) {
        true => turns.into_iter().flat_map(|turn| [turn, answer.clone()]).collect(),
        false => turns.into_iter().chain([answer]).collect(),
    };
    project.file("turns.yaml", &json!({"turns": turns}).to_string());
}

fn project_with_spec(token: &str, option: &str) -> TestProject {
    let project = TestProject::new().with(TOKEN, token);
    project.file("specs/feature.md", "# Feature\n");
    project.file(".iteratr.template", "Iteration {{iteration}}.\n");
    project.file(".iteratr.hooks.yml", &format!("{option}{HOOKS}"));
    write_turns(&project, false);
    project
}

/// Every prompt that the agent has printed, those of cut off turns included.
fn read_prompts(folder: &Path) -> String {
    let mut prompts = String::new();
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        let is_output = path.ends_with("output.md") || path.ends_with("delivery.md");
        match path.is_dir() {
            true => prompts.push_str(&read_prompts(&path)),
            false if is_output => prompts.push_str(&std::fs::read_to_string(&path).unwrap()),
            false => {}
        }
    }
    prompts
}

/// Resumes the run with an agent that looks at the board, and counts what reached the agent.
fn resume_and_count(project: &TestProject, what: &str, counts: &mut SpecKillCounts) {
    let token = &project.env.iter().find(|(name, _)| name == TOKEN).unwrap().1;
    wait_until(&format!("{what}: no process is left"), || processes_with_token(token).is_empty());
    let tasks = project.json(&["task", "list", "--json"]);
    write_turns(project, tasks[0]["status"] == "completed");

    let output = project.run(&[&RUN[..], &["--resume"]].concat(), b"");
    // A run that was killed after its last line is complete.
    let was_complete = text(&output.stderr).contains("is complete");
    let expected = if was_complete { 64 } else { 0 };
    assert_eq!(output.status.code(), Some(expected), "{what}: {}", text(&output.stderr));
    let ended = state(project, "feature");
    assert_eq!(ended["completion_reason"], "session_complete", "{what}: {ended}");
    assert_eq!(count_type(project, "feature", "iteration_complete"), ITERATIONS, "{what}");
    let tasks = project.json(&["task", "list", "--json"]);
    assert_eq!(tasks[0]["status"], "completed", "{what}: {tasks}");
    assert!(tasks.get(1).is_none(), "{what}: {tasks}");

    let prompts = read_prompts(&run_folder(project, "feature"));
    counts.points += 1;
    for piped in PIPED {
        let times = prompts.matches(piped).count();
        if times == 0 {
            eprintln!("{what}: {piped} is lost");
        }
        counts.lost += usize::from(times == 0);
        counts.repeated += usize::from(times > 1);
    }
}

/// Kills a run at every `step`th point of each system call.
fn kill_everywhere(option: &str, step: usize) {
    if !can_trace() {
        return;
    }
    let mut counts = SpecKillCounts::default();
    for call in SYSCALLS {
        let mut nth = 1;
        while nth < MAX_POINT_COUNT {
            let what = format!("{call} {nth}");
            let token = format!("spec-kill-{}-{call}-{nth}-{}", option.len(), std::process::id());
            let project = project_with_spec(&token, option);
            let output = run_killed_at(&project, &RUN, call, nth);
            if output.status.code() == Some(0) {
                break;
            }
            resume_and_count(&project, &what, &mut counts);
            nth += step;
        }
    }
    let SpecKillCounts { points, lost, repeated } = counts;
    eprintln!(
        "{option}spec runs killed at {points} points: {lost} texts lost, {repeated} delivered twice"
    );
    assert!(points > 10, "only {points} points were found");
    assert_eq!(lost, 0);
}

#[test]
fn a_spec_killed_at_each_write_loses_no_text() {
    kill_everywhere("", full_count(20, 1));
}

#[test]
fn immediate_output_survives_a_kill_at_each_write() {
    kill_everywhere(IMMEDIATE, full_count(40, 1));
}
