//! Which session a command continues, and when it may: stored plans, live runs, recompiled plans.

use crate::run_fixture::{project_with_stage, run, run_folder, run_to, state, trace};
use crate::test_project::{TestProject, text, wait_until};

/// An agent that fails until the file `go` is there.
const AGENT: &str = "#!/bin/sh\ncat > /dev/null\necho \"agent $SESSION\" >> trace\n\
     [ -e go ] || exit 1\nprintf '{\"decision\":\"stop\"}' > \"$STATUS\"\n";

/// A project with the stage `work`, whose agent fails until the file `go` is there.
fn project_with_failing_agent() -> TestProject {
    let project = project_with_stage("termination: {type: fixed, iterations: 1}");
    project.script("agent.sh", AGENT);
    project
}

/// A project whose agent waits until the file `go` is there.
fn project_with_waiting_agent() -> TestProject {
    let project = project_with_stage("termination: {type: fixed, iterations: 1}");
    project.script(
        "agent.sh",
        "#!/bin/sh\ncat > /dev/null\necho \"agent $SESSION\" >> trace\n\
         for i in $(seq 200); do [ -e go ] || sleep 0.05; done\nprintf '{\"decision\":\"stop\"}' > \"$STATUS\"\n",
    );
    project
}

/// Runs a command and expects an exit code; returns stderr.
fn expect(project: &TestProject, args: &[&str], code: i32) -> String {
    let output = project.run(args, b"");
    assert_eq!(output.status.code(), Some(code), "{args:?}: {}", text(&output.stderr));
    text(&output.stderr)
}

#[test]
fn a_prompt_that_was_refused_is_asked_again() {
    let project = project_with_stage("termination: {type: fixed, iterations: 1}");
    project.file(
        ".claude/settings.json",
        r#"{"hooks": {"UserPromptSubmit": [{"hooks": [{"type": "command",
            "command": "test -e go || { echo not yet >&2; exit 2; }"}]}]}}"#,
    );
    run_to(&project, &["work"], 1);
    project.file("go", "");
    expect(&project, &["resume", "work"], 0);
    assert_eq!(state(&project, "work")["status"], "complete");
}

#[test]
fn a_stored_plan_from_elsewhere_is_refused() {
    let project = project_with_failing_agent();
    project.script("other.sh", "#!/bin/sh\ntouch stolen\n");
    run_to(&project, &["work"], 1);
    project.file("go", "");
    let plan = run_folder(&project, "work").join("plan.json");
    let written = std::fs::read_to_string(&plan).unwrap();
    std::fs::write(&plan, written.replace("./agent.sh", "./other.sh")).unwrap();
    for args in [&["resume"][..], &["resume", "work"], &["run", "--resume", "work"]] {
        let stderr = expect(&project, args, 64);
        assert!(stderr.contains("was not written here"), "{stderr}");
    }
    assert!(!project.root.join("stolen").exists());

    std::fs::write(&plan, written).unwrap();
    std::fs::remove_dir_all(project.base.join("state")).unwrap();
    expect(&project, &["resume", "work"], 64);
    expect(&project, &["run", "--resume", "--recompile", "work"], 0);
    assert!(!project.root.join("stolen").exists());
}

#[test]
fn a_stored_command_that_is_not_trusted_any_more_does_not_run() {
    let project = project_with_failing_agent().with("GAMBREL_TRUST", "store");
    expect(&project, &["trust", "--all", "--yes"], 0);
    run_to(&project, &["work"], 1);
    project.file("go", "");
    let stage = project.root.join(".gambrel/stages/work/stage.yaml");
    let changed = std::fs::read_to_string(&stage).unwrap().replace("./agent.sh", "sh ./agent.sh");
    std::fs::write(&stage, changed).unwrap();
    expect(&project, &["resume", "work"], 64);
    expect(&project, &["trust", "--all", "--yes"], 0);
    let stderr = expect(&project, &["resume", "work"], 64);
    assert!(stderr.contains("--recompile"), "{stderr}");
    assert_eq!(trace(&project).len(), 1);
    expect(&project, &["run", "--resume", "--recompile", "work"], 0);
}

#[test]
fn a_live_run_is_not_moved_away() {
    let project = project_with_waiting_agent();
    let mut child = project.start(&["run", "work"], b"");
    wait_until("the agent runs", || !trace(&project).is_empty());
    for args in [&["work"][..], &["work", "--fresh"], &["work", "--resume", "--recompile"]] {
        let stderr = text(&run_to(&project, args, 1).stderr);
        assert!(stderr.contains(&child.id().to_string()), "{stderr}");
    }
    assert!(!run_folder(&project, "work.1").exists());
    project.file("go", "");
    assert_eq!(child.wait().unwrap().code(), Some(0));
}

#[test]
fn a_folder_has_one_lock_under_all_its_names() {
    let project = project_with_waiting_agent();
    std::fs::create_dir(project.root.join("real")).unwrap();
    std::os::unix::fs::symlink(project.root.join("real"), project.root.join("link")).unwrap();
    let mut child = project.start(&["run", "work", "--session-dir", "real/s"], b"");
    wait_until("the agent runs", || !trace(&project).is_empty());
    for folder in ["link/s", "./real/../real/s/"] {
        run_to(&project, &["work", "--resume", "--session-dir", folder], 1);
        run_to(&project, &["work", "--fresh", "--session-dir", folder], 1);
    }
    project.file("go", "");
    assert_eq!(child.wait().unwrap().code(), Some(0));
    assert_eq!(trace(&project).len(), 1);
}

