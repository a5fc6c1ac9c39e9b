//! Events that `gambrel install claude` subscribes to, the files it writes, and reports of missing
//! events.

use serde_json::{Value, json};

use crate::test_project::{TestProject, text};

const ALWAYS: [&str; 9] = [
    "SessionStart",
    "UserPromptSubmit",
    "PreToolUse",
    "PostToolUse",
    "PostToolUseFailure",
    "SubagentStop",
    "TaskCompleted",
    "Stop",
    "SessionEnd",
];

fn installed_events(project: &TestProject, file: &str) -> Vec<String> {
    let text = std::fs::read_to_string(project.root.join(".claude").join(file)).unwrap();
    let value: Value = serde_json::from_str(&text).unwrap();
    value["hooks"].as_object().unwrap().keys().cloned().collect()
}

fn install(project: &TestProject, args: &[&str]) {
    let args: Vec<&str> = ["install", "claude"].iter().chain(args).copied().collect();
    let output = project.run(&args, b"");
    assert!(output.status.success(), "{}", text(&output.stderr));
}

#[test]
fn subscribes_to_nine_events_without_hooks() {
    let project = TestProject::new().with_gambrel_on_path();
    install(&project, &[]);
    assert_eq!(installed_events(&project, "settings.json"), ALWAYS);
}

#[test]
fn adds_events_that_hooks_need() {
    let project = TestProject::new().with_gambrel_on_path();
    project.file(
        ".gambrel/hooks.yaml",
        "hooks:\n  on_compact_before: [{type: shell, command: ./a.sh}]\n  on_message_display: [{type: shell, command: ./b.sh}]\n",
    );
    install(&project, &[]);
    let events = installed_events(&project, "settings.json");
    for event in ["PreCompact", "MessageDisplay"] {
        assert!(events.iter().any(|known| known == event), "{event}: {events:?}");
    }
    assert!(!events.iter().any(|known| known == "PostToolBatch"), "{events:?}");
}

#[test]
fn all_events_are_written_on_request() {
    let project = TestProject::new().with_gambrel_on_path();
    install(&project, &["--all-events"]);
    let events = installed_events(&project, "settings.json");
    assert_eq!(events.len(), 32, "{events:?}");
    assert!(!events.iter().any(|event| event == "WorktreeCreate"), "it would replace the host's");
}

#[test]
fn writes_only_the_local_file_with_local() {
    let project = TestProject::new().with_gambrel_on_path();
    install(&project, &["--local"]);
    assert_eq!(installed_events(&project, "settings.local.json"), ALWAYS);
    assert!(!project.root.join(".claude/settings.json").exists());
    assert!(project.run(&["uninstall", "claude", "--local"], b"").status.success());
    assert!(!project.root.join(".claude/settings.local.json").exists());
}

#[test]
fn refuses_a_machine_path_in_a_shared_file() {
    let project = TestProject::new();
    let refused = project.run(&["install", "claude"], b"");
    assert_eq!(refused.status.code(), Some(64));
    let stderr = text(&refused.stderr);
    assert!(stderr.contains("not on PATH") && stderr.contains("--local"), "{stderr}");
    assert!(!project.root.join(".claude").exists());
    install(&project, &["--local"]);
    let local = std::fs::read_to_string(project.root.join(".claude/settings.local.json")).unwrap();
    assert!(local.contains(crate::test_project::program()), "{local}");
}

#[test]
fn reports_hooks_for_unsubscribed_events() {
    let project = TestProject::new().with_gambrel_on_path();
    const FIRE: [&str; 6] = ["fire", "--from", "claude", "--hosted", "--trust", "all"];
    install(&project, &[]);
    let quiet = project.run(&FIRE, START.as_bytes());
    assert_eq!(text(&quiet.stdout), "", "nothing to report yet");
    project.file(
        ".gambrel/hooks.yaml",
        "hooks: {on_compact_before: [{type: shell, command: 'true'}]}\n",
    );
    let event = "PreCompact";
    for args in [vec!["check"], vec!["list"], vec!["doctor"]] {
        let output = project.run(&args, b"");
        let printed = text(&output.stdout) + &text(&output.stderr);
        assert!(
            printed.contains(event) && printed.contains("gambrel install claude"),
            "{args:?}: {printed}"
        );
    }
    let fired = project.run(&FIRE, START.as_bytes());
    let reply: Value = serde_json::from_slice(&fired.stdout).unwrap();
    let message = reply["systemMessage"].as_str().unwrap();
    assert!(message.contains(event) && message.contains("gambrel install claude"), "{message}");
    install(&project, &[]);
    let covered = project.run(&FIRE, START.as_bytes());
    assert_eq!(text(&covered.stdout), "");
}

