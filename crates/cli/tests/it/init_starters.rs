//! What `gambrel init` writes works as it is: hooks fire, and pipelines run with a scripted agent.

use std::path::Path;

use serde_json::{Value, json};

use crate::schema_fixture::schema_errors;
use crate::test_project::{TestProject, text};

/// Runs `init` and returns the paths of the files that it wrote.
fn init(project: &TestProject, words: &[&str]) -> Vec<String> {
    let words = [&["init", "--json"], words].concat();
    let answer = project.json(&words);
    let files = answer["files"].as_array().unwrap().iter();
    files
        .map(|file| {
            assert_eq!(file["fate"], "written", "{file}");
            file["file"].as_str().unwrap().to_owned()
        })
        .collect()
}

/// The schema that a file names in its first line accepts the file.
fn check_schema_line(path: &Path) {
    let written = std::fs::read_to_string(path).unwrap();
    let line = written.lines().next().unwrap();
    let schema = line.strip_prefix("# yaml-language-server: $schema=").expect(line);
    let schema = std::fs::read(path.parent().unwrap().join(schema)).unwrap();
    let schema: Value = serde_json::from_slice(&schema).unwrap();
    let document: Value = serde_saphyr::from_str(&written).unwrap();
    assert_eq!(schema_errors(&schema, &document, ""), Vec::<String>::new());
}

fn tool_event(name: &str, tool: &str, input: &Value) -> Value {
    json!({"hook_event_name": name, "session_id": "s", "tool_name": tool, "tool_input": input})
}

fn fire(project: &TestProject, event: &Value) -> Value {
    let args = ["fire", "--from", "claude", "--json"];
    let output = project.run(&args, event.to_string().as_bytes());
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn hooks_starter_fires() {
    let project = TestProject::new();
    init(&project, &["hooks"]);
    check_schema_line(&project.root.join(".gambrel/hooks.yaml"));
    let checked = project.run(&["check"], b"");
    assert_eq!(checked.status.code(), Some(0), "{}", text(&checked.stdout));

    for (command, ruling) in
        [("git push --force", "deny"), ("git -C a push -uf origin", "deny"), ("git push", "silent")]
    {
        let event = tool_event("PreToolUse", "Bash", &json!({"command": command}));
        assert_eq!(fire(&project, &event)["ruling"], ruling, "{command}");
    }
    for (file, ruling) in [("/x/Cargo.lock", "deny"), ("/x/src/main.rs", "silent")] {
        let input = json!({"file_path": file, "old_string": "a", "new_string": "b"});
        let event = tool_event("PreToolUse", "Edit", &input);
        assert_eq!(fire(&project, &event)["ruling"], ruling, "{file}");
    }
    let mut event = tool_event("PostToolUse", "Bash", &json!({"command": "env"}));
    event["tool_response"] = json!({"stdout": "key AKIAABCDEFGHIJKLMNOP", "stderr": ""});
    let decision = fire(&project, &event).to_string();
    assert!(decision.contains("[aws key]") && !decision.contains("AKIA"), "{decision}");
}

#[test]
fn claude_starter_fires() {
    let project = TestProject::new();
    init(&project, &["claude"]);
    for (command, ruling) in [("git push origin --force", "deny"), ("git status", "silent")] {
        let event = tool_event("PreToolUse", "Bash", &json!({"command": command}));
        assert_eq!(fire(&project, &event)["ruling"], ruling, "{command}");
    }
}

/// Writes a starter, shows its plan, and runs it with an agent that always decides `stop`.
fn run_starter(name: &str, agent: &str) -> (TestProject, Value) {
    let project = TestProject::new();
    init(&project, &["pipeline", name]);
    project.file("turns.yaml", agent);
    let checked = project.run(&["check"], b"");
    assert_eq!(checked.status.code(), Some(0), "{}", text(&checked.stdout));
    let plan = project.run(&["run", name, "--dry-run"], b"");
    assert_eq!(plan.status.code(), Some(0), "{}", text(&plan.stderr));
    let args = ["run", name, "--session", "s", "--agent", "script:turns.yaml"];
    let output = project.run(&args, b"");
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let state = std::fs::read(project.root.join(".gambrel/runs/s/state.json")).unwrap();
    (project, serde_json::from_slice(&state).unwrap())
}

const STOPPING_AGENT: &str = "turns:\n  - {say: done, decision: stop, reason: r, summary: s}\n";

fn read(project: &TestProject, path: &str) -> String {
    std::fs::read_to_string(project.root.join(path)).unwrap()
}

#[test]
fn ralph_ends_when_no_task_is_open() {
    // The second turn marks the task as done.
    let agent = "turns:\n  - {say: looked}\n  - {say: did it, write: \
                 {.gambrel/stages/ralph/tasks.md: '- [x] done'}}\n";
    let (project, state) = run_starter("ralph", agent);
    check_schema_line(&project.root.join(".gambrel/stages/ralph/stage.yaml"));
    assert_eq!(state["status"], "complete", "{state}");
    let log = read(&project, ".gambrel/stages/ralph/log.txt");
    assert_eq!(log, "s iteration 1\ns iteration 2\n");
}

#[test]
fn refine_ends_when_two_reviews_agree() {
    let (project, _) = run_starter("refine", STOPPING_AGENT);
    check_schema_line(&project.root.join(".gambrel/pipelines/refine.yaml"));
    assert_eq!(read(&project, ".gambrel/pipelines/refine.log"), "s draft\ns review\n");
    let iterations = project.root.join(".gambrel/runs/s/stage-01-review/iterations");
    assert_eq!(std::fs::read_dir(iterations).unwrap().count(), 2);
}

#[test]
fn tdd_runs_its_three_stages() {
    let (project, _) = run_starter("tdd", STOPPING_AGENT);
    check_schema_line(&project.root.join(".gambrel/pipelines/tdd.yaml"));
    assert_eq!(read(&project, ".gambrel/pipelines/tdd.log"), "s red\ns green\ns refactor\n");
}

#[test]
fn keeps_what_the_author_wrote() {
    let project = TestProject::new();
    project.file(".gambrel/hooks.yaml", "hooks: {}\n");
    project.file(".gambrel/schemas/unified.json", "{}\n");
    let fates = |args: &[&str]| -> Vec<String> {
        let answer = project.json(args);
        let files = answer["files"].as_array().unwrap().iter();
        files.map(|file| file["fate"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(fates(&["init", "hooks", "--json"]), ["kept", "kept"]);
    assert_eq!(fates(&["init", "hooks", "--json", "--force"]), ["kept", "replaced"]);
    assert_eq!(read(&project, ".gambrel/hooks.yaml"), "hooks: {}\n");
}

#[test]
fn refuses_a_pipeline_without_a_name() {
    let project = TestProject::new();
    for args in [&["init", "pipeline"][..], &["init", "hooks", "ralph"], &["init", "pipeline", "x"]]
    {
        let output = project.run(args, b"");
        assert_eq!(output.status.code(), Some(64), "{args:?}");
        assert!(!output.stderr.is_empty());
        assert_eq!(std::fs::read_dir(&project.root).unwrap().count(), 0, "{args:?}");
    }
}
