//! `gambrel run --detach`: the run goes on when its starter has ended.

use serde_json::Value;

use crate::run_fixture::{project_with_stage, state, trace};
use crate::test_project::{TestProject, text, wait_until};

fn waiting_project() -> TestProject {
    let project = project_with_stage("termination: {type: fixed, iterations: 1}");
    project.script(
        "agent.sh",
        "#!/bin/sh\ncat > /dev/null\necho \"agent $SESSION $CONTEXT_WORD\" >> trace\n\
         for i in $(seq 600); do [ -e go ] || sleep 0.05; done\n\
         printf '{\"decision\":\"stop\"}' > \"$STATUS\"\n",
    );
    project
}

#[test]
fn returns_while_the_run_goes_on() {
    let project = waiting_project();
    let output = project.run(&["run", "work", "--detach", "--json"], b"");
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let started: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(started["session"], "work");
    let running = project.json(&["status", "work", "--json"]);
    assert_eq!((&running["status"], &running["live"]), (&"running".into(), &true.into()));
    // The log beside the folder of the run is no run.
    let listed = project.run(&["runs"], b"");
    assert!(text(&listed.stdout).contains("work     running  work   1 "), "{listed:?}");
    assert_eq!((text(&listed.stdout).lines().count(), text(&listed.stderr).as_str()), (2, ""));
    wait_until("the agent works", || !trace(&project).is_empty());
    let report = text(&project.run(&["report", "work"], b"").stdout);
    assert!(report.contains("\n  1 agent works  "), "{report}");
    let pid = started["pid"].as_u64().unwrap();
    let session = |pid: u64| {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
        let (_, fields) = stat.rsplit_once(')').unwrap();
        fields.split_whitespace().nth(3).unwrap().parse::<u64>().unwrap()
    };
    assert_eq!(session(pid), pid, "it has a session of its own");
    let again = project.run(&["run", "work", "--detach"], b"");
    assert_eq!(again.status.code(), Some(1));
    assert!(text(&again.stderr).contains("is running"), "{}", text(&again.stderr));
    project.file("go", "");
    wait_until("the run is complete", || {
        project.json(&["status", "work", "--json"])["status"] == "complete"
    });
    assert_eq!(trace(&project).len(), 1);
    let log = std::fs::read_to_string(started["log"].as_str().unwrap()).unwrap();
    assert!(log.contains("complete: "), "{log}");
}

#[test]
fn names_the_commands_for_the_run() {
    let project = waiting_project();
    let args = ["run", "work", "--detach", "--session", "night", "--context=-words here"];
    let output = project.run(&args, b"");
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert_eq!(text(&output.stdout), "night\n");
    let shown = text(&output.stderr);
    for command in ["gambrel tail -f night", "gambrel status night", "gambrel stop night"] {
        assert!(shown.contains(command), "{shown}");
    }
    let stopped = project.run(&["stop", "night"], b"");
    assert_eq!(stopped.status.code(), Some(0), "{}", text(&stopped.stderr));
    assert_eq!(state(&project, "night")["session"], "night");
    let resumed = project.run(&["run", "--resume", "--session", "night", "--detach"], b"");
    assert_eq!(resumed.status.code(), Some(0), "{}", text(&resumed.stderr));
    project.file("go", "");
    wait_until("the run is complete", || {
        project.json(&["status", "night", "--json"])["status"] == "complete"
    });
}

#[test]
fn reports_a_run_that_does_not_start() {
    let project = waiting_project();
    let unknown = project.run(&["run", "nothing", "--detach"], b"");
    assert_eq!(unknown.status.code(), Some(64));
    let untrusted = waiting_project().with("GAMBREL_TRUST", "store");
    let output = untrusted.run(&["run", "work", "--detach"], b"");
    assert_eq!(output.status.code(), Some(64));
    assert!(text(&output.stderr).contains("needs your trust"), "{}", text(&output.stderr));
    let broken = waiting_project();
    broken.file(
        ".gambrel/stages/work/stage.yaml",
        "name: work\nprovider: 'script:gone.yaml'\ntermination: {type: fixed, iterations: 1}\n",
    );
    let output = broken.run(&["run", "work", "--detach"], b"");
    // The run begins, and fails at once.
    wait_until("the run has failed", || {
        broken.json(&["status", "work", "--json"])["status"] == "failed"
    });
    assert!(matches!(output.status.code(), Some(0 | 1)), "{}", text(&output.stderr));
}
