//! `gambrel run`: iterations, stages, hooks and the files of a run.

use serde_json::{Value, json};

use crate::run_fixture::{
    TRACE_HOOKS, count_type, log_types, project_with_stage, run, run_folder, run_to, state, trace,
};
use crate::test_project::{TestProject, text};

#[test]
fn runs_a_stage_with_all_six_hook_points() {
    let project = project_with_stage("termination: {type: fixed, iterations: 2}");
    project.file(".gambrel/hooks.yaml", TRACE_HOOKS);
    run_to(&project, &["work"], 0);
    assert_eq!(
        trace(&project),
        [
            "session_start work 0",
            "iteration_start work 1",
            "agent work 1",
            "iteration_complete 1 continue",
            "iteration_start work 2",
            "agent work 2",
            "iteration_complete 2 continue",
            "stage_complete work next=",
            "session_complete 2",
        ]
    );
    let state = state(&project, "work");
    assert_eq!(state["status"], "complete");
    assert_eq!(state["history"][1]["summary"], "did 2");
    assert_eq!(state["type"], "loop");
}

#[test]
fn writes_the_files_of_a_run() {
    let project = project_with_stage("termination: {type: fixed, iterations: 1}");
    run_to(&project, &["work", "--session", "night"], 0);
    let folder = run_folder(&project, "night");
    let iteration = folder.join("stage-00-work/iterations/001");
    for file in ["context.json", "status.json", "result.json", "output.md"] {
        assert!(iteration.join(file).is_file(), "{file}");
    }
    let output = std::fs::read_to_string(iteration.join("output.md")).unwrap();
    assert_eq!(output, "Work on night, number 1.\n");
    for file in ["plan.json", "state.json", "events.jsonl", "output.json", "progress-night.md"] {
        assert!(folder.join(file).is_file(), "{file}");
    }
    let link = std::fs::read_link(folder.join("progress.md")).unwrap();
    assert_eq!(link.to_str(), Some("progress-night.md"));
    let context: Value =
        serde_json::from_slice(&std::fs::read(iteration.join("context.json")).unwrap()).unwrap();
    assert_eq!(context["stage"], json!({"id": "work", "index": 0, "template": "work"}));
    assert_eq!(context["limits"], json!({"max_iterations": 1, "remaining_seconds": -1}));
}

#[test]
fn runs_a_pipeline_and_passes_outputs_on() {
    let project = project_with_stage("termination: {type: fixed, iterations: 1}");
    project.file(
        "release.yaml",
        "name: release\nnodes:\n  - {id: plan, stage: work}\n  \
         - {id: check, prompt: 'Check ${SESSION}', inputs: {from: plan}, provider: 'command:./agent.sh'}\n",
    );
    project.file(".gambrel/hooks.yaml", TRACE_HOOKS);
    run_to(&project, &["release.yaml", "--session", "s1"], 0);
    let trace = trace(&project);
    assert!(trace.contains(&"stage_complete plan next=check".to_owned()), "{trace:?}");
    assert!(trace.contains(&"stage_complete check next=".to_owned()), "{trace:?}");
    let folder = run_folder(&project, "s1");
    let context = folder.join("stage-01-check/iterations/001/context.json");
    let context: Value = serde_json::from_slice(&std::fs::read(context).unwrap()).unwrap();
    let output = folder.join("stage-00-plan/iterations/001/output.md");
    assert_eq!(context["inputs"]["from_stage"]["plan"], json!([output]));
    assert_eq!(state(&project, "s1")["completion_reason"], "all_loops_complete");
    let written: Value =
        serde_json::from_slice(&std::fs::read(folder.join("output.json")).unwrap()).unwrap();
    assert_eq!(written["status"], "complete");
}

