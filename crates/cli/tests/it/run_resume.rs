//! Runs that were cut off, failed, cancelled or exist already.

use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;

use crate::processes::TOKEN;
use crate::run_fixture::{
    TRACE_HOOKS, count_type, project_with_stage, run_folder, run_to, state, trace,
};
use crate::test_project::{TestProject, text, wait_until};

fn send_signal(child: &std::process::Child, signal: Signal) {
    let pid = Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap();
    kill_process(pid, signal).unwrap();
}

fn project_with_slow_agent() -> TestProject {
    let project = project_with_stage("termination: {type: fixed, iterations: 2}");
    project.script(
        "agent.sh",
        "#!/bin/sh\ncat > /dev/null\necho \"agent $ITERATION\" >> trace\n\
         [ \"$ITERATION\" = 2 ] && [ ! -e go ] && sleep 60\n\
         printf '{\"decision\":\"continue\"}' > \"$STATUS\"\n",
    );
    project
}

#[test]
fn a_killed_run_continues_at_its_iteration() {
    let project = project_with_slow_agent().with(TOKEN, "run-resume-kill");
    project.file(".gambrel/hooks.yaml", TRACE_HOOKS);
    let mut child = project.start(&["run", "work"], b"");
    wait_until("the second agent runs", || trace(&project).contains(&"agent 2".to_owned()));
    child.kill().unwrap();
    child.wait().unwrap();
    project.file("go", "");
    let output = project.run(&["resume", "work"], b"");
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let lines = trace(&project);
    let count = |wanted: &str| lines.iter().filter(|line| *line == wanted).count();
    assert_eq!(count("session_start work 0"), 1, "{lines:?}");
    assert_eq!(count("agent 1"), 1);
    assert_eq!(count("agent 2"), 2);
    assert_eq!(count("iteration_start work 2"), 1, "a finished hook ran again");
    assert_eq!(count("iteration_complete 2 continue"), 1);
    assert_eq!(count_type(&project, "work", "iteration_complete"), 2);
    let left = run_folder(&project, "work").join("stage-00-work/iterations/002/attempt-1");
    assert!(!left.join("status.json").exists());
}

#[test]
fn a_cancelled_run_fires_nothing_and_continues() {
    let project = project_with_slow_agent();
    project.file(".gambrel/hooks.yaml", TRACE_HOOKS);
    for (signal, code) in [(Signal::INT, 130), (Signal::TERM, 143)] {
        let args: &[&str] = if code == 130 { &["run", "work"] } else { &["resume", "work"] };
        let child = project.start(args, b"");
        let agents = if code == 130 { 1 } else { 2 };
        wait_until("the second agent runs", || {
            trace(&project).iter().filter(|line| *line == "agent 2").count() == agents
        });
        std::thread::sleep(Duration::from_millis(100));
        send_signal(&child, signal);
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(code), "{}", text(&output.stderr));
        let state = state(&project, "work");
        assert_eq!(state["status"], "running");
        assert!(state["cancelled_at"].is_string());
    }
    let lines = trace(&project);
    assert!(!lines.iter().any(|line| line.starts_with("error")), "{lines:?}");
    project.file("go", "");
    assert_eq!(project.run(&["resume"], b"").status.code(), Some(0));
}

#[test]
fn a_failed_attempt_is_over() {
    let project = project_with_stage("termination: {type: fixed, iterations: 1}");
    project.file(".gambrel/hooks.yaml", TRACE_HOOKS);
    project.script(
        "agent.sh",
        "#!/bin/sh\n[ -e go ] || exit 1\nprintf '{\"decision\":\"stop\"}' > \"$STATUS\"\n",
    );
    run_to(&project, &["work"], 1);
    project.file("go", "");
    assert_eq!(project.run(&["resume", "work"], b"").status.code(), Some(0));
    let lines = trace(&project);
    let starts = lines.iter().filter(|line| *line == "iteration_start work 1").count();
    assert_eq!(starts, 2, "{lines:?}");
    assert_eq!(state(&project, "work")["cursor"]["attempt"], 2);
}

#[test]
fn a_hook_that_aborted_is_asked_again() {
    let project = project_with_stage("termination: {type: fixed, iterations: 1}");
    project.file(
        ".gambrel/hooks.yaml",
        "hooks:\n  on_iteration_complete:\n    - {type: shell, await: true, command: 'echo first >> trace'}\n    \
         - {type: shell, await: true, on_failure: abort, command: 'echo gate >> trace; test -e go'}\n",
    );
    run_to(&project, &["work"], 1);
    project.file("go", "");
    assert_eq!(project.run(&["resume", "work"], b"").status.code(), Some(0));
    let lines = trace(&project);
    let count = |wanted: &str| lines.iter().filter(|line| *line == wanted).count();
    assert_eq!((count("first"), count("gate"), count("agent work 1")), (1, 2, 1), "{lines:?}");
}

