//! Installing edits a settings file as a careful person would, and uninstalling takes it all back.

use crate::ground::{Ground, text};

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

fn settings(ground: &Ground) -> String {
    std::fs::read_to_string(ground.root.join(".claude/settings.json")).unwrap()
}

fn install(ground: &Ground) {
    let output = ground.run(&["install", "claude"], b"");
    assert!(output.status.success(), "{}", text(&output.stderr));
}

#[test]
fn comments_and_order_stay() {
    let ground = Ground::new();
    ground.file(".claude/settings.json", SETTINGS);
    install(&ground);
    let after = settings(&ground);
    for kept in ["// my settings", "/* keep */", "// my guard", "./guard.sh", "Read(.env)"] {
        assert!(after.contains(kept), "{kept}: {after}");
    }
    assert!(after.find("\"model\"") < after.find("\"hooks\""));
    assert!(after.contains("fire --from claude --hosted"));
    assert!(after.matches("fire --from claude").count() == 32, "{after}");
    assert!(!after.contains("WorktreeCreate"), "it would break the host's own way");
}

#[test]
fn a_second_time_changes_nothing() {
    let ground = Ground::new();
    ground.file(".claude/settings.json", SETTINGS);
    install(&ground);
    let once = settings(&ground);
    install(&ground);
    assert_eq!(settings(&ground), once);
}

#[test]
fn uninstalling_leaves_the_rest() {
    let ground = Ground::new();
    ground.file(".claude/settings.json", SETTINGS);
    install(&ground);
    assert!(ground.run(&["uninstall", "claude"], b"").status.success());
    let after = settings(&ground);
    assert!(!after.contains("gambrel"), "{after}");
    for kept in ["// my settings", "/* keep */", "// my guard", "./guard.sh", "Read(.env)"] {
        assert!(after.contains(kept), "{kept}: {after}");
    }
    assert!(!after.contains("SessionEnd"), "{after}");
}

#[test]
fn without_a_file_one_is_made() {
    let ground = Ground::new();
    install(&ground);
    let made: serde_json::Value = serde_json::from_str(&settings(&ground)).unwrap();
    let gate = &made["hooks"]["PreToolUse"][0]["hooks"][0];
    assert_eq!(gate["onFailure"], "block");
    assert_eq!(gate["timeout"], 600);
    assert_eq!(made["hooks"]["UserPromptSubmit"][0]["hooks"][0]["timeout"], 30);
    assert!(made["hooks"]["Notification"][0]["hooks"][0].get("onFailure").is_none());
}

#[test]
fn for_the_user_it_goes_home() {
    let ground = Ground::new();
    assert!(ground.run(&["install", "claude", "--user"], b"").status.success());
    assert!(ground.base.join("home/.claude/settings.json").exists());
    assert!(!ground.root.join(".claude").exists());
}

#[test]
fn a_file_that_is_not_json_is_left_alone() {
    let ground = Ground::new();
    ground.file(".claude/settings.json", "{ not json");
    let output = ground.run(&["install", "claude"], b"");
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(settings(&ground), "{ not json");
}

#[test]
fn what_it_writes_loads_without_complaint_and_does_not_call_itself() {
    let ground = Ground::new();
    install(&ground);
    let told = ground.json(&["check", "--json"]);
    assert_eq!(told["complaints"], serde_json::json!([]), "{told}");
    let hooks = ground.json(&["list", "--json"]);
    let idle = |h: &serde_json::Value| h["idle"].as_str().is_some_and(|why| why.contains("itself"));
    assert!(hooks.as_array().unwrap().iter().all(idle), "{hooks}");
}

#[test]
fn the_plugin_folder_has_the_same_entries() {
    let ground = Ground::new();
    let bin = ground.base.join("bin");
    std::fs::create_dir_all(&bin).unwrap();
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_gambrel"), bin.join("gambrel")).unwrap();
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());
    let ground = ground.with("PATH", &path);
    install(&ground);
    let installed: serde_json::Value = serde_json::from_str(&settings(&ground)).unwrap();
    let plugin =
        concat!(env!("CARGO_MANIFEST_DIR"), "/../../integrations/claude-plugin/hooks/hooks.json");
    let plugin: serde_json::Value =
        serde_json::from_str(&std::fs::read_to_string(plugin).unwrap()).unwrap();
    assert_eq!(plugin["hooks"], installed["hooks"]);
}

