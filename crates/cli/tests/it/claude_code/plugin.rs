//! The plugin folder loads completely in the oldest and the newest Claude Code, and its hooks run.

use std::path::{Path, PathBuf};
use std::time::Duration;

use gambrel_dialects::claude::{CLAUDE, first_version};
use serde_json::{Value, json};

use super::session::Session;
use super::versions::{ClaudeCode, in_each_version, in_each_version_and_the_oldest};
use crate::external_tools::run_to_end;
use crate::test_project::TestProject;

/// The entry that keeps the gate closed when gambrel does not answer.
const GATE: &str = "gambrel fire --from claude --hosted --event PreToolUse || { [ $? = 2 ] || echo \
    'gambrel did not answer, so this call is blocked: run gambrel doctor, or remove the gambrel \
    entries from the settings' >&2; exit 2; }";
const PLAIN: &str = "gambrel fire --from claude --hosted";
const VALIDATE_TIMEOUT: Duration = Duration::from_secs(60);

fn plugin_dir() -> PathBuf {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../integrations/claude-plugin");
    std::fs::canonicalize(folder).unwrap()
}

fn plugin_hooks() -> Value {
    let text = std::fs::read_to_string(plugin_dir().join("hooks/hooks.json")).unwrap();
    serde_json::from_str::<Value>(&text).unwrap()["hooks"].take()
}

/// Exit code of `claude plugin validate`, and its remarks on the hooks of the folder.
fn validate(claude: &ClaudeCode, folder: &Path) -> (Option<i32>, Vec<String>) {
    let session = Session::new(claude);
    let mut command = claude.command();
    command.args(["plugin", "validate"]).arg(folder).env_clear();
    command.envs(session.project.env.clone()).current_dir(&session.project.root);
    let (code, stdout, stderr) = run_to_end(&mut command, VALIDATE_TIMEOUT);
    let output = stdout + &stderr;
    assert!(output.contains("Validation "), "{output}");
    let is_remark =
        |line: &&str| ["❯ hooks.", "❯ hooks: hooks."].iter().any(|s| line.starts_with(s));
    let remarks = output.lines().map(str::trim_start).filter(is_remark);
    (code, remarks.map(str::to_owned).collect())
}

/// The last number of a version such as 2.1.325.
fn patch_number(version: &str) -> u32 {
    version.strip_prefix("2.1.").unwrap().parse().unwrap()
}

#[test]
fn plugin_hooks_validate_in_every_version() {
    in_each_version(|claude| {
        let (code, remarks) = validate(claude, &plugin_dir());
        assert_eq!((code, remarks.len()), (Some(0), 0), "{remarks:?}");
    });
}

