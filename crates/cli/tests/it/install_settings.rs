//! `install` edits a settings file without losing its contents, and `uninstall` restores it.

use crate::test_project::{TestProject, text};

const SETTINGS: &str = r#"{
  // my settings
  "model": "opus", /* keep */
  "hooks": {
    "PreToolUse": [
      // my guard
      { "matcher": "Bash", "hooks": [{ "type": "command", "command": "./guard.sh" }] },
    ],
  },
  "permissions": { "deny": ["Read(.env)"] },
}
"#;

fn settings(project: &TestProject) -> String {
    std::fs::read_to_string(project.root.join(".claude/settings.json")).unwrap()
}

fn install(project: &TestProject) {
    let output = project.run(&["install", "claude"], b"");
    assert!(output.status.success(), "{}", text(&output.stderr));
}

#[test]
fn keeps_comments_and_order() {
    let project = TestProject::new().with_gambrel_on_path();
    project.file(".claude/settings.json", SETTINGS);
    install(&project);
    let after = settings(&project);
    for kept in ["// my settings", "/* keep */", "// my guard", "./guard.sh", "Read(.env)"] {
        assert!(after.contains(kept), "{kept}: {after}");
    }
    assert!(after.find("\"model\"") < after.find("\"hooks\""));
    assert!(after.contains("fire --from claude --hosted"));
    assert_eq!(after.matches("fire --from claude").count(), 9, "{after}");
    assert!(!after.contains("WorktreeCreate"), "it would replace the host's own behaviour");
}

#[test]
fn changes_nothing_the_second_time() {
    let project = TestProject::new().with_gambrel_on_path();
    project.file(".claude/settings.json", SETTINGS);
    install(&project);
    let once = settings(&project);
    install(&project);
    assert_eq!(settings(&project), once);
}

#[test]
fn uninstall_keeps_other_settings() {
    let project = TestProject::new().with_gambrel_on_path();
    project.file(".claude/settings.json", SETTINGS);
    install(&project);
    assert!(project.run(&["uninstall", "claude"], b"").status.success());
    let after = settings(&project);
    assert!(!after.contains("gambrel"), "{after}");
    for kept in ["// my settings", "/* keep */", "// my guard", "./guard.sh", "Read(.env)"] {
        assert!(after.contains(kept), "{kept}: {after}");
    }
    assert!(!after.contains("SessionEnd"), "{after}");
}

#[test]
fn creates_a_missing_settings_file() {
    let project = TestProject::new().with_gambrel_on_path();
    install(&project);
    let made: serde_json::Value = serde_json::from_str(&settings(&project)).unwrap();
    let gate = &made["hooks"]["PreToolUse"][0]["hooks"][0];
    assert_eq!(gate["onFailure"], "block");
    assert_eq!(gate["timeout"], 600);
    let prompt = &made["hooks"]["UserPromptSubmit"][0]["hooks"][0];
    assert_eq!(prompt["timeout"], 30);
    assert_eq!(prompt["command"], "gambrel fire --from claude --hosted");
    assert!(prompt.get("onFailure").is_none(), "a missing gambrel must not erase prompts");
}

#[test]
fn writes_user_settings_to_the_home() {
    let project = TestProject::new().with_gambrel_on_path();
    assert!(project.run(&["install", "claude", "--user"], b"").status.success());
    assert!(project.base.join("home/.claude/settings.json").exists());
    assert!(!project.root.join(".claude").exists());
}

#[test]
fn leaves_invalid_json_alone() {
    let project = TestProject::new().with_gambrel_on_path();
    project.file(".claude/settings.json", "{ not json");
    let output = project.run(&["install", "claude"], b"");
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(settings(&project), "{ not json");
}

#[test]
fn installed_entries_are_valid_and_are_no_hooks() {
    let project = TestProject::new().with_gambrel_on_path();
    install(&project);
    let report = project.json(&["check", "--json"]);
    assert_eq!(report["complaints"], serde_json::json!([]), "{report}");
    for command in [["list", "--json"], ["trust", "--json"]] {
        assert_eq!(project.json(&command), serde_json::json!([]), "gambrel's entries are no hooks");
    }
    let event = crate::test_project::BASH_LS.as_bytes();
    let explained = project.run(&["explain", "--from", "claude", "--json"], event);
    assert!(text(&explained.stdout).contains("\"hooks\":[]"), "{}", text(&explained.stdout));
}

#[test]
fn the_plugin_folder_has_the_same_entries() {
    let project = TestProject::new().with_gambrel_on_path();
    assert!(project.run(&["install", "claude", "--all-events"], b"").status.success());
    let installed: serde_json::Value = serde_json::from_str(&settings(&project)).unwrap();
    let plugin =
        concat!(env!("CARGO_MANIFEST_DIR"), "/../../integrations/claude-plugin/hooks/hooks.json");
    let plugin: serde_json::Value =
        serde_json::from_str(&std::fs::read_to_string(plugin).unwrap()).unwrap();
    for (event, groups) in plugin["hooks"].as_object().unwrap() {
        assert_eq!(*groups, installed["hooks"][event], "{event}");
    }
    assert!(plugin["hooks"]["PreToolUse"].is_array());
}