#[test]
fn messages_of_hooks_come_before_the_prompt() {
    let project = project_with_stage("termination: {type: fixed, iterations: 2}");
    project.file(
        ".iteratr.hooks.yml",
        "version: 1\nhooks:\n  session_start: [{command: echo from start, pipe_output: true}]\n  \
         pre_iteration: [{command: 'echo before {{iteration}}', pipe_output: true}]\n  \
         post_iteration: [{command: 'echo after {{iteration}}', pipe_output: true}]\n",
    );
    run_to(&project, &["work"], 0);
    let output = |number: u32| {
        let file = format!("stage-00-work/iterations/{number:03}/output.md");
        std::fs::read_to_string(run_folder(&project, "work").join(file)).unwrap()
    };
    let first = output(1);
    assert!(first.find("from start").unwrap() < first.find("before 1").unwrap(), "{first}");
    assert!(first.ends_with("\n\nWork on work, number 1.\n"), "{first}");
    let second = output(2);
    assert!(second.contains("after 1") && second.contains("before 2"), "{second}");
    assert!(!second.contains("from start") && !second.contains("before 1"), "{second}");
    // What the last iteration left is delivered before the end.
    let delivery = std::fs::read_to_string(run_folder(&project, "work").join("delivery.md"));
    assert!(delivery.unwrap().contains("after 2"));
}

#[test]
fn a_stop_hook_keeps_the_iteration_going() {
    let project = project_with_stage("termination: {type: fixed, iterations: 1}");
    project.script(
        "stop.sh",
        "#!/bin/sh\n[ -e stopped ] && exit 0\ntouch stopped\necho 'run the tests first' >&2\nexit 2\n",
    );
    let stop = json!({"type": "command", "command": "./stop.sh"});
    let settings = json!({"hooks": {"Stop": [{"hooks": [stop]}]}});
    project.file(".claude/settings.json", &settings.to_string());
    project.file(".gambrel/hooks.yaml", TRACE_HOOKS);
    let printed = text(&run_to(&project, &["work"], 0).stderr);
    assert!(printed.contains("    kept going by a hook: run the tests first\n"), "{printed}");
    let trace = trace(&project);
    let agents = trace.iter().filter(|line| *line == "agent work 1").count();
    let ends = trace.iter().filter(|line| line.starts_with("iteration_complete")).count();
    assert_eq!((agents, ends), (2, 1), "{trace:?}");
    assert_eq!(count_type(&project, "work", "iteration_complete"), 1);
    let output = run_folder(&project, "work").join("stage-00-work/iterations/001/output.md");
    let output = std::fs::read_to_string(output).unwrap();
    assert!(output.contains("run the tests first\n\nWork on work, number 1."), "{output}");
}

#[test]
fn an_abort_fires_error_once_and_fails() {
    let project = project_with_stage("termination: {type: fixed, iterations: 3}");
    project.file(
        ".gambrel/hooks.yaml",
        "hooks:\n  on_iteration_complete: [{type: shell, await: true, on_failure: abort, command: 'exit 3'}]\n  \
         on_error: [{type: shell, await: true, command: 'echo \"error $ERROR\" >> trace'}]\n  \
         on_session_complete: [{type: shell, await: true, command: 'echo end >> trace'}]\n",
    );
    run_to(&project, &["work"], 1);
    let trace = trace(&project);
    assert_eq!(trace.iter().filter(|line| line.starts_with("error ")).count(), 1, "{trace:?}");
    assert!(!trace.contains(&"end".to_owned()));
    let state = state(&project, "work");
    assert_eq!(
        (&state["status"], &state["error"]["type"]),
        (&json!("failed"), &json!("hook_abort"))
    );
}

#[test]
fn an_agent_that_fails_ends_the_run() {
    let project = project_with_stage("termination: {type: fixed, iterations: 3}");
    project.script("agent.sh", "#!/bin/sh\necho 'no key' >&2\nexit 7\n");
    project.file(".gambrel/hooks.yaml", TRACE_HOOKS);
    let output = run_to(&project, &["work"], 1);
    assert!(text(&output.stderr).contains("code 7: no key"), "{}", text(&output.stderr));
    let lines = trace(&project);
    assert_eq!(lines.last().unwrap(), "error the agent exited with code 7: no key");
    assert_eq!(state(&project, "work")["error"]["type"], "exit_code");
}

