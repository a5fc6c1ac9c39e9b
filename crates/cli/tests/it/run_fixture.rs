//! A project with a stage, an agent and hooks that append to a file, for tests of `gambrel run`.

use std::path::PathBuf;
use std::process::Output;

use serde_json::Value;

use crate::test_project::{TestProject, text};

/// An agent that prints its prompt, decides `continue`, and appends a line to `agents`.
pub const ECHO_AGENT: &str = "#!/bin/sh\n\
    cat\n\
    echo \"agent $STAGE $ITERATION\" >> trace\n\
    printf '{\"decision\":\"continue\",\"reason\":\"r%s\",\"summary\":\"did %s\"}' \"$ITERATION\" \"$ITERATION\" > \"$STATUS\"\n";

/// A project with the stage `work`, which runs three iterations of [`ECHO_AGENT`] without delay.
pub fn project_with_stage(stage: &str) -> TestProject {
    let project = TestProject::new();
    project.script("agent.sh", ECHO_AGENT);
    project.file(
        ".gambrel/stages/work/stage.yaml",
        &format!("name: work\ndelay: 0\nprovider: 'command:./agent.sh'\n{stage}\n"),
    );
    project.file(".gambrel/stages/work/prompt.md", "Work on ${SESSION}, number ${ITERATION}.\n");
    project
}

/// Hooks of agent-pipelines that append a line to `trace` at all six points.
pub const TRACE_HOOKS: &str = r#"
hooks:
  on_session_start: [{type: shell, await: true, command: 'echo "session_start $SESSION $ITERATION" >> trace'}]
  on_iteration_start: [{type: shell, await: true, command: 'echo "iteration_start $STAGE $ITERATION" >> trace'}]
  on_iteration_complete: [{type: shell, await: true, command: 'echo "iteration_complete $ITERATION $LAST_DECISION" >> trace'}]
  on_stage_complete: [{type: shell, await: true, command: 'echo "stage_complete $STAGE next=$NEXT_STAGE" >> trace'}]
  on_session_complete: [{type: shell, await: true, command: 'echo "session_complete $ITERATION" >> trace'}]
  on_error: [{type: shell, await: true, command: 'echo "error $ERROR" >> trace'}]
"#;

pub fn run(project: &TestProject, args: &[&str]) -> Output {
    let args = [&["run"], args].concat();
    project.run(&args, b"")
}

/// Runs and expects an exit code.
pub fn run_to(project: &TestProject, args: &[&str], code: i32) -> Output {
    let output = run(project, args);
    assert_eq!(output.status.code(), Some(code), "{}", text(&output.stderr));
    output
}

pub fn trace(project: &TestProject) -> Vec<String> {
    let text = std::fs::read_to_string(project.root.join("trace")).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

pub fn run_folder(project: &TestProject, session: &str) -> PathBuf {
    project.root.join(".gambrel/runs").join(session)
}

pub fn state(project: &TestProject, session: &str) -> Value {
    let bytes = std::fs::read(run_folder(project, session).join("state.json")).unwrap();
    serde_json::from_slice(&bytes).unwrap()
}

/// The types of the lines of the log.
pub fn log_types(project: &TestProject, session: &str) -> Vec<String> {
    let path = run_folder(project, session).join("events.jsonl");
    let text = std::fs::read_to_string(path).unwrap_or_default();
    let kind = |line: &str| {
        let line: Value = serde_json::from_str(line).unwrap();
        line["type"].as_str().unwrap().to_owned()
    };
    text.lines().map(kind).collect()
}

pub fn count_type(project: &TestProject, session: &str, kind: &str) -> usize {
    log_types(project, session).iter().filter(|known| *known == kind).count()
}
