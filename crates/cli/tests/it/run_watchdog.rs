//! A run has one watchdog, which knows the agent and every awaited hook before they start.

use crate::processes::{TOKEN, processes_with_command, processes_with_token};
use crate::run_fixture::{project_with_stage, state};
use crate::test_project::{TestProject, text, wait_until};

/// A hook and an agent that wait for a file each, and a module that starts a program.
fn project_with_waits(token: &str) -> TestProject {
    let project = project_with_stage("termination: {type: fixed, iterations: 2}");
    let project = project.with(TOKEN, token);
    let wait =
        |name: &str| format!("echo > {name}-waits; until test -e {name}-go; do sleep 0.02; done");
    project.file(
        ".gambrel/hooks.yaml",
        &format!(
            "hooks:\n  on_iteration_start:\n    \
             - {{type: shell, await: true, command: '{}'}}\n    \
             - {{type: shell, await: true, command: 'true'}}\n",
            wait("hook")
        ),
    );
    project.file(
        ".omp/hooks/pre/program.ts",
        "export default pi => { pi.on(\"before_agent_start\", async () => { await pi.exec(\"touch\", [\"module-ran\"]); }); };\n",
    );
    project.script(
        "agent.sh",
        &format!(
            "#!/bin/sh\ncat > /dev/null\n{}\nprintf '{{\"decision\":\"continue\"}}' > \"$STATUS\"\n",
            wait("agent")
        ),
    );
    project
}

fn watchdogs(token: &str) -> Vec<i32> {
    processes_with_command(token, "__watchdog")
}

#[test]
fn one_watchdog_serves_a_whole_run() {
    let token = &format!("run-one-watchdog-{}", std::process::id());
    let project = project_with_waits(token);
    let run = project.start(&["run", "work"], b"");
    wait_until("the hook waits", || project.root.join("hook-waits").exists());
    let first = watchdogs(token);
    assert_eq!(first.len(), 1);
    project.file("hook-go", "");
    wait_until("the agent waits", || project.root.join("agent-waits").exists());
    assert_eq!(watchdogs(token), first);
    assert!(project.root.join("module-ran").exists());
    project.file("agent-go", "");
    let output = run.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert_eq!(state(&project, "work")["status"], "complete");
    wait_until("the watchdog has ended", || processes_with_token(token).is_empty());
}