#[test]
fn a_missing_or_broken_status_is_an_error() {
    for status in ["", "not json", "{\"decision\":\"maybe\"}"] {
        let project = project_with_stage("termination: {type: fixed, iterations: 3}");
        let agent = match status {
            "" => "#!/bin/sh\ntrue\n".to_owned(),
            text => format!("#!/bin/sh\nprintf '%s' '{text}' > \"$STATUS\"\n"),
        };
        project.script("agent.sh", &agent);
        project.file(".gambrel/hooks.yaml", TRACE_HOOKS);
        run_to(&project, &["work"], 1);
        let state = state(&project, "work");
        assert_eq!(state["history"][0]["decision"], "error", "{status}");
        assert_eq!(state["error"]["type"], "agent_error", "{status}");
        // The iteration counts as complete, and its hooks fire.
        let lines = trace(&project);
        assert!(lines.contains(&"iteration_complete 1 error".to_owned()), "{lines:?}");
    }
}

#[test]
fn terminations_end_a_stage() {
    for (termination, decisions, iterations, reason) in [
        ("{type: fixed, iterations: 3}", "continue stop", 2, "agent_stop"),
        ("{type: judgment, max: 9}", "stop continue stop stop", 4, "consensus"),
        ("{type: judgment, max: 9, min_iterations: 3}", "stop stop stop", 3, "consensus"),
        ("{type: judgment, max: 2}", "continue continue", 2, "max_iterations"),
        ("{type: queue, command: 'cat left'}", "continue continue", 2, "queue_empty"),
    ] {
        let project = project_with_stage(&format!("termination: {termination}"));
        project.file("left", "x\n");
        project.file("decisions", &decisions.replace(' ', "\n"));
        project.script(
            "agent.sh",
            "#!/bin/sh\ncat > /dev/null\n[ \"$ITERATION\" = 2 ] && : > left\n\
             d=$(sed -n \"${ITERATION}p\" decisions)\n\
             printf '{\"decision\":\"%s\"}' \"$d\" > \"$STATUS\"\n",
        );
        run_to(&project, &["work"], 0);
        let state = state(&project, "work");
        assert_eq!(state["history"].as_array().unwrap().len(), iterations, "{termination}");
        assert_eq!(state["completion_reason"], reason, "{termination}");
    }
}

#[test]
fn an_empty_queue_runs_no_iteration() {
    let project =
        project_with_stage("check_before: true\ntermination: {type: queue, command: 'true'}");
    run_to(&project, &["work"], 0);
    assert_eq!(count_type(&project, "work", "iteration_start"), 0);
    assert_eq!(state(&project, "work")["completion_reason"], "queue_empty");
}

#[test]
fn a_runtime_limit_ends_the_agent_and_completes_the_stage() {
    let project = project_with_stage(
        "guardrails: {max_runtime_seconds: 1}\ntermination: {type: fixed, iterations: 3}",
    );
    project.script("agent.sh", "#!/bin/sh\nsleep 60\n");
    run_to(&project, &["work"], 0);
    let state = state(&project, "work");
    assert_eq!(state["completion_reason"], "max_runtime");
    assert_eq!(state["history"], json!([]));
}

