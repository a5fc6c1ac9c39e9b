//! Trouble around a run: a full disk, an agent that hangs, prints without end, or leaves processes.

use crate::processes::{TOKEN, processes_with_token};
use crate::run_fixture::{project_with_stage, run_folder, run_to, state, trace};
use crate::test_project::{text, wait_until};

/// Runs in a mount namespace: a small disk for the run's files, then a larger one.
const FULL_DISK: &str = "set -u\n\
    mkdir -p .gambrel/runs\n\
    mount -t tmpfs -o size=64k tmpfs .gambrel/runs || exit 77\n\
    \"$0\" run work 2> first.err; echo \"run $?\" >> codes\n\
    \"$0\" status work > status.txt; echo \"status $?\" >> codes\n\
    mount -o remount,size=16m .gambrel/runs\n\
    touch go\n\
    \"$0\" resume work 2> second.err; echo \"resume $?\" >> codes\n\
    cp -r .gambrel/runs/work kept\n";

#[test]
fn a_full_disk_ends_the_run_and_keeps_its_state() {
    let project = project_with_stage("termination: {type: fixed, iterations: 2}");
    project.script(
        "agent.sh",
        "#!/bin/sh\ncat > /dev/null\nprintf '{\"decision\":\"continue\"}' > \"$STATUS\"\n\
         [ -e go ] || head -c 200000 /dev/zero | tr '\\0' x\n",
    );
    if !project.run_in_mount_namespace(FULL_DISK) {
        return;
    }
    let read = |name: &str| std::fs::read_to_string(project.root.join(name)).unwrap_or_default();
    let shown = format!("{}{}", read("first.err"), read("second.err"));
    assert_eq!(read("codes"), "run 1\nstatus 0\nresume 0\n", "{shown}");
    assert!(read("first.err").contains("No space left"), "{shown}");
    let state: serde_json::Value = serde_json::from_str(&read("kept/state.json")).unwrap();
    assert_eq!(state["status"], "complete");
}

#[test]
fn an_agent_that_prints_a_gigabyte_is_cut() {
    let project = project_with_stage("termination: {type: fixed, iterations: 1}");
    project.script(
        "agent.sh",
        "#!/bin/sh\ncat > /dev/null\nhead -c 1000000000 /dev/zero\n\
         printf '{\"decision\":\"stop\"}' > \"$STATUS\"\n",
    );
    run_to(&project, &["work"], 0);
    let output = run_folder(&project, "work").join("stage-00-work/iterations/001/output.md");
    assert!(std::fs::metadata(output).unwrap().len() <= 64 << 20);
}

#[test]
fn processes_that_an_agent_leaves_are_ended() {
    let project = project_with_stage("termination: {type: fixed, iterations: 1}");
    let project = project.with(TOKEN, "run-trouble-leftovers");
    project.script(
        "agent.sh",
        "#!/bin/sh\ncat > /dev/null\n(setsid sleep 300 > /dev/null 2>&1 &)\nsleep 300 &\n\
         printf '{\"decision\":\"stop\"}' > \"$STATUS\"\n",
    );
    run_to(&project, &["work"], 0);
    wait_until("no process is left", || processes_with_token("run-trouble-leftovers").is_empty());
}

#[test]
fn a_session_name_stays_inside_its_folder() {
    let project = project_with_stage("termination: {type: fixed, iterations: 1}");
    for name in ["../x", "a/b", ""] {
        run_to(&project, &["work", "--session", name], 64);
    }
    assert!(trace(&project).is_empty());
}

#[test]
fn a_broken_log_is_an_error_with_its_line() {
    let project = project_with_stage("termination: {type: fixed, iterations: 1}");
    project.script("agent.sh", "#!/bin/sh\nexit 1\n");
    run_to(&project, &["work"], 1);
    let log = run_folder(&project, "work").join("events.jsonl");
    let good = std::fs::read_to_string(&log).unwrap();
    std::fs::write(&log, format!("{{\"type\":\"nonsense\"}}\n{good}")).unwrap();
    let output = project.run(&["resume", "work"], b"");
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains("line 1"), "{}", text(&output.stderr));
    std::fs::write(&log, good).unwrap();
    assert_eq!(state(&project, "work")["status"], "failed");
}

#[test]
fn a_queue_command_is_ended_after_a_minute() {
    let project = project_with_stage("termination: {type: queue, command: 'sleep 600', max: 1}");
    let output = run_to(&project, &["work"], 0);
    assert!(text(&output.stderr).contains("the queue command failed"), "{}", text(&output.stderr));
    assert_eq!(state(&project, "work")["completion_reason"], "max_iterations");
}