#[test]
fn reinstalling_keeps_the_file_valid() {
    for before in
        ["{\"a\":1}\n", "{\n  // mine\n  \"a\": 1\n}\n", "{\"hooks\":{\"Stop\":[]},\"b\":2}\n"]
    {
        let project = TestProject::new().with_gambrel_on_path();
        let path = project.file(".claude/settings.json", before);
        for word in ["install", "uninstall", "install", "uninstall"] {
            let output = project.run(&[word, "claude"], b"");
            assert_eq!(output.status.code(), Some(0), "{word}: {}", text(&output.stderr));
        }
        let after = std::fs::read_to_string(&path).unwrap();
        let check = project.json(&["check", "--json"]).to_string();
        assert!(!check.contains("error"), "{before} became {after}: {check}");
        assert!(after.contains("\"a\"") || after.contains("\"b\""), "{after}");
    }
}

#[test]
fn keeps_hand_written_calls_of_gambrel() {
    let project = TestProject::new().with_gambrel_on_path();
    let own = r#"{"hooks":{"Stop":[{"hooks":[{"type":"command","command":"gambrel fire --from claude --only omp"}]}]}}"#;
    let path = project.file(".claude/settings.json", own);
    project.run(&["install", "claude"], b"");
    project.run(&["uninstall", "claude"], b"");
    assert!(std::fs::read_to_string(path).unwrap().contains("--only omp"));
}

/// A settings file after installing and uninstalling.
fn install_and_uninstall(before: &str) -> String {
    let project = TestProject::new().with_gambrel_on_path();
    project.file(".claude/settings.json", before);
    install(&project);
    assert!(settings(&project).contains("fire --from claude --hosted"));
    assert!(project.run(&["uninstall", "claude"], b"").status.success());
    settings(&project)
}

#[test]
fn uninstall_keeps_empty_hook_lists() {
    for before in [
        "{\"hooks\":{}}",
        "{\"hooks\": {\n  // note\n}}\n",
        "{\n  \"hooks\": {\n    \"Stop\": []\n  }\n}\n",
        "{\"hooks\": {\n  \"Stop\": [ // note\n  ]\n}}\n",
    ] {
        assert_eq!(install_and_uninstall(before), before);
    }
}

#[test]
fn uninstall_restores_the_file_byte_for_byte() {
    for before in [
        "",
        "   \n",
        "{}",
        "{\"a\":1}",
        "{\"a\":1,}\n",
        "{ \"a\" : 1 , // last\n}",
        "{\"hooks\": { /* note */ }}\n",
        "\u{feff}{\"model\":\"opus\",\"env\":{\"TOKEN\":\"secret\"}}",
        "{\"hooks\":{\"PreToolUse\":[{\"hooks\":[{\"type\":\"command\",\"command\":\"./a\"}]}]}}",
        "{\r\n\t\"hooks\": {\"Stop\": [ ], },\r\n}\r\n",
        SETTINGS,
    ] {
        assert_eq!(install_and_uninstall(before), before, "{before:?}");
    }
}

#[test]
fn uninstall_reverts_two_installs() {
    let project = TestProject::new().with_gambrel_on_path();
    let before = "{\"model\":\"opus\"}";
    project.file(".claude/settings.json", before);
    install(&project);
    assert!(project.run(&["install", "claude", "--all-events"], b"").status.success());
    assert!(settings(&project).contains("MessageDisplay"));
    assert!(project.run(&["uninstall", "claude"], b"").status.success());
    assert_eq!(settings(&project), before);
}

#[test]
fn install_record_contains_no_settings() {
    let project = TestProject::new().with_gambrel_on_path();
    project.file(".claude/settings.json", "{\"env\":{\"TOKEN\":\"canary\"}}");
    install(&project);
    let noted = std::fs::read_to_string(project.base.join("state/installed.json")).unwrap();
    assert!(noted.contains("restore") && !noted.contains("canary") && !noted.contains("TOKEN"));
}

#[test]
fn uninstall_removes_a_created_file() {
    let project = TestProject::new().with_gambrel_on_path();
    install(&project);
    install(&project);
    assert!(project.run(&["uninstall", "claude"], b"").status.success());
    assert!(!project.root.join(".claude/settings.json").exists());

    project.file(".claude/settings.json", "{}\n");
    install(&project);
    assert!(project.run(&["uninstall", "claude"], b"").status.success());
    assert_eq!(settings(&project), "{}\n", "the user created this file");
}

#[test]
fn uninstall_keeps_a_created_file_with_other_settings() {
    let project = TestProject::new().with_gambrel_on_path();
    install(&project);
    let more = settings(&project).replacen('{', "{\n  \"model\": \"opus\",", 1);
    project.file(".claude/settings.json", &more);
    assert!(project.run(&["uninstall", "claude"], b"").status.success());
    assert!(settings(&project).contains("opus"));
}

#[test]
fn keeps_a_byte_order_mark() {
    let before = "\u{feff}{\n  \"model\": \"opus\"\n}\n";
    assert_eq!(install_and_uninstall(before), before);
}

#[test]
fn writes_the_project_file_from_a_subfolder() {
    let project = TestProject::new().with_gambrel_on_path();
    project.file(".git/HEAD", "");
    let sub = project.root.join("sub");
    std::fs::create_dir_all(&sub).unwrap();
    let run_in_subfolder = |args: &[&str]| {
        let output = project.command(args).current_dir(&sub).output().unwrap();
        assert!(output.status.success(), "{}", text(&output.stderr));
    };
    run_in_subfolder(&["install", "claude"]);
    assert!(project.root.join(".claude/settings.json").exists());
    run_in_subfolder(&["init", "omp"]);
    assert!(project.root.join(".omp/tsconfig.json").exists());
    assert!(std::fs::read_dir(&sub).unwrap().next().is_none());
    run_in_subfolder(&["install", "claude", "-C", "."]);
    assert!(sub.join(".claude/settings.json").exists(), "a given folder wins");
}