#[test]
fn changed_files_come_from_git_and_from_the_agent() {
    let project = project_with_stage("termination: {type: fixed, iterations: 1}");
    let git = |args: &str| {
        let line = format!("git -c user.name=a -c user.email=a@example.invalid {args}");
        let output = std::process::Command::new("sh")
            .args(["-c", &line])
            .current_dir(&project.root)
            .output()
            .unwrap();
        assert!(output.status.success(), "{}", text(&output.stderr));
    };
    project.file("old.txt", "old");
    project.file("dirty.txt", "1");
    git("init -q && git add -A && git -c user.name=a -c user.email=a@example.invalid commit -qm x");
    project.file("dirty.txt", "2");
    project.script(
        "agent.sh",
        "#!/bin/sh\necho new > new.txt\necho changed > old.txt\n\
         printf '{\"decision\":\"continue\",\"work\":{\"files_touched\":[\"told.txt\"]}}' > \"$STATUS\"\n",
    );
    git("add -A && git -c user.name=a -c user.email=a@example.invalid commit -qm y");
    project.file("dirty.txt", "3");
    project.file(
        ".gambrel/hooks.yaml",
        "hooks:\n  on_iteration_complete: [{type: shell, await: true, command: 'echo \"$CHANGED_FILES\" > changed'}]\n",
    );
    git("add .gambrel/hooks.yaml");
    run_to(&project, &["work"], 0);
    let changed = std::fs::read_to_string(project.root.join("changed")).unwrap();
    assert_eq!(changed, "new.txt\nold.txt\ntold.txt\n");
}

#[test]
fn json_prints_the_lines_of_the_log_and_nothing_else() {
    let project = project_with_stage("termination: {type: fixed, iterations: 1}");
    let output = run_to(&project, &["work", "--json"], 0);
    let log = std::fs::read_to_string(run_folder(&project, "work").join("events.jsonl")).unwrap();
    let read = |text: &str| -> Vec<Value> {
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    };
    assert_eq!(read(&text(&output.stdout)), read(&log));
}

#[test]
fn a_dry_run_shows_the_plan_and_runs_nothing() {
    let project = project_with_stage("termination: {type: fixed, iterations: 1}");
    project.file(".gambrel/hooks.yaml", TRACE_HOOKS);
    let output = run_to(&project, &["work", "--dry-run"], 0);
    let shown = text(&output.stdout);
    assert!(shown.contains("stage 0 work: fixed, at most 1 iteration\n"), "{shown}");
    assert!(shown.contains("agent   command:./agent.sh"), "{shown}");
    assert!(shown.contains("hook    iteration.end"), "{shown}");
    assert!(trace(&project).is_empty() && !run_folder(&project, "work").exists());
}

#[test]
fn a_scripted_agent_writes_decides_and_calls_tools() {
    let project = project_with_stage("termination: {type: fixed, iterations: 2}");
    project.file(
        "script.yaml",
        "turns:\n  - say: first words\n    write: {made.txt: hello}\n    \
         tools: [{tool: shell, args: {command: 'rm -rf build'}}]\n  \
         - {say: second words, decision: stop, reason: finished}\n",
    );
    project.file(
        ".gambrel/hooks.yaml",
        "hooks:\n  on_tool_before:\n    - rule: {block: 'rm\\s+-rf', fact: TOOL_COMMAND, message: not here}\n",
    );
    run_to(&project, &["work", "--agent", "script:script.yaml"], 0);
    let output = run_folder(&project, "work").join("stage-00-work/iterations/001/output.md");
    let output = std::fs::read_to_string(output).unwrap();
    assert!(output.contains("first words") && output.contains("not here"), "{output}");
    assert_eq!(std::fs::read_to_string(project.root.join("made.txt")).unwrap(), "hello");
    assert_eq!(state(&project, "work")["history"][1]["reason"], "finished");
}

#[test]
fn a_prompt_alone_runs_once() {
    let project = TestProject::new();
    project.script("agent.sh", crate::run_fixture::ECHO_AGENT);
    let args = ["--prompt", "Say ${CONTEXT}", "--context", "it's fine", "--session", "p"];
    run_to(&project, &[&args[..], &["--agent", "command:./agent.sh"]].concat(), 0);
    let output = run_folder(&project, "p").join("stage-00-prompt/iterations/001/output.md");
    assert_eq!(std::fs::read_to_string(output).unwrap(), "Say it's fine");
}