#[test]
fn a_file_without_other_hooks_is_as_it_was() {
    for before in
        ["{\"a\":1}\n", "{\n  // mine\n  \"a\": 1\n}\n", "{\"hooks\":{\"Stop\":[]},\"b\":2}\n"]
    {
        let ground = Ground::new();
        let path = ground.file(".claude/settings.json", before);
        for word in ["install", "uninstall", "install", "uninstall"] {
            let output = ground.run(&[word, "claude"], b"");
            assert_eq!(output.status.code(), Some(0), "{word}: {}", text(&output.stderr));
        }
        let after = std::fs::read_to_string(&path).unwrap();
        let check = ground.json(&["check", "--json"]).to_string();
        assert!(!check.contains("error"), "{before} became {after}: {check}");
        assert!(after.contains("\"a\"") || after.contains("\"b\""), "{after}");
    }
}

#[test]
fn a_call_of_gambrel_written_by_hand_is_its_authors() {
    let ground = Ground::new();
    let own = r#"{"hooks":{"Stop":[{"hooks":[{"type":"command","command":"gambrel fire --from claude --only omp"}]}]}}"#;
    let path = ground.file(".claude/settings.json", own);
    ground.run(&["install", "claude"], b"");
    ground.run(&["uninstall", "claude"], b"");
    assert!(std::fs::read_to_string(path).unwrap().contains("--only omp"));
}

/// A settings file after installing and uninstalling.
fn there_and_back(before: &str) -> String {
    let ground = Ground::new();
    ground.file(".claude/settings.json", before);
    install(&ground);
    assert!(settings(&ground).contains("fire --from claude --hosted"));
    assert!(ground.run(&["uninstall", "claude"], b"").status.success());
    settings(&ground)
}

#[test]
fn what_was_empty_before_stays() {
    for before in [
        "{\"hooks\":{}}",
        "{\"hooks\": {\n  // note\n}}\n",
        "{\n  \"hooks\": {\n    \"Stop\": []\n  }\n}\n",
        "{\"hooks\": {\n  \"Stop\": [ // note\n  ]\n}}\n",
    ] {
        assert_eq!(there_and_back(before), before);
    }
    let one_line = there_and_back("{\"hooks\": { /* note */ }}\n");
    assert_eq!(one_line.split_whitespace().collect::<String>(), "{\"hooks\":{/*note*/}}");
}

#[test]
fn a_file_that_was_made_is_taken_away() {
    let ground = Ground::new();
    install(&ground);
    install(&ground);
    assert!(ground.run(&["uninstall", "claude"], b"").status.success());
    assert!(!ground.root.join(".claude/settings.json").exists());

    ground.file(".claude/settings.json", "{}\n");
    install(&ground);
    assert!(ground.run(&["uninstall", "claude"], b"").status.success());
    assert_eq!(settings(&ground), "{}\n", "this one is its author's");
}

#[test]
fn a_made_file_with_something_else_in_it_stays() {
    let ground = Ground::new();
    install(&ground);
    let more = settings(&ground).replacen('{', "{\n  \"model\": \"opus\",", 1);
    ground.file(".claude/settings.json", &more);
    assert!(ground.run(&["uninstall", "claude"], b"").status.success());
    assert!(settings(&ground).contains("opus"));
}

#[test]
fn a_byte_order_mark_stays() {
    let before = "\u{feff}{\n  \"model\": \"opus\"\n}\n";
    assert_eq!(there_and_back(before), before);
}

#[test]
fn below_a_project_it_is_the_projects_file() {
    let ground = Ground::new();
    ground.file(".git/HEAD", "");
    let sub = ground.root.join("sub");
    std::fs::create_dir_all(&sub).unwrap();
    let there = |args: &[&str]| {
        let output = ground.command(args).current_dir(&sub).output().unwrap();
        assert!(output.status.success(), "{}", text(&output.stderr));
    };
    there(&["install", "claude"]);
    assert!(ground.root.join(".claude/settings.json").exists());
    there(&["init", "omp"]);
    assert!(ground.root.join(".omp/tsconfig.json").exists());
    assert!(std::fs::read_dir(&sub).unwrap().next().is_none());
    there(&["install", "claude", "-C", "."]);
    assert!(sub.join(".claude/settings.json").exists(), "a folder that was named is meant");
}