#[test]
fn resume_takes_the_newest_run_that_can_continue() {
    let project = project_with_failing_agent();
    run_to(&project, &["work", "--session", "one"], 1);
    run_to(&project, &["work", "--session", "two"], 1);
    run_to(&project, &["work", "--session", "two", "--fresh"], 1);
    project.file("go", "");
    run_to(&project, &["work", "--session", "two", "--resume"], 0);
    // `two.1` is newer, but a run that was moved away.
    run_to(&project, &["--resume"], 0);
    assert_eq!(state(&project, "one")["status"], "complete");
    expect(&project, &["resume"], 64);
}

#[test]
fn resume_skips_a_live_run() {
    let project = project_with_failing_agent();
    run_to(&project, &["work", "--session", "old"], 1);
    project.script(
        "agent.sh",
        "#!/bin/sh\necho \"agent $SESSION\" >> trace\n\
         [ $SESSION = new ] && for i in $(seq 200); do [ -e go ] || sleep 0.05; done\n\
         printf '{\"decision\":\"stop\"}' > \"$STATUS\"\n",
    );
    std::thread::sleep(std::time::Duration::from_millis(1100));
    let mut child = project.start(&["run", "work", "--session", "new"], b"");
    wait_until("the agent runs", || trace(&project).contains(&"agent new".to_owned()));
    expect(&project, &["resume"], 0);
    assert_eq!(state(&project, "old")["status"], "complete");
    project.file("go", "");
    assert_eq!(child.wait().unwrap().code(), Some(0));
}

#[test]
fn a_path_continues_the_session_of_its_stage() {
    let project = project_with_failing_agent();
    run_to(&project, &[".gambrel/stages/work"], 1);
    project.file("go", "");
    run_to(&project, &["--resume", ".gambrel/stages/work"], 0);
    assert_eq!(state(&project, "work")["status"], "complete");
}

#[test]
fn a_new_plan_must_fit_the_nodes_that_are_complete() {
    let project = project_with_failing_agent();
    let node = |id: &str| format!("  - {{id: {id}, prompt: Go, runs: 1}}\n");
    let pipeline = |nodes: &str| {
        let text = format!("name: p\nprovider: 'command:./agent.sh'\nnodes:\n{nodes}");
        project.file("p.yaml", &text);
    };
    pipeline(&format!("{}{}", node("one"), node("two")));
    project.script(
        "agent.sh",
        "#!/bin/sh\n[ $STAGE = one ] || [ -e go ] || exit 1\n\
         printf '{\"decision\":\"stop\"}' > \"$STATUS\"\n",
    );
    run_to(&project, &["p.yaml", "--session", "s"], 1);
    let plan = run_folder(&project, "s").join("plan.json");
    let before = std::fs::read(&plan).unwrap();
    let recompile = ["p.yaml", "--session", "s", "--resume", "--recompile"];
    pipeline(&node("one"));
    run_to(&project, &recompile, 64);
    pipeline(&format!("{}  - {{id: two, stage: absent}}\n", node("one")));
    let stderr = text(&run_to(&project, &recompile, 64).stderr);
    assert!(stderr.contains("p.yaml:5") && stderr.contains("no stage `absent`"), "{stderr}");
    assert_eq!(std::fs::read(&plan).unwrap(), before);

    project.file("go", "");
    pipeline(&format!("{}{}{}", node("one"), node("two"), node("three")));
    run_to(&project, &recompile, 0);
    assert_eq!(state(&project, "s")["stages"].as_array().map(Vec::len), Some(3));
    let after = std::fs::read(&plan).unwrap();
    run_to(&project, &recompile, 64);
    assert_eq!(std::fs::read(&plan).unwrap(), after);
}

#[test]
fn a_strict_resume_refuses_silent_tool_hooks() {
    let project = project_with_failing_agent();
    run_to(&project, &["work"], 1);
    project.file("go", "");
    project.file(
        ".gambrel/hooks.yaml",
        "hooks:\n  on_tool_before: [{type: shell, await: true, command: 'true'}]\n",
    );
    assert_eq!(run(&project, &["work", "--resume", "--strict"]).status.code(), Some(64));
    expect(&project, &["resume", "work"], 0);
}

#[test]
fn a_failure_cannot_write_to_the_terminal() {
    let project = project_with_stage("termination: {type: fixed, iterations: 1}");
    project.script(
        "agent.sh",
        "#!/bin/sh\nprintf '{\"decision\":\"error\",\"reason\":\"a\\\\u001b[2Jb\"}' > \"$STATUS\"\n",
    );
    let stderr = text(&run_to(&project, &["work"], 1).stderr);
    assert!(stderr.contains("failed: ") && !stderr.contains('\u{1b}'), "{stderr:?}");
}

#[test]
fn check_shows_mistakes_of_plans_with_their_place() {
    let project = TestProject::new();
    project.file("release.yaml", "name: release\nnodes:\n  - {stage: nowhere}\n");
    let output = project.run(&["check", "release.yaml", "--json"], b"");
    assert_eq!(output.status.code(), Some(1));
    let found: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let complaint = &found["complaints"][0];
    assert_eq!(
        (&complaint["line"], &complaint["message"]),
        (&3.into(), &"no stage `nowhere`".into())
    );
    project.file(".gambrel/stages/bare/stage.yaml", "name: bare\ntermination: {type: fixed}\n");
    let shown = text(&project.run(&["check"], b"").stdout);
    assert!(shown.contains("the stage `bare` has no prompt"), "{shown}");
}