const START: &str = r#"{"hook_event_name":"SessionStart","session_id":"","source":"startup"}"#;

#[test]
fn updates_entries_of_older_versions() {
    let project = TestProject::new().with_gambrel_on_path();
    let plain = "gambrel fire --from claude --hosted";
    let entry = |timeout: u64| json!([{"hooks": [{"type": "command", "command": plain, "timeout": timeout, "onFailure": "block"}]}]);
    let old = json!({"hooks": {"PreToolUse": entry(30), "UserPromptSubmit": entry(30)}});
    project.file(".claude/settings.json", &old.to_string());
    install(&project, &[]);
    let now = std::fs::read_to_string(project.root.join(".claude/settings.json")).unwrap();
    let now: Value = serde_json::from_str(&now).unwrap();
    let gate = &now["hooks"]["PreToolUse"][0]["hooks"][0];
    assert!(gate["command"].as_str().unwrap().contains("exit 2"), "{gate}");
    assert_eq!(gate["timeout"], 30, "a user's own timeout stays");
    assert!(now["hooks"]["UserPromptSubmit"][0]["hooks"][0].get("onFailure").is_none());
    assert!(project.run(&["uninstall", "claude"], b"").status.success());
}

#[test]
fn the_suggested_install_command_adds_the_event() {
    let project = TestProject::new();
    install(&project, &["--local"]);
    project.file(
        ".gambrel/hooks.yaml",
        "hooks: {on_compact_before: [{type: shell, command: 'true'}]}\n",
    );
    let stderr = text(&project.run(&["list"], b"").stderr);
    assert!(stderr.contains("gambrel install claude --local"), "{stderr}");
    install(&project, &["--local"]);
    assert!(!text(&project.run(&["list"], b"").stderr).contains("PreCompact"));
}

#[test]
fn reports_events_that_the_plugin_does_not_cover() {
    let project = TestProject::new();
    project.file(
        ".gambrel/hooks.yaml",
        "hooks: {on_task_created: [{type: shell, command: 'true'}]}\n",
    );
    let plugin = concat!(env!("CARGO_MANIFEST_DIR"), "/../../integrations/claude-plugin");
    let project = project.with("CLAUDE_PLUGIN_ROOT", plugin);
    let fired = project.run(&["fire", "--from", "claude", "--hosted"], START.as_bytes());
    assert!(text(&fired.stdout).contains("TaskCreated"), "{}", text(&fired.stdout));
}

#[test]
fn recognises_unusual_program_paths() {
    for name in ["o'd/gambrel", "gambrel-dev"] {
        let project = TestProject::new();
        let program = project.base.join(name);
        std::fs::create_dir_all(program.parent().unwrap()).unwrap();
        // By another process: a child of a parallel test would inherit our open file, and then the
        // program could not be started ("text file busy").
        let mut copy = std::process::Command::new("cp");
        let copied = copy.args([crate::test_project::program()]).arg(&program).status().unwrap();
        assert!(copied.success());
        project.file(".claude/settings.local.json", "{\"a\": 1}\n");
        let run = |word: &str| {
            let mut command = std::process::Command::new(&program);
            command.args([word, "claude", "--local"]).env_clear().envs(project.env.clone());
            assert!(command.current_dir(&project.root).output().unwrap().status.success());
            let path = project.root.join(".claude/settings.local.json");
            std::fs::read_to_string(path).unwrap()
        };
        let once = run("install");
        assert_eq!(run("install"), once, "{name}");
        assert_eq!(project.json(&["list", "--json"]), json!([]), "{name}");
        let changed = once.replace("\"a\"", "\"b\"");
        project.file(".claude/settings.local.json", &changed);
        assert!(!run("uninstall").contains("fire"), "{name}");
    }
}
