//! Which events `gambrel install claude` subscribes to, where it writes, and how a gap is told.

use serde_json::{Value, json};

use crate::ground::{Ground, text};

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

fn installed(ground: &Ground, file: &str) -> Vec<String> {
    let text = std::fs::read_to_string(ground.root.join(".claude").join(file)).unwrap();
    let value: Value = serde_json::from_str(&text).unwrap();
    value["hooks"].as_object().unwrap().keys().cloned().collect()
}

fn install(ground: &Ground, args: &[&str]) {
    let args: Vec<&str> = ["install", "claude"].iter().chain(args).copied().collect();
    let output = ground.run(&args, b"");
    assert!(output.status.success(), "{}", text(&output.stderr));
}

#[test]
fn without_hooks_nine_events_are_enough() {
    let ground = Ground::new().with_gambrel_on_path();
    install(&ground, &[]);
    assert_eq!(installed(&ground, "settings.json"), ALWAYS);
}

#[test]
fn events_that_a_hook_waits_for_are_added() {
    let ground = Ground::new().with_gambrel_on_path();
    ground.file(
        ".gambrel/hooks.yaml",
        "hooks:\n  on_compact_before: [{type: shell, command: ./a.sh}]\n  on_message_display: [{type: shell, command: ./b.sh}]\n",
    );
    install(&ground, &[]);
    let events = installed(&ground, "settings.json");
    for event in ["PreCompact", "MessageDisplay"] {
        assert!(events.iter().any(|known| known == event), "{event}: {events:?}");
    }
    assert!(!events.iter().any(|known| known == "PostToolBatch"), "{events:?}");
}

#[test]
fn all_events_are_written_on_request() {
    let ground = Ground::new().with_gambrel_on_path();
    install(&ground, &["--all-events"]);
    let events = installed(&ground, "settings.json");
    assert_eq!(events.len(), 32, "{events:?}");
    assert!(!events.iter().any(|event| event == "WorktreeCreate"), "it would replace the host's");
}

#[test]
fn the_local_file_is_not_shared() {
    let ground = Ground::new().with_gambrel_on_path();
    install(&ground, &["--local"]);
    assert_eq!(installed(&ground, "settings.local.json"), ALWAYS);
    assert!(!ground.root.join(".claude/settings.json").exists());
    assert!(ground.run(&["uninstall", "claude", "--local"], b"").status.success());
    assert!(!ground.root.join(".claude/settings.local.json").exists());
}

#[test]
fn a_path_of_this_machine_goes_into_no_shared_file() {
    let ground = Ground::new();
    let refused = ground.run(&["install", "claude"], b"");
    assert_eq!(refused.status.code(), Some(64));
    let said = text(&refused.stderr);
    assert!(said.contains("not on PATH") && said.contains("--local"), "{said}");
    assert!(!ground.root.join(".claude").exists());
    install(&ground, &["--local"]);
    let local = std::fs::read_to_string(ground.root.join(".claude/settings.local.json")).unwrap();
    assert!(local.contains(env!("CARGO_BIN_EXE_gambrel")), "{local}");
}

#[test]
fn reports_hooks_for_unsubscribed_events() {
    let ground = Ground::new().with_gambrel_on_path();
    const FIRE: [&str; 6] = ["fire", "--from", "claude", "--hosted", "--trust", "all"];
    install(&ground, &[]);
    let quiet = ground.run(&FIRE, START.as_bytes());
    assert_eq!(text(&quiet.stdout), "", "nothing to tell yet");
    ground.file(
        ".gambrel/hooks.yaml",
        "hooks: {on_compact_before: [{type: shell, command: 'true'}]}\n",
    );
    let told = "PreCompact";
    for args in [vec!["check"], vec!["list"], vec!["doctor"]] {
        let output = ground.run(&args, b"");
        let said = text(&output.stdout) + &text(&output.stderr);
        assert!(said.contains(told) && said.contains("gambrel install claude"), "{args:?}: {said}");
    }
    let fired = ground.run(&FIRE, START.as_bytes());
    let reply: Value = serde_json::from_slice(&fired.stdout).unwrap();
    let message = reply["systemMessage"].as_str().unwrap();
    assert!(message.contains(told) && message.contains("gambrel install claude"), "{message}");
    install(&ground, &[]);
    let covered = ground.run(&FIRE, START.as_bytes());
    assert_eq!(text(&covered.stdout), "");
}

