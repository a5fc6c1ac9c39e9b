//! `spawn` in a run: a child pipeline is a real run of its own.

use serde_json::{Value, json};

use crate::run_fixture::{project_with_stage, run_folder, run_to, state, trace};
use crate::test_project::{TestProject, text, wait_until};

/// A parent whose iteration starts the pipeline `review`.
fn project_with_child(spawn: &str) -> TestProject {
    let project = project_with_stage("termination: {type: fixed, iterations: 1}");
    project.file(
        ".gambrel/hooks.yaml",
        &format!(
            "hooks:\n  on_iteration_complete:\n    - {spawn}\n    \
             - {{type: shell, await: true, command: 'printf %s \"$SPAWN_OUTPUT\" > spawned'}}\n"
        ),
    );
    project.file(
        ".gambrel/pipelines/review.yaml",
        "name: review\nnodes: [{id: look, prompt: Look}]\n",
    );
    project
}

fn child_folder(project: &TestProject) -> std::path::PathBuf {
    run_folder(project, "work").join("children/on_iteration_complete-1")
}

#[test]
fn an_awaited_child_runs_and_returns_its_output() {
    let project =
        project_with_child("{type: spawn, pipeline: review, inputs: {session: '${SESSION}'}}");
    run_to(&project, &["work"], 0);
    assert_eq!(trace(&project), ["agent work 1", "agent look 1"]);
    let read = |path: &str| -> Value {
        let path = child_folder(&project).join(path);
        serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap()
    };
    assert_eq!(read("inputs.json"), json!({"session": "work"}));
    assert_eq!(read("state.json")["status"], "complete");
    let context = read("stage-00-look/iterations/001/context.json");
    assert_eq!(context["inputs"]["from_parent"], json!({"session": "work"}));
    let spawned = std::fs::read_to_string(project.root.join("spawned")).unwrap();
    let spawned: Value = serde_json::from_str(&spawned).unwrap();
    assert_eq!((&spawned["status"], &spawned["pipeline"]), (&json!("complete"), &json!("review")));
}

#[test]
fn a_child_does_not_start_itself() {
    let project = project_with_child("{type: spawn, pipeline: review}");
    run_to(&project, &["work"], 0);
    // The hook of the project fires in the child too, without its spawn.
    assert!(!child_folder(&project).join("children").exists());
}

#[test]
fn a_child_is_not_waited_for_where_the_author_says_so() {
    let project = project_with_child("{type: spawn, pipeline: review, await: false}");
    run_to(&project, &["work"], 0);
    assert_eq!(std::fs::read_to_string(project.root.join("spawned")).unwrap(), "");
    wait_until("the child is complete", || {
        std::fs::read_to_string(child_folder(&project).join("state.json"))
            .is_ok_and(|state| state.contains("\"complete\""))
    });
}

#[test]
fn a_child_that_was_cut_off_continues_in_its_folder() {
    let project = project_with_child("{type: spawn, pipeline: review}");
    // The agent decides to wait before it is seen in the trace: the file `go` appears after that.
    project.script(
        "agent.sh",
        "#!/bin/sh\ncat > /dev/null\n[ -e go ] && go=yes\necho \"agent $STAGE\" >> trace\n\
         [ \"$STAGE\" = look ] && [ -z \"$go\" ] && sleep 60\n\
         printf '{\"decision\":\"continue\"}' > \"$STATUS\"\n",
    );
    let mut parent = project.start(&["run", "work"], b"");
    wait_until("the child's agent runs", || trace(&project).contains(&"agent look".to_owned()));
    parent.kill().unwrap();
    parent.wait().unwrap();
    project.file("go", "");
    wait_until("the child has ended", || {
        let resumed = project.run(&["resume", "work"], b"");
        assert!(matches!(resumed.status.code(), Some(0 | 1)), "{}", text(&resumed.stderr));
        resumed.status.code() == Some(0)
    });
    let folders = std::fs::read_dir(run_folder(&project, "work").join("children")).unwrap().count();
    assert_eq!(folders, 1);
    let lines = trace(&project);
    let count = |wanted: &str| lines.iter().filter(|line| *line == wanted).count();
    assert_eq!((count("agent work"), count("agent look")), (1, 2), "{lines:?}");
}

#[test]
fn a_parent_is_paused_while_it_waits_for_a_child() {
    let project = project_with_child("{type: spawn, pipeline: review}");
    project.script(
        "agent.sh",
        "#!/bin/sh\ncat > /dev/null\necho \"agent $STAGE\" >> trace\n\
         [ \"$STAGE\" = look ] && until test -e go; do sleep 0.02; done\n\
         printf '{\"decision\":\"continue\"}' > \"$STATUS\"\n",
    );
    let parent = project.start(&["run", "work"], b"");
    wait_until("the child's agent runs", || trace(&project).contains(&"agent look".to_owned()));
    let paused = state(&project, "work");
    assert_eq!(paused["status"], "paused");
    assert!(paused["paused_at"].as_str().unwrap().ends_with('Z'), "{paused}");
    assert_eq!(paused["child_session"], json!(child_folder(&project)));
    let shown = project.run(&["status", "work", "--json"], b"");
    let shown: Value = serde_json::from_slice(&shown.stdout).unwrap();
    assert_eq!((&shown["status"], &shown["live"]), (&json!("paused"), &json!(true)), "{shown}");

    project.file("go", "");
    let output = parent.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let ended = state(&project, "work");
    assert_eq!(ended["status"], "complete");
    assert!(ended.get("paused_at").is_none() && ended.get("child_session").is_none(), "{ended}");
}
