//! `install claude --mcp` adds the task board to the project's `.mcp.json`, and `uninstall` removes
//! it; everything else in the file stays.

use std::process::Output;

use serde_json::{Value, json};

use crate::test_project::{TestProject, text};

const OTHER: &str = "{\n    \"mcpServers\": {\n        \"files\": {\"command\": \"files\", \
                     \"args\": [\"--ro\"]}\n    },\n    \"note\": \"mine\"\n}\n";

fn install(project: &TestProject) -> Output {
    project.run(&["install", "claude", "--mcp"], b"")
}

fn uninstall(project: &TestProject) {
    let output = project.run(&["uninstall", "claude"], b"");
    assert!(output.status.success(), "{}", text(&output.stderr));
}

fn read(project: &TestProject, name: &str) -> Option<String> {
    std::fs::read_to_string(project.root.join(name)).ok()
}

fn servers(project: &TestProject) -> Value {
    let parsed: Value = serde_json::from_str(&read(project, ".mcp.json").unwrap()).unwrap();
    parsed["mcpServers"].clone()
}

fn own() -> Value {
    json!({"command": "gambrel", "args": ["mcp"]})
}

#[test]
fn creates_a_missing_file_and_removes_it() {
    let project = TestProject::new().with_gambrel_on_path();
    let plain = project.run(&["install", "claude"], b"");
    assert!(plain.status.success() && read(&project, ".mcp.json").is_none());
    let output = install(&project);
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert!(text(&output.stdout).contains(".mcp.json: added the server gambrel"));
    let made: Value = serde_json::from_str(&read(&project, ".mcp.json").unwrap()).unwrap();
    assert_eq!(made, json!({"mcpServers": {"gambrel": own()}}));
    uninstall(&project);
    assert_eq!(read(&project, ".mcp.json"), None);
    assert_eq!(read(&project, ".claude/settings.json"), None);
}

#[test]
fn keeps_other_servers_and_restores_the_file() {
    let project = TestProject::new().with_gambrel_on_path();
    project.file(".mcp.json", OTHER);
    assert!(install(&project).status.success());
    let once = read(&project, ".mcp.json").unwrap();
    assert_eq!(
        servers(&project),
        json!({"files": {"command": "files", "args": ["--ro"]}, "gambrel": own()})
    );
    assert!(once.contains("\"files\": {\"command\": \"files\", \"args\": [\"--ro\"]}"), "{once}");
    let again = project.json(&["install", "claude", "--mcp", "--json"]);
    assert_eq!(again["mcp"]["added"], false, "{again}");
    assert_eq!(read(&project, ".mcp.json").unwrap(), once);
    uninstall(&project);
    assert_eq!(read(&project, ".mcp.json").unwrap(), OTHER);
    uninstall(&project);
    assert_eq!(read(&project, ".mcp.json").unwrap(), OTHER);
}

#[test]
fn keeps_changes_made_after_the_installation() {
    let project = TestProject::new().with_gambrel_on_path();
    assert!(install(&project).status.success());
    let mut changed: Value = serde_json::from_str(&read(&project, ".mcp.json").unwrap()).unwrap();
    changed["mcpServers"]["later"] = json!({"command": "later"});
    project.file(".mcp.json", &changed.to_string());
    let removed = project.json(&["uninstall", "claude", "--json"]);
    assert_eq!(removed["mcp"]["removed"], true, "{removed}");
    assert_eq!(servers(&project), json!({"later": {"command": "later"}}));
}

#[test]
fn keeps_an_own_form_of_the_entry() {
    let project = TestProject::new().with_gambrel_on_path();
    let mine = json!({"mcpServers": {"gambrel": {
        "command": "/opt/gambrel", "args": ["mcp", "--session", "night"], "env": {"A": "1"},
    }}});
    project.file(".mcp.json", &mine.to_string());
    assert!(install(&project).status.success());
    assert_eq!(read(&project, ".mcp.json").unwrap(), mine.to_string());
}

#[test]
fn a_file_that_cannot_be_edited_is_an_error_and_nothing_is_installed() {
    for (broken, why) in [
        ("{\"mcpServers\": ", ".mcp.json"),
        ("{\n  // mine\n  \"mcpServers\": {}\n}\n", "not a JSON object"),
        ("[]", "not a JSON object"),
        ("{\"mcpServers\": []}", "`mcpServers` is no object"),
        (r#"{"mcpServers":{"gambrel":{"command":"other"}}}"#, "does not call `gambrel mcp`"),
    ] {
        let project = TestProject::new().with_gambrel_on_path();
        project.file(".mcp.json", broken);
        let output = install(&project);
        let stderr = text(&output.stderr);
        assert!(!output.status.success(), "{broken}");
        assert!(stderr.contains(".mcp.json") && stderr.contains(why), "{broken}: {stderr}");
        assert_eq!(read(&project, ".mcp.json").unwrap(), broken);
        assert_eq!(read(&project, ".claude/settings.json"), None, "{broken}");
    }
}

#[test]
fn a_broken_file_does_not_keep_the_hooks_installed() {
    let project = TestProject::new().with_gambrel_on_path();
    assert!(install(&project).status.success());
    project.file(".mcp.json", "{\"mcpServers\": ");
    let output = project.run(&["uninstall", "claude"], b"");
    assert!(output.status.success());
    let stderr = text(&output.stderr);
    assert!(stderr.contains("the MCP server is not removed") && stderr.contains(".mcp.json"));
    assert_eq!(read(&project, ".claude/settings.json"), None);
}

#[test]
fn the_settings_of_the_user_have_no_server() {
    let project = TestProject::new().with_gambrel_on_path();
    let output = project.run(&["install", "claude", "--mcp", "--user"], b"");
    assert_eq!(output.status.code(), Some(64), "{}", text(&output.stderr));
    assert!(install(&project).status.success());
    assert!(project.run(&["uninstall", "claude", "--user"], b"").status.success());
    assert_eq!(servers(&project), json!({"gambrel": own()}));
    // A path of this machine does not belong into a shared file.
    let project = TestProject::new().with("PATH", "/usr/bin:/bin");
    let output = project.run(&["install", "claude", "--mcp", "--local"], b"");
    assert_eq!(output.status.code(), Some(64), "{}", text(&output.stderr));
    assert!(text(&output.stderr).contains("put it on PATH"), "{}", text(&output.stderr));
}