const START: &str = r#"{"hook_event_name":"SessionStart","session_id":"","source":"startup"}"#;

#[test]
fn entries_of_older_versions_are_brought_up_to_date() {
    let ground = Ground::new().with_gambrel_on_path();
    let plain = "gambrel fire --from claude --hosted";
    let entry = |timeout: u64| json!([{"hooks": [{"type": "command", "command": plain, "timeout": timeout, "onFailure": "block"}]}]);
    let old = json!({"hooks": {"PreToolUse": entry(30), "UserPromptSubmit": entry(30)}});
    ground.file(".claude/settings.json", &old.to_string());
    install(&ground, &[]);
    let now = std::fs::read_to_string(ground.root.join(".claude/settings.json")).unwrap();
    let now: Value = serde_json::from_str(&now).unwrap();
    let gate = &now["hooks"]["PreToolUse"][0]["hooks"][0];
    assert!(gate["command"].as_str().unwrap().contains("exit 2"), "{gate}");
    assert_eq!(gate["timeout"], 30, "a person's own timeout stays");
    assert!(now["hooks"]["UserPromptSubmit"][0]["hooks"][0].get("onFailure").is_none());
    assert!(ground.run(&["uninstall", "claude"], b"").status.success());
}

#[test]
fn the_suggested_install_command_adds_the_event() {
    let ground = Ground::new();
    install(&ground, &["--local"]);
    ground.file(
        ".gambrel/hooks.yaml",
        "hooks: {on_compact_before: [{type: shell, command: 'true'}]}\n",
    );
    let said = text(&ground.run(&["list"], b"").stderr);
    assert!(said.contains("gambrel install claude --local"), "{said}");
    install(&ground, &["--local"]);
    assert!(!text(&ground.run(&["list"], b"").stderr).contains("PreCompact"));
}

#[test]
fn reports_events_that_the_plugin_does_not_cover() {
    let ground = Ground::new();
    ground.file(
        ".gambrel/hooks.yaml",
        "hooks: {on_task_created: [{type: shell, command: 'true'}]}\n",
    );
    let plugin = concat!(env!("CARGO_MANIFEST_DIR"), "/../../integrations/claude-plugin");
    let ground = ground.with("CLAUDE_PLUGIN_ROOT", plugin);
    let fired = ground.run(&["fire", "--from", "claude", "--hosted"], START.as_bytes());
    assert!(text(&fired.stdout).contains("TaskCreated"), "{}", text(&fired.stdout));
}

#[test]
fn odd_paths_of_the_program_are_recognised() {
    for name in ["o'd/gambrel", "gambrel-dev"] {
        let ground = Ground::new();
        let program = ground.base.join(name);
        std::fs::create_dir_all(program.parent().unwrap()).unwrap();
        // By another process: a child of a parallel test would inherit our open file, and then the
        // program could not be started ("text file busy").
        let mut copy = std::process::Command::new("cp");
        let copied = copy.args([env!("CARGO_BIN_EXE_gambrel")]).arg(&program).status().unwrap();
        assert!(copied.success());
        ground.file(".claude/settings.local.json", "{\"a\": 1}\n");
        let run = |word: &str| {
            let mut command = std::process::Command::new(&program);
            command.args([word, "claude", "--local"]).env_clear().envs(ground.env.clone());
            assert!(command.current_dir(&ground.root).output().unwrap().status.success());
            let path = ground.root.join(".claude/settings.local.json");
            std::fs::read_to_string(path).unwrap()
        };
        let once = run("install");
        assert_eq!(run("install"), once, "{name}");
        assert_eq!(ground.json(&["list", "--json"]), json!([]), "{name}");
        let changed = once.replace("\"a\"", "\"b\"");
        ground.file(".claude/settings.local.json", &changed);
        assert!(!run("uninstall").contains("fire"), "{name}");
    }
}
