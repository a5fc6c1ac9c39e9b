//! A plan that was found by name runs nothing without trust.

use std::io::Write;

use crate::run_fixture::{TRACE_HOOKS, project_with_stage, run, run_folder, run_to, trace};
use crate::test_project::{TestProject, text};

/// A project whose stage has hooks, a queue command, commands and an agent of its own.
fn project_with_commands() -> TestProject {
    let stage = "commands: {test: 'make test'}\n\
         termination: {type: queue, command: 'echo asked >> trace; cat left'}\n";
    let project = project_with_stage(&format!("{stage}{TRACE_HOOKS}"));
    project.file("left", "");
    project.with("GAMBREL_TRUST", "store")
}

#[test]
fn a_named_plan_needs_trust() {
    let project = project_with_commands();
    let refused = run_to(&project, &["work"], 64);
    let stderr = text(&refused.stderr);
    for what in ["cat left", "make test", "./agent.sh", "session_start"] {
        assert!(stderr.contains(what), "{what} is not in {stderr}");
    }
    assert!(trace(&project).is_empty() && !run_folder(&project, "work").exists());

    let listed = text(&project.run(&["trust", "--list"], b"").stdout);
    assert!(listed.contains("plan"), "{listed}");
    let trusted = project.run(&["trust", "--all", "--yes"], b"");
    assert_eq!(trusted.status.code(), Some(0), "{}", text(&trusted.stderr));
    run_to(&project, &["work"], 0);
    assert!(trace(&project).contains(&"session_complete 1".to_owned()), "{:?}", trace(&project));
}

#[test]
fn a_change_revokes_the_trust() {
    let project = project_with_commands();
    assert_eq!(project.run(&["trust", "--all", "--yes"], b"").status.code(), Some(0));
    let stage = project.root.join(".gambrel/stages/work/stage.yaml");
    let changed = std::fs::read_to_string(&stage).unwrap().replace("cat left", "cat left >&2");
    std::fs::write(&stage, changed).unwrap();
    assert_eq!(run(&project, &["work"]).status.code(), Some(64));
    assert!(trace(&project).is_empty());
}

#[test]
fn a_typed_path_is_the_users_own() {
    let project = project_with_commands();
    run_to(&project, &[".gambrel/stages/work"], 0);
    assert!(trace(&project).contains(&"session_start work 0".to_owned()));
}

#[test]
fn stages_of_a_typed_pipeline_need_trust() {
    let project = project_with_commands();
    project.file("p.yaml", "name: p\nnodes: [{stage: work}]\n");
    run_to(&project, &["p.yaml", "--session", "s"], 64);
    assert!(trace(&project).is_empty());
}

#[test]
fn a_plan_without_commands_needs_no_trust() {
    let project = TestProject::new().with("GAMBREL_TRUST", "store");
    project.file(".gambrel/stages/bare/stage.yaml", "name: bare\ntermination: {type: fixed}\n");
    project.file(".gambrel/stages/bare/prompt.md", "Hello");
    project.script("agent.sh", crate::run_fixture::ECHO_AGENT);
    run_to(&project, &["bare", "--max", "1", "--agent", "command:./agent.sh"], 0);
}

#[test]
fn a_bare_name_is_found_by_name() {
    let project = project_with_commands();
    std::fs::rename(project.root.join(".gambrel/stages/work"), project.root.join("work")).unwrap();
    project
        .file("release", "name: release\nnodes: [{prompt: Go, provider: 'command:./agent.sh'}]\n");
    let stderr = text(&run_to(&project, &["work"], 64).stderr);
    assert!(stderr.contains("gambrel trust") && stderr.contains("work/stage.yaml"), "{stderr}");
    run_to(&project, &["release"], 64);
    assert!(trace(&project).is_empty());

    run_to(&project, &["./release", "--session", "typed"], 0);
    run_to(&project, &["work/stage.yaml", "--session", "typed-stage"], 0);
    let trusted = project.run(&["trust", "work/stage.yaml", "release", "--yes"], b"");
    assert_eq!(trusted.status.code(), Some(0), "{}", text(&trusted.stderr));
    run_to(&project, &["work", "--session", "named-stage"], 0);
    run_to(&project, &["release", "--session", "named"], 0);
}

