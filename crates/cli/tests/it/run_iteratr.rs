//! Hooks of iteratr in a run: the pending buffer, recovery after an error, task events, and messages
//! of a user.

use serde_json::json;

use crate::run_fixture::{count_type, project_with_stage, run_folder, run_to, state, trace};
use crate::test_project::{TestProject, text, wait_until};

/// A run of two iterations with these hooks of iteratr. The agent prints its prompt.
fn project_with_hooks(hooks: &str) -> TestProject {
    let project = project_with_stage("termination: {type: fixed, iterations: 2}");
    project.file(".iteratr.hooks.yml", &format!("version: 1\nhooks:\n{hooks}"));
    project
}

fn prompt_of(project: &TestProject, iteration: u32) -> String {
    let path = format!("stage-00-work/iterations/{iteration:03}/output.md");
    std::fs::read_to_string(run_folder(project, "work").join(path)).unwrap_or_default()
}

#[test]
fn all_six_hooks_run_in_order_and_their_output_is_buffered() {
    let project = project_with_hooks(
        "  session_start: [{command: 'echo start {{session}}', pipe_output: true}]\n  \
         pre_iteration: [{command: 'echo pre {{iteration}}', pipe_output: true}, {command: 'echo not piped'}]\n  \
         post_iteration: [{command: 'echo post {{iteration}}', pipe_output: true}]\n  \
         session_end: [{command: 'echo end {{session}} >> trace'}]\n",
    );
    run_to(&project, &["work"], 0);
    assert_eq!(prompt_of(&project, 1), "start work\n\npre 1\n\n\nWork on work, number 1.\n");
    assert_eq!(prompt_of(&project, 2), "post 1\n\npre 2\n\n\nWork on work, number 2.\n");
    let delivery = std::fs::read_to_string(run_folder(&project, "work").join("delivery.md"));
    assert_eq!(delivery.unwrap(), "post 2\n");
    // The agent of the final delivery comes before the hook of the end.
    assert_eq!(trace(&project).last().unwrap(), "end work");
}

/// An agent that fails as often as `failures` says.
fn failing_agent(project: &TestProject, failures: u32) {
    project.script(
        "agent.sh",
        &format!(
            "#!/bin/sh\ncat\necho \"agent $ITERATION\" >> trace\n\
             [ \"$(grep -c agent trace)\" -le {failures} ] && {{ echo broken >&2; exit 3; }}\n\
             printf '{{\"decision\":\"continue\"}}' > \"$STATUS\"\n"
        ),
    );
}

const ON_ERROR: &str = "  on_error: [{command: 'echo look: {{error}}', pipe_output: true}]\n  \
    pre_iteration: [{command: 'echo pre >> trace'}]\n";

#[test]
fn a_failed_agent_starts_again_with_the_output_of_the_hook() {
    let project = project_with_hooks(ON_ERROR);
    failing_agent(&project, 2);
    run_to(&project, &["work"], 0);
    let lines = ["pre", "agent 1", "pre", "agent 1", "pre", "agent 1", "pre", "agent 2"];
    assert_eq!(trace(&project), lines);
    let first = prompt_of(&project, 1);
    assert!(first.starts_with("look: the agent exited with code 3"), "{first}");
    assert_eq!(count_type(&project, "work", "recovered"), 2);
    assert_eq!(count_type(&project, "work", "error"), 2);
    assert_eq!(state(&project, "work")["history"].as_array().unwrap().len(), 2);
}

#[test]
fn an_iteration_recovers_three_times_at_most() {
    let project = project_with_hooks(ON_ERROR);
    failing_agent(&project, 99);
    run_to(&project, &["work"], 1);
    assert_eq!(trace(&project).iter().filter(|line| *line == "agent 1").count(), 4);
    assert_eq!(state(&project, "work")["error"]["type"], "exit_code");
}

#[test]
fn hooks_of_other_products_do_not_recover() {
    let project = project_with_stage("termination: {type: fixed, iterations: 2}");
    project.file(
        ".gambrel/hooks.yaml",
        "hooks:\n  on_error: [{type: shell, await: true, command: 'echo error >> trace'}]\n",
    );
    failing_agent(&project, 1);
    run_to(&project, &["work"], 1);
    assert_eq!(trace(&project), ["agent 1", "error"]);
}

#[test]
fn a_completed_task_reaches_the_next_iteration() {
    let project = project_with_hooks(
        "  on_task_complete: [{command: 'echo checked {{task_id}} {{task_content}}', pipe_output: true}]\n",
    );
    let gambrel = crate::test_project::program();
    project.script(
        "agent.sh",
        &format!(
            "#!/bin/sh\ncat\n[ \"$ITERATION\" = 1 ] && {gambrel} task add 'Write it' > /dev/null && \
             {gambrel} task done 1 > /dev/null\nprintf '{{\"decision\":\"continue\"}}' > \"$STATUS\"\n"
        ),
    );
    run_to(&project, &["work"], 0);
    assert!(
        prompt_of(&project, 2).starts_with("checked 1 Write it\n"),
        "{}",
        prompt_of(&project, 2)
    );
    let listed = project.run(&["task", "list", "--json"], b"");
    let tasks: serde_json::Value = serde_json::from_slice(&listed.stdout).unwrap();
    assert_eq!(
        (&tasks[0]["status"], &tasks[0]["metadata"]["session"]),
        (&json!("completed"), &json!("work"))
    );
}

#[test]
fn a_paused_run_hears_the_user_and_goes_on() {
    let project = project_with_hooks("  session_start: [{command: 'true'}]\n");
    project.script(
        "agent.sh",
        "#!/bin/sh\ncat\necho \"agent $ITERATION\" >> trace\n\
         [ \"$ITERATION\" = 1 ] && until test -e go; do sleep 0.02; done\n\
         printf '{\"decision\":\"continue\"}' > \"$STATUS\"\n",
    );
    let run = project.start(&["run", "work"], b"");
    wait_until("the agent runs", || !trace(&project).is_empty());
    let not_paused = project.run(&["resume", "work"], b"");
    assert_eq!(not_paused.status.code(), Some(1), "{}", text(&not_paused.stderr));
    for args in [&["pause", "work"][..], &["say", "work", "mind the gap"]] {
        let output = project.run(args, b"");
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    }
    project.file("go", "");
    wait_until("the run is paused", || state(&project, "work")["status"] == "paused");
    assert_eq!(trace(&project), ["agent 1"]);
    let resumed = project.run(&["resume", "work"], b"");
    assert_eq!(resumed.status.code(), Some(0), "{}", text(&resumed.stderr));
    let output = run.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert!(prompt_of(&project, 2).starts_with("mind the gap\n"), "{}", prompt_of(&project, 2));
    assert!(!prompt_of(&project, 1).contains("mind the gap"));
    assert!(state(&project, "work").get("paused_at").is_none());
    let late = project.run(&["say", "work", "too late"], b"");
    assert_eq!(late.status.code(), Some(1));
    let unknown = project.run(&["pause", "nowhere"], b"");
    assert_eq!(unknown.status.code(), Some(64));
}