#[test]
fn the_event_table_matches_every_version() {
    in_each_version(|claude| {
        let rows = CLAUDE.events().iter().filter(|row| !row.name.is_empty());
        let hooks = json!([{"hooks": [{"type": "command", "command": "true"}]}]);
        let all: serde_json::Map<_, _> =
            rows.clone().map(|row| (row.name.to_owned(), hooks.clone())).collect();
        let project = TestProject::new();
        project.file(".claude-plugin/plugin.json", r#"{"name": "all", "version": "0.1.0"}"#);
        project.file("hooks/hooks.json", &json!({"hooks": all}).to_string());
        let (_, remarks) = validate(claude, &project.root);
        for row in rows {
            let name = format!("hooks.{}:", row.name);
            let unknown = remarks.iter().any(|remark| remark.contains(&name));
            assert_eq!(
                unknown,
                patch_number(first_version(row)) > patch_number(&claude.version()),
                "{}: {remarks:?}",
                row.name
            );
        }
    });
}

/// The oldest version does not validate hooks; it loads them or rejects the whole file.
#[test]
fn the_plugin_has_only_events_that_the_oldest_version_knows() {
    for event in plugin_hooks().as_object().unwrap().keys() {
        let row = CLAUDE.events().iter().find(|row| row.name == event).unwrap();
        assert_eq!(first_version(row), "2.1.0", "{event}");
    }
}

#[test]
fn plugin_hooks_fire_in_every_version() {
    in_each_version_and_the_oldest(|claude| {
        let session = Session::new(claude);
        let rule = json!({"block": "denied", "message": "the plugin says no"});
        session.write_hooks(&json!({"on_tool_before": [{"rule": rule}]}));
        let start = json!([{"command": "echo context of the start", "pipe_output": true}]);
        let hooks = json!({"version": 1, "hooks": {"session_start": start}});
        session.project.file(".iteratr.hooks.yml", &hooks.to_string());
        session.gambrel(&["trust", "--all", "--yes"]);
        let folder = plugin_dir().display().to_string();
        let args = ["--plugin-dir", &folder, "--allowedTools", "Bash"];
        let answer = session.prompt(&["touch denied.txt", "touch free.txt"], &args);
        let init = answer.stream.iter().find(|line| line["subtype"] == "init").unwrap();
        let errors = init["plugin_errors"].as_array().map_or(0, Vec::len);
        assert_eq!(errors, 0, "{}", init["plugin_errors"]);
        assert!(answer.reached_model("context of the start"), "{answer}");
        assert!(!session.has("denied.txt"), "{answer}");
        let result = answer.tool_result(0);
        assert!(result.contains("the plugin says no"), "{result}\n{answer}");
        assert!(session.has("free.txt"), "{answer}");
    });
}

/// Runs `claude plugin …` in the project of a session. Without a network, so nothing is fetched.
fn plugin_command(claude: &ClaudeCode, session: &Session, args: &[&str]) {
    let mut command = claude.command();
    command.arg("plugin").args(args).env_clear();
    command.envs(session.project.env.clone()).current_dir(&session.project.root);
    let (code, stdout, stderr) = run_to_end(&mut command, VALIDATE_TIMEOUT);
    assert_eq!(code, Some(0), "{args:?}: {stdout}{stderr}");
}

#[test]
fn the_plugin_installs_from_its_marketplace() {
    in_each_version(|claude| {
        let session = Session::new(claude);
        let rule = json!({"block": "denied", "message": "the plugin says no"});
        session.write_hooks(&json!({"on_tool_before": [{"rule": rule}]}));
        session.gambrel(&["trust", "--all", "--yes"]);
        let marketplace = plugin_dir().parent().unwrap().display().to_string();
        plugin_command(claude, &session, &["marketplace", "add", &marketplace]);
        plugin_command(claude, &session, &["install", "gambrel@gambrel"]);
        let answer = session.prompt(&["touch denied.txt"], &["--allowedTools", "Bash"]);
        assert!(!session.has("denied.txt"), "{answer}");
        let result = answer.tool_result(0);
        assert!(result.contains("the plugin says no"), "{result}\n{answer}");
        plugin_command(claude, &session, &["uninstall", "gambrel@gambrel"]);
        let answer = session.prompt(&["touch denied.txt"], &["--allowedTools", "Bash"]);
        assert!(session.has("denied.txt"), "{answer}");
    });
}

#[test]
fn the_plugin_has_the_version_of_gambrel() {
    let text = std::fs::read_to_string(plugin_dir().join(".claude-plugin/plugin.json")).unwrap();
    let manifest: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(manifest["version"], env!("CARGO_PKG_VERSION"));
}

#[test]
fn the_plugin_closes_the_gate_while_gambrel_is_missing() {
    in_each_version_and_the_oldest(|claude| {
        let session = Session::new(claude);
        session.remove_gambrel();
        let folder = plugin_dir().display().to_string();
        let args = ["--plugin-dir", &folder, "--allowedTools", "Bash"];
        let answer = session.prompt(&["touch ran.txt"], &args);
        assert!(!session.has("ran.txt"), "{answer}");
        let result = answer.tool_result(0);
        assert!(result.contains("gambrel did not answer"), "{result}\n{answer}");
    });
}

#[test]
fn only_the_gate_of_the_plugin_fails_closed() {
    for (event, groups) in plugin_hooks().as_object().unwrap() {
        let handler = &groups[0]["hooks"][0];
        let is_gate = event == "PreToolUse";
        assert_eq!(handler["command"], if is_gate { GATE } else { PLAIN }, "{event}");
        let on_failure = handler.get("onFailure").and_then(Value::as_str);
        assert_eq!(on_failure, is_gate.then_some("block"), "{event}");
        assert!(handler["timeout"].as_u64().is_some_and(|seconds| seconds > 0), "{event}");
    }
    assert_eq!(plugin_hooks()["PreToolUse"][0]["hooks"][0]["timeout"], 600);
}
