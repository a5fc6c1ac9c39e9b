//! `list` shows hooks as they are: prompts, broken modules, invalid matchers, limits and conditions,
//! in lines that fit a terminal.

use serde_json::{Value, json};

use crate::terminal_screen::TerminalProgram;
use crate::test_project::{TestProject, text};

fn list(project: &TestProject) -> String {
    let output = project.run(&["list"], b"");
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    text(&output.stdout)
}

fn add_settings(project: &TestProject, groups: &Value) {
    let settings = json!({"hooks": {"PreToolUse": groups}});
    project.file(".claude/settings.json", &settings.to_string());
}

#[test]
fn names_prompts_and_agents() {
    let project = TestProject::new().with("GAMBREL_MODEL_COMMAND", "cat");
    let handlers = json!([{"type": "prompt", "prompt": "Is it fine?"}, {"type": "agent", "prompt": "?"},
        {"type": "command", "command": "true"}]);
    add_settings(&project, &json!([{"hooks": handlers}]));
    let hooks = project.json(&["list", "--json"]);
    let actions: Vec<&str> =
        hooks.as_array().unwrap().iter().map(|hook| hook["action"].as_str().unwrap()).collect();
    assert_eq!(actions, ["prompt", "agent", "shell"]);
    assert!(list(&project).contains("trusted · prompt · "));
}

#[test]
fn a_module_that_cannot_load_does_not_run() {
    let project = TestProject::new();
    project.file(".omp/hooks/pre/broken.ts", "throw new Error('no policy');\n");
    project.file(".omp/hooks/pre/odd.ts", "export default (pi => {\n");
    project.file(
        ".omp/hooks/pre/fine.ts",
        "export default (pi) => { pi.on('tool_call', () => {}); };\n",
    );
    for trust in ["all", "none"] {
        let args = ["list", "--json", "--trust", trust];
        let hooks = project.json(&args);
        let of = |name: &str| {
            let named = |hook: &&Value| hook["title"] == name;
            hooks.as_array().unwrap().iter().find(named).unwrap().clone()
        };
        // An untrusted module is only read, so what it throws is not known.
        assert_eq!(of("broken.ts")["runs"], trust == "none");
        assert_eq!(of("odd.ts")["runs"], false, "{hooks}");
        assert_eq!(of("fine.ts")["runs"], true);
        assert_eq!(of("fine.ts")["events"], json!(["tool_call"]));
        assert_eq!(of("fine.ts")["event"], "*");
    }
    let shown = list(&project);
    assert!(shown.contains("skipped: Failed to load hook: no policy"), "{shown}");
    assert!(shown.lines().any(|line| line.starts_with("run ") && line.contains("tool_call")));
}

#[test]
fn an_invalid_matcher_is_shown_as_written() {
    let project = TestProject::new();
    let hooks = json!([{"type": "command", "command": "true"}]);
    add_settings(
        &project,
        &json!([{"matcher": "(Bash", "hooks": hooks}, {"matcher": 5, "hooks": hooks}]),
    );
    let found = project.json(&["list", "--json"]);
    assert_eq!((&found[0]["matcher"], &found[0]["runs"]), (&json!("(Bash"), &json!(false)));
    assert_eq!(found[1]["matcher"], "5");
    assert!(list(&project).contains("skipped: its matcher is not valid"));
}

#[test]
fn shows_limits_and_conditions() {
    let project = TestProject::new();
    let handlers = json!([
        {"type": "command", "command": "true", "timeout": 7, "async": true},
        {"type": "command", "command": "false", "if": "Bash(git *)"},
    ]);
    add_settings(&project, &json!([{"hooks": handlers}]));
    project.file(
        ".gambrel/hooks.yaml",
        "hooks:\n  on_error:\n    - {type: shell, command: \"true\", when: \"${ITERATION} == 2\"}\n",
    );
    let shown = list(&project);
    for part in ["timeout 7 s · async", "if Bash(git *)", "if ${ITERATION} == 2"] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    let found = project.json(&["list", "--json"]);
    assert_eq!((&found[0]["timeout"], &found[0]["async"]), (&json!(7.0), &json!(true)));
    assert_eq!(found[1]["if"], "Bash(git *)");
}

#[test]
fn fits_a_hundred_columns_and_shortens_paths() {
    let project = TestProject::new();
    let command = format!("./check.sh {}", "very-long-argument ".repeat(20));
    let handler =
        json!({"type": "command", "command": command, "if": format!("Bash({})", "x".repeat(200))});
    add_settings(&project, &json!([{"matcher": "Bash|".repeat(30) + "Edit", "hooks": [handler]}]));
    project.file(
        "../home/.claude/settings.json",
        "{\"hooks\":{\"Stop\":[{\"hooks\":[{\"type\":\"command\",\"command\":\"true\"}]}]}}",
    );
    let shown = list(&project);
    let longest = shown.lines().take_while(|line| !line.starts_with("GAMBREL_TRUST"));
    let longest = longest.map(|line| line.chars().count()).max().unwrap();
    assert!(longest <= 100, "{longest}: {shown}");
    assert!(shown.contains(" · .claude/settings.json:1 · "), "{shown}");
    assert!(shown.contains(" · ~/.claude/settings.json:1 · "), "{shown}");
}

#[test]
fn fits_a_narrow_terminal() {
    let project = TestProject::new();
    let command = format!("./check.sh {}", "very-long-argument ".repeat(20));
    let handler = json!({"type": "command", "command": command, "if": "Bash(git push *)"});
    add_settings(&project, &json!([{"matcher": "Bash|Edit|Write", "hooks": [handler]}]));
    let mut shown = TerminalProgram::start(&project, &["list"], (80, 24));
    assert!(shown.wait().success());
    shown.wait_for("if Bash(git push *)");
    let lines = shown.lines();
    assert!(lines.iter().any(|line| line.contains("./check.sh") && line.ends_with('…')));
    // A line of the full width would be followed by an empty one or its own rest.
    assert!(lines[1].starts_with("run ") && lines[2].starts_with("      claude-"), "{lines:?}");
}

#[test]
fn says_where_to_begin() {
    let project = TestProject::new();
    let shown = list(&project);
    assert!(shown.contains(".gambrel/hooks.yaml") && shown.contains("gambrel trust"), "{shown}");
    let shown = text(&project.run(&["approvals"], b"").stdout);
    assert!(shown.starts_with("no open questions\n") && shown.contains("`await: true`"), "{shown}");
    assert!(shown.lines().all(|line| line.chars().count() <= 80), "{shown}");
}
