//! Agents of the Agent Client Protocol that have a name: which tools they do not ask about, and what
//! `doctor` says about them.

use serde_json::{Value, json};

use crate::acp_fixture::{RUN, acp_project, add_command, prompts, prompts_received, run_acp};
use crate::test_project::{TestProject, text};

/// A project in which the scripted agent is installed under another name.
fn project_with_program(name: &str, script: &Value) -> TestProject {
    let project = acp_project("", script);
    let bin = project.root.join("bin");
    std::fs::create_dir_all(&bin).unwrap();
    std::fs::copy(project.root.join("acp-agent"), bin.join(name)).unwrap();
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());
    project.with("PATH", &path)
}

#[test]
fn names_gates_about_which_the_agent_may_not_ask() {
    let project = project_with_program("opencode", &prompts(&[json!([])]));
    add_command(&project, "PreToolUse", "true");
    let output = project.run(&["run", "work", "--agent", "opencode"], b"");
    let shown = text(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{shown}");
    assert!(shown.contains("see only the calls about which the agent asks"), "{shown}");
    assert!(shown.contains(r#"{"permission": {"bash": "ask""#), "{shown}");
    assert_eq!(prompts_received(&project).len(), 1);

    let args = ["run", "work", "--agent", "opencode", "--dry-run", "--json"];
    let plan = project.json(&args);
    assert!(plan["partial_tool_gates"][0].as_str().unwrap().contains("opencode.json"), "{plan}");
}

#[test]
fn says_nothing_without_a_gate() {
    let project = acp_project("", &prompts(&[json!([])]));
    let output = run_acp(&project, 0);
    assert!(!text(&output.stderr).contains("tool hooks"), "{}", text(&output.stderr));
    add_command(&project, "PreToolUse", "true");
    let output = project.run(&[&RUN[..], &["--fresh"]].concat(), b"");
    assert!(text(&output.stderr).contains("set the agent to ask"), "{}", text(&output.stderr));
}

#[test]
fn an_agent_runs_the_hooks_of_its_own_dialect() {
    let ask = json!({"toolCallId": "1", "kind": "execute", "rawInput": {"command": "ls"}});
    let project = project_with_program("claude-agent-acp", &prompts(&[json!([{"ask": ask}])]));
    add_command(&project, "PreToolUse", "touch fired");
    let output = project.run(&["run", "work", "--agent", "claude-acp"], b"");
    let shown = text(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{shown}");
    assert!(!project.root.join("fired").exists());
    assert!(!shown.contains("tool hooks"), "{shown}");
}

#[test]
fn doctor_starts_the_agents_that_are_installed() {
    let project = project_with_program("opencode", &prompts(&[json!([])]));
    project.script("bin/gemini", "#!/bin/sh\necho 'unknown option: acp' >&2\nexit 3\n");
    let findings = project.json(&["doctor", "--json"]);
    let find = |name: &str| -> Value {
        let all = findings.as_array().unwrap();
        all.iter().find(|finding| finding["name"] == name).cloned().unwrap()
    };
    let what = |name: &str| find(name)["what"].as_str().unwrap().to_owned();
    assert_eq!(find("opencode")["ok"], true, "{findings}");
    assert!(what("opencode").contains("scripted 7"), "{findings}");
    assert_eq!(find("gemini")["ok"], false, "{findings}");
    assert!(what("gemini").contains("code 3: unknown option: acp"), "{findings}");
    assert!(what("codex-acp").starts_with("not found"), "{findings}");
}

#[test]
fn an_agent_of_the_project_needs_trust() {
    let project = acp_project("", &prompts(&[json!([])])).with("GAMBREL_TRUST", "store");
    let stage =
        "name: work\ntermination: {type: fixed, iterations: 1}\nprovider: 'acp:./acp-agent'\n";
    project.file(".gambrel/stages/work/stage.yaml", stage);
    let output = project.run(&["run", "work"], b"");
    assert_eq!(output.status.code(), Some(64), "{}", text(&output.stderr));
    assert!(text(&output.stderr).contains("./acp-agent"), "{}", text(&output.stderr));
    assert!(prompts_received(&project).is_empty());
}