#[test]
fn an_unknown_target_names_the_places() {
    let project = TestProject::new();
    let output = run_to(&project, &["nowhere"], 64);
    let shown = text(&output.stderr);
    assert!(shown.contains(".gambrel/stages/nowhere/stage.yaml"), "{shown}");
    assert!(run(&project, &[]).status.code() == Some(64));
    assert!(log_types(&project, "nowhere").is_empty());
}

#[test]
fn the_status_of_the_last_prompt_counts() {
    let project = project_with_stage("termination: {type: fixed, iterations: 3}");
    project.script(
        "agent.sh",
        "#!/bin/sh\ncat > /dev/null\nif [ -e once ]; then d=stop; else d=continue; touch once; fi\n\
         printf '{\"decision\":\"%s\"}' $d > \"$STATUS\"\n",
    );
    project.script(
        "stop.sh",
        "#!/bin/sh\n[ -e stopped ] && exit 0\ntouch stopped\necho again >&2\nexit 2\n",
    );
    let stop = json!({"type": "command", "command": "./stop.sh"});
    let settings = json!({"hooks": {"Stop": [{"hooks": [stop]}]}});
    project.file(".claude/settings.json", &settings.to_string());
    run_to(&project, &["work"], 0);
    let state = state(&project, "work");
    assert_eq!(state["history"].as_array().unwrap().len(), 1);
    assert_eq!(state["history"][0]["decision"], "stop");
}

#[test]
fn a_stage_alone_receives_inputs() {
    let project = project_with_stage("termination: {type: fixed, iterations: 1}");
    let spec = project.file("spec.md", "what to do");
    run_to(&project, &["work", "--input", "spec.md"], 0);
    let context = run_folder(&project, "work").join("stage-00-work/iterations/001/context.json");
    let context: Value = serde_json::from_slice(&std::fs::read(context).unwrap()).unwrap();
    assert_eq!(context["inputs"]["from_initial"], json!([spec]));
}

#[test]
fn an_agent_may_write_its_output_itself() {
    let project = project_with_stage("termination: {type: fixed, iterations: 1}");
    project.script(
        "agent.sh",
        "#!/bin/sh\necho report > \"$OUTPUT\"\necho printed\nprintf '{\"decision\":\"stop\"}' > \"$STATUS\"\n",
    );
    run_to(&project, &["work"], 0);
    let folder = run_folder(&project, "work").join("stage-00-work/iterations/001");
    assert_eq!(std::fs::read_to_string(folder.join("output.md")).unwrap(), "report\n");
    assert_eq!(std::fs::read_to_string(folder.join("output.log")).unwrap(), "printed\n");
}

#[test]
fn leaves_the_hooks_of_an_agent_to_the_agent() {
    let project = project_with_stage("termination: {type: fixed, iterations: 1}");
    let stop = json!({"type": "command", "command": "echo claude >> trace"});
    let settings = json!({"hooks": {"Stop": [{"hooks": [stop]}]}});
    project.file(".claude/settings.json", &settings.to_string());
    project.file(".gambrel/hooks.yaml", TRACE_HOOKS);
    project.script("bin/claude", crate::run_fixture::ECHO_AGENT);
    run_to(&project, &["work", "--agent", "command:./bin/claude -p"], 0);
    let lines = trace(&project);
    assert!(!lines.contains(&"claude".to_owned()), "{lines:?}");
    assert!(lines.contains(&"iteration_complete 1 continue".to_owned()), "{lines:?}");

    // Inside the run, the agent's own call of gambrel leaves the loop's moments to the runner.
    let project = project.with("GAMBREL_RUN_DIR", "/nowhere");
    let event = r#"{"hook_event_name":"Stop","session_id":"s"}"#;
    let args = ["fire", "--from", "claude", "--hosted", "--json"];
    let output = project.run(&args, event.as_bytes());
    let decision: Value = serde_json::from_slice(&output.stdout).unwrap();
    let trail = decision["trail"].as_array().unwrap();
    let unified = trail.iter().find(|step| step["dialect"] == "unified").unwrap();
    assert_eq!(unified["why"], "inside a run: the runner fires this moment");
}
