//! The live view of a run in a pseudo-terminal: what it shows, how often, and what it leaves behind.

use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;

use crate::run_fixture::{project_with_stage, state};
use crate::terminal_screen::TerminalProgram;
use crate::test_project::{TestProject, text, wait_until};

const SIZE: (u16, u16) = (80, 24);

/// An agent that writes words until the file `go` is there.
const TALKING_AGENT: &str = "#!/bin/sh\ncat > /dev/null\n\
    echo \"reading the sources of iteration $ITERATION\"\n\
    for i in $(seq 600); do [ -e go ] || sleep 0.05; done\n\
    printf '{\"decision\":\"continue\",\"summary\":\"did %s\"}' \"$ITERATION\" > \"$STATUS\"\n";

fn talking_project() -> TestProject {
    let project = project_with_stage("termination: {type: fixed, iterations: 2}");
    project.script("agent.sh", TALKING_AGENT);
    project
}

/// A project whose scripted agent has a call blocked, and then asks a person.
fn calling_project() -> TestProject {
    let project = project_with_stage("termination: {type: fixed, iterations: 1}");
    let call = |command: &str| json!({"tool": "shell", "args": {"command": command}});
    let turn = json!({"say": "I clean up.", "tools": [call("rm -rf /"), call("deploy")]});
    project.file("turns.yaml", &json!({"turns": [turn]}).to_string());
    let block = json!({"rule": {"block": "rm -rf", "message": "not for\u{1b}[2J agents", "fact": "TOOL_COMMAND"}});
    let ask = json!({"name": "Ship?", "rule": {"ask": "deploy", "message": "production", "fact": "TOOL_COMMAND"}});
    let hooks = json!({"hooks": {"on_tool_before": [block, ask]}});
    project.file(".gambrel/hooks.yaml", &hooks.to_string());
    project
}

fn send_signal(program: &TerminalProgram, signal: Signal) {
    kill_process(Pid::from_child(&program.child), signal).unwrap();
}

#[test]
fn shows_stage_iteration_and_the_agents_last_words() {
    let project = talking_project().with("NO_COLOR", "1");
    let mut run = TerminalProgram::start(&project, &["run", "work"], SIZE);
    run.wait_for("▸ work  iteration 1 of at most 2");
    let line = run.wait_for("reading the sources of iteration 1");
    assert!(line.trim_start().starts_with("agent"), "{line}");
    run.wait_for("2 s     reading");
    project.file("go", "");
    assert_eq!(run.wait().code(), Some(0));
    let shown = run.lines().join("\n");
    for words in ["work 1  continue  did 1", "work 2  continue  did 2", "complete: "] {
        assert!(shown.contains(words), "{words}: {shown}");
    }
    assert!(!shown.contains("▸"), "the view is gone at the end: {shown}");
    assert!(run.longest_pause() < Duration::from_secs(1), "{:?}", run.longest_pause());
}

/// After the last stage the agent works once more, if messages wait for it.
#[test]
fn shows_the_agent_while_it_reads_the_final_messages() {
    let project = project_with_stage("termination: {type: fixed, iterations: 1}");
    let once =
        TALKING_AGENT.replace("printf", "rm go; printf").replace("$ITERATION\"\n", "$OUTPUT\"\n");
    project.script("agent.sh", &once);
    let mut run = TerminalProgram::start(&project, &["run", "work"], SIZE);
    run.wait_for("reading the sources");
    assert_eq!(project.run(&["say", "work", "well done"], b"").status.code(), Some(0));
    project.file("go", "");
    run.wait_for("▸ final messages for the agent");
    let line = run.wait_for("  1 s     reading the sources of iteration");
    assert!(line.trim_start().starts_with("agent"), "{line}");
    let delivery = project.root.join(".gambrel/runs/work/delivery.md");
    assert!(std::fs::read_to_string(delivery).unwrap().contains("delivery.md"));
    project.file("go", "");
    assert_eq!(run.wait().code(), Some(0));
    assert!(!run.lines().join("\n").contains("▸"), "{:?}", run.lines());
}

#[test]
fn shows_a_running_hook_with_its_time() {
    let project = talking_project();
    project.file("go", "");
    let wait = "for i in $(seq 600); do [ -e done ] || sleep 0.05; done";
    let hook = json!({"type": "shell", "name": "slow lint", "await": true, "command": wait});
    let hooks = json!({"hooks": {"on_iteration_complete": [hook]}});
    project.file(".gambrel/hooks.yaml", &hooks.to_string());
    let mut run = TerminalProgram::start(&project, &["run", "work"], SIZE);
    let line = run.wait_for("slow lint  agent-pipelines  1 s");
    assert!(line.trim_start().starts_with("hook"), "{line}");
    run.wait_for("slow lint  agent-pipelines  2 s");
    project.file("done", "");
    assert_eq!(run.wait().code(), Some(0));
}

/// Hooks of Claude Code run at the same time. Three of them are shown, the others counted.
#[test]
fn counts_the_hooks_that_it_does_not_show() {
    let project = calling_project();
    project.file(".gambrel/hooks.yaml", "hooks: {}\n");
    let wait = |number| {
        let command = format!("for i in $(seq 600); do [ -e go ] || sleep 0.05; done # {number}");
        json!({"type": "command", "command": command})
    };
    let hooks = [1, 2, 3, 4].map(wait);
    let settings = json!({"hooks": {"PreToolUse": [{"matcher": "Bash", "hooks": hooks}]}});
    project.file(".claude/settings.json", &settings.to_string());
    let args = ["run", "work", "--agent", "script:turns.yaml"];
    let mut run = TerminalProgram::start(&project, &args, SIZE);
    let line = run.wait_for("and 1 more");
    assert_eq!(line.trim(), "and 1 more hook");
    project.file("go", "");
    assert_eq!(run.wait().code(), Some(0));
}

