//! `gambrel tail`: the agent's output, as it is and as it grows.

use std::io::{BufRead, BufReader};

use serde_json::Value;

use crate::run_fixture::{project_with_stage, run_to};
use crate::test_project::{TestProject, text, wait_until};

/// An agent that writes a line, waits for the file `go N`, and writes another one.
fn waiting_project() -> TestProject {
    let project = project_with_stage("termination: {type: fixed, iterations: 2}");
    project.script(
        "agent.sh",
        "#!/bin/sh\ncat > /dev/null\necho \"begin $ITERATION\"\n\
         for i in $(seq 600); do [ -e go$ITERATION ] || sleep 0.05; done\n\
         printf 'end %s \\033[2J\\n' \"$ITERATION\"\n\
         printf '{\"decision\":\"continue\"}' > \"$STATUS\"\n",
    );
    project
}

#[test]
fn follows_all_iterations_until_the_run_ends() {
    let project = waiting_project();
    let mut run = project.start(&["run", "work"], b"");
    let mut tail = None;
    wait_until("the run has begun", || {
        let shown = project.run(&["tail", "work"], b"");
        text(&shown.stdout).contains("begin 1")
    });
    let started = tail.insert(project.start(&["tail", "-f", "work"], b""));
    let mut lines = BufReader::new(started.stdout.take().unwrap()).lines().map(Result::unwrap);
    assert_eq!(lines.next().unwrap(), "begin 1");
    project.file("go1", "");
    assert_eq!(lines.next().unwrap(), "end 1 \u{fffd}[2J", "control characters are replaced");
    assert_eq!(lines.next().unwrap(), "begin 2");
    project.file("go2", "");
    assert_eq!(lines.next().unwrap(), "end 2 \u{fffd}[2J");
    assert_eq!(lines.next(), None);
    let tail = tail.unwrap().wait_with_output().unwrap();
    assert_eq!(tail.status.code(), Some(0));
    let headings = text(&tail.stderr);
    assert_eq!(headings, "== work, iteration 1 ==\n== work, iteration 2 ==\n");
    assert!(run.wait().unwrap().success());
}

#[test]
fn prints_the_last_lines_of_the_newest_iteration() {
    let project = waiting_project();
    for name in ["go1", "go2"] {
        project.file(name, "");
    }
    run_to(&project, &["work"], 0);
    let tail = |args: &[&str]| {
        let output = project.run(&[&["tail"], args].concat(), b"");
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        text(&output.stdout)
    };
    assert_eq!(tail(&["work"]), "begin 2\nend 2 \u{fffd}[2J\n");
    assert_eq!(tail(&["work", "-n", "1"]), "end 2 \u{fffd}[2J\n");
    assert_eq!(tail(&["work", "-f", "-n", "1"]), "end 2 \u{fffd}[2J\n");
    let part: Value = serde_json::from_str(&tail(&["work", "--json"])).unwrap();
    assert_eq!((&part["stage"], &part["iteration"]), (&"work".into(), &2.into()));
    assert_eq!(part["text"], "begin 2\nend 2 \u{1b}[2J\n");
}

#[test]
fn names_an_unknown_session() {
    let project = waiting_project();
    let output = project.run(&["tail", "nothing"], b"");
    assert_eq!(output.status.code(), Some(64));
    let error = text(&output.stderr);
    assert!(error.contains("no run `nothing`") && error.contains("`gambrel run` "), "{error}");
    for name in ["go1", "go2"] {
        project.file(name, "");
    }
    run_to(&project, &["work"], 0);
    for (session, known) in [("worl", "did you mean `work`?"), ("night", "there is only `work`")] {
        let output = project.run(&["resume", session], b"");
        assert_eq!(output.status.code(), Some(64));
        assert!(text(&output.stderr).contains(known), "{}", text(&output.stderr));
    }
    for command in ["tail", "report", "status", "say"] {
        let more: &[&str] = if command == "say" { &["hello"] } else { &[] };
        let output = project.run(&[&[command, "worl"], more].concat(), b"");
        assert_eq!(output.status.code(), Some(64), "{command}");
        let error = text(&output.stderr);
        assert!(error.contains("did you mean `work`?"), "{command}: {error}");
    }
}