#[test]
fn stages_of_a_named_pipeline_are_listed() {
    let project = TestProject::new().with("GAMBREL_TRUST", "store");
    project.script("agent.sh", crate::run_fixture::ECHO_AGENT);
    project
        .file(".gambrel/pipelines/p.yaml", "name: p\nnodes: [{stage: ../lib/one}, {stage: two}]\n");
    for folder in ["lib/one", "pipelines/stages/two"] {
        let name = folder.rsplit('/').next().unwrap();
        let stage = format!(
            "name: {name}\ntermination: {{type: fixed, iterations: 1}}\nprovider: 'command:./agent.sh'\n"
        );
        project.file(&format!(".gambrel/{folder}/stage.yaml"), &stage);
        project.file(&format!(".gambrel/{folder}/prompt.md"), "Go");
    }
    run_to(&project, &["p", "--session", "s"], 64);
    let trusted = project.run(&["trust", "--all", "--yes"], b"");
    assert_eq!(trusted.status.code(), Some(0), "{}", text(&trusted.stderr));
    run_to(&project, &["p", "--session", "s"], 0);
    assert_eq!(
        trace(&project),
        ["agent lib-one 1", "agent two 1"].map(|line| line.replace("lib-one", "---lib-one"))
    );
}

#[test]
fn a_changed_script_revokes_the_trust() {
    let project = TestProject::new().with("GAMBREL_TRUST", "store");
    let stage =
        "name: bare\ntermination: {type: fixed, iterations: 1}\nprovider: 'script:play.yaml'\n";
    project.file(".gambrel/stages/bare/stage.yaml", stage);
    project.file(".gambrel/stages/bare/prompt.md", "Hello");
    project.file("play.yaml", "turns:\n- {say: hello, decision: stop}\n");
    run_to(&project, &["bare"], 64);
    assert_eq!(project.run(&["trust", "--all", "--yes"], b"").status.code(), Some(0));
    run_to(&project, &["bare"], 0);
    project.file("play.yaml", "turns:\n- {say: bye, decision: stop, write: {stolen: x}}\n");
    run_to(&project, &["bare", "--fresh"], 64);
    assert!(!project.root.join("stolen").exists());
}

#[test]
fn an_agent_of_the_project_needs_trust() {
    let project = TestProject::new().with("GAMBREL_TRUST", "store");
    project.script("agent.sh", crate::run_fixture::ECHO_AGENT);
    project.file(".gambrel/config.yaml", "agent: 'command:./agent.sh'\n");
    let stderr = text(&run_to(&project, &["--prompt", "Go", "--session", "s"], 64).stderr);
    assert!(stderr.contains("./agent.sh"), "{stderr}");
    assert_eq!(project.run(&["trust", "--all", "--yes"], b"").status.code(), Some(0));
    run_to(&project, &["--prompt", "Go", "--session", "s"], 0);
    assert_eq!(trace(&project), ["agent prompt 1"]);
}

#[test]
fn a_terminal_is_asked() {
    let project = project_with_commands();
    for (answer, code, ran) in [("n", 64, false), ("y", 0, true)] {
        let mut terminal = project.start_in_terminal("run work");
        terminal.stdin.take().unwrap().write_all(format!("{answer}\n").as_bytes()).unwrap();
        let output = terminal.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(code), "{answer}: {}", text(&output.stdout));
        assert!(text(&output.stdout).contains("cat left"), "{}", text(&output.stdout));
        assert_eq!(!trace(&project).is_empty(), ran, "{answer}");
    }
}