#[test]
fn an_existing_session_is_not_started_again() {
    let project = project_with_stage("termination: {type: fixed, iterations: 1}");
    run_to(&project, &["work"], 0);
    let shown = text(&run_to(&project, &["work"], 64).stderr);
    assert!(shown.contains("--fresh") && shown.contains("complete"), "{shown}");
    assert_eq!(project.run(&["resume", "work"], b"").status.code(), Some(64));
    run_to(&project, &["work", "--fresh"], 0);
    assert!(run_folder(&project, "work.1").join("events.jsonl").is_file());
    let agents = trace(&project).len();
    assert_eq!(agents, 2);
}

#[test]
fn two_runners_do_not_share_a_session() {
    let project = project_with_slow_agent();
    let mut child = project.start(&["run", "work"], b"");
    wait_until("the second agent runs", || trace(&project).contains(&"agent 2".to_owned()));
    let second = project.run(&["resume", "work"], b"");
    assert_eq!(second.status.code(), Some(1), "{}", text(&second.stderr));
    let status = project.json(&["status", "work", "--json"]);
    assert_eq!((&status["status"], &status["live"]), (&json!("running"), &json!(true)));
    let stopped = project.run(&["stop", "work"], b"");
    assert_eq!(stopped.status.code(), Some(0), "{}", text(&stopped.stderr));
    assert_eq!(child.wait().unwrap().code(), Some(143));
    let runs = project.json(&["runs", "--json"]);
    assert_eq!((&runs[0]["session"], &runs[0]["live"]), (&json!("work"), &json!(false)));
}

#[test]
fn a_torn_last_line_is_dropped() {
    let project = project_with_stage("termination: {type: fixed, iterations: 1}");
    project.script(
        "agent.sh",
        "#!/bin/sh\n[ -e go ] || exit 1\nprintf '{\"decision\":\"stop\"}' > \"$STATUS\"\n",
    );
    run_to(&project, &["work"], 1);
    let log = run_folder(&project, "work").join("events.jsonl");
    let mut bytes = std::fs::read(&log).unwrap();
    bytes.extend_from_slice(b"{\"ts\":\"2026");
    std::fs::write(&log, bytes).unwrap();
    project.file("go", "");
    let output = project.run(&["resume", "work"], b"");
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
}

#[test]
fn resumes_with_the_stored_plan_and_says_so() {
    let project = project_with_stage("termination: {type: fixed, iterations: 1}");
    project.script(
        "agent.sh",
        "#!/bin/sh\ncat\n[ -e go ] || exit 1\nprintf '{\"decision\":\"stop\"}' > \"$STATUS\"\n",
    );
    run_to(&project, &["work"], 1);
    project.file("go", "");
    project.file(".gambrel/stages/work/prompt.md", "Something new.\n");
    let output = project.run(&["resume", "work"], b"");
    assert_eq!(output.status.code(), Some(0));
    assert!(text(&output.stderr).contains("continues with the stored plan"));
    let output = run_folder(&project, "work").join("stage-00-work/iterations/001/output.md");
    assert_eq!(std::fs::read_to_string(output).unwrap(), "Work on work, number 1.\n");
}

#[test]
fn a_kill_in_the_error_hook_keeps_the_error() {
    let project = project_with_stage("termination: {type: fixed, iterations: 1}");
    project.script(
        "agent.sh",
        "#!/bin/sh\n[ -e go ] || exit 5\nprintf '{\"decision\":\"stop\"}' > \"$STATUS\"\n",
    );
    project.file(
        ".gambrel/hooks.yaml",
        "hooks:\n  on_error: [{type: shell, await: true, command: 'echo \"error $ERROR\" >> trace; [ -e go ] || sleep 60'}]\n",
    );
    let mut child = project.start(&["run", "work"], b"");
    wait_until("the error hook runs", || !trace(&project).is_empty());
    child.kill().unwrap();
    child.wait().unwrap();
    project.file("go", "");
    assert_eq!(project.run(&["resume", "work"], b"").status.code(), Some(1));
    let lines = trace(&project);
    assert_eq!(lines[0], lines[1], "the repeated hook got another error");
    assert_eq!(state(&project, "work")["error"]["type"], "exit_code");
    assert_eq!(project.run(&["resume", "work"], b"").status.code(), Some(0));
}