#[test]
fn shows_blocked_calls_and_open_questions() {
    let project = calling_project();
    let args = ["run", "work", "--agent", "script:turns.yaml"];
    let mut run = TerminalProgram::start(&project, &args, SIZE);
    let blocked = run.wait_for("blocked");
    let blocked = if blocked.contains("rm -rf /") { blocked } else { run.wait_for("rm -rf /") };
    assert!(blocked.contains("rm -rf /  not for\u{fffd}[2J agents"), "{blocked}");
    let question = run.wait_for("gambrel approve");
    assert!(question.contains("question") && question.contains("Ship? (deploy)"), "{question}");
    run.wait_for("2 calls, 1 blocked");
    let (_, rest) = question.split_once("approve ").unwrap();
    let id = rest.split(',').next().unwrap();
    assert_eq!(project.run(&["approve", id], b"").status.code(), Some(0));
    assert_eq!(run.wait().code(), Some(0));
    assert!(!run.lines().join("\n").contains("gambrel approve"), "{:?}", run.lines());
}

#[test]
fn uses_colour_only_where_it_is_wanted() {
    for (color, name, value) in [(true, "FOO", ""), (false, "NO_COLOR", "1")] {
        let project = calling_project().with(name, value);
        let args = ["run", "work", "--agent", "script:turns.yaml"];
        let run = TerminalProgram::start(&project, &args, SIZE);
        run.wait_for("gambrel approve");
        let colored = run.written().contains("\u{1b}[31m") && run.written().contains("\u{1b}[33m");
        let any = run.written().split("\u{1b}[").skip(1).any(|rest| {
            rest.trim_start_matches(|c: char| c.is_ascii_digit() || c == ';').starts_with('m')
        });
        assert_eq!((colored, any), (color, color), "{name}");
    }
}

#[test]
fn survives_changes_of_the_window() {
    let project = talking_project();
    let mut run = TerminalProgram::start(&project, &["run", "work"], SIZE);
    run.wait_for("reading the sources");
    for (columns, rows) in [(30, 24), (120, 10), (20, 6), (80, 24)] {
        run.resize(columns, rows);
        std::thread::sleep(Duration::from_millis(700));
        let lines = run.lines();
        let headers = lines.iter().filter(|line| line.contains("▸ work")).count();
        assert_eq!(headers, 1, "{columns} x {rows}:\n{}", lines.join("\n"));
        assert!(lines.iter().all(|line| line.chars().count() <= usize::from(columns)));
    }
    project.file("go", "");
    assert_eq!(run.wait().code(), Some(0));
    assert!(run.lines().join("\n").contains("work 2  continue  did 2"));
}

#[test]
fn leaves_the_terminal_as_it_was() {
    for (signal, code) in
        [(Signal::TERM, Some(143)), (Signal::INT, Some(130)), (Signal::KILL, None)]
    {
        let project = talking_project();
        let mut run = TerminalProgram::start(&project, &["run", "work"], SIZE);
        let before = run.mode();
        run.wait_for("reading the sources");
        send_signal(&run, signal);
        assert_eq!(run.wait().code(), code, "{signal:?}");
        let after = run.mode();
        assert_eq!(before.local_modes, after.local_modes, "{signal:?}");
        assert_eq!(before.input_modes, after.input_modes, "{signal:?}");
        assert_eq!(before.output_modes, after.output_modes, "{signal:?}");
        // No mode of the screen, such as a hidden cursor, was ever set.
        assert!(!run.written().contains("\u{1b}[?"), "{signal:?}");
    }
}

/// A module asks at the terminal: the view makes way, and comes back.
#[test]
fn makes_way_for_a_question_at_the_terminal() {
    let project = calling_project();
    let module = "export default (pi) => pi.on('tool_call', async (_, ctx) => {\n\
        if (!await ctx.ui.confirm('Really?', 'a tool call')) return { block: true };\n});\n";
    project.file(".omp/hooks/a.ts", module);
    project.file(".gambrel/hooks.yaml", "hooks: {}\n");
    let args = ["run", "work", "--agent", "script:turns.yaml"];
    let mut run = TerminalProgram::start(&project, &args, SIZE);
    run.wait_for("Really?");
    let before = run.lines();
    std::thread::sleep(Duration::from_millis(800));
    assert_eq!(run.lines(), before, "nothing is drawn over the question");
    run.type_text("y\n");
    wait_until("the second question", || run.written().matches("Really?").count() == 2);
    run.type_text("y\n");
    assert_eq!(run.wait().code(), Some(0));
    let written = run.written();
    let (_, after) = written.rsplit_once("[y/N]").unwrap();
    assert!(after.contains("▸ work"), "the view comes back: {written}");
}

#[test]
fn prints_plain_lines_on_request() {
    let project = talking_project();
    project.file("go", "");
    for args in [&["run", "work", "--plain"][..], &["run", "work", "--fresh", "--json"]] {
        let mut run = TerminalProgram::start(&project, args, SIZE);
        assert_eq!(run.wait().code(), Some(0));
        assert!(!run.written().contains("\u{1b}[J"), "{args:?}: {}", run.written());
    }
    let dumb = talking_project();
    dumb.file("go", "");
    let output = dumb.run(&["run", "work"], b"");
    assert!(text(&output.stderr).contains("iteration 1 of at most 2"));
    assert_eq!(state(&dumb, "work")["status"], "complete");
}
