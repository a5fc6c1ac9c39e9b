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
    let ground = Ground::new().with_gambrel_on_path();
    ground.file(".claude/settings.json", SETTINGS);
    install(&ground);
    let after = settings(&ground);
    for kept in ["// my settings", "/* keep */", "// my guard", "./guard.sh", "Read(.env)"] {
        assert!(after.contains(kept), "{kept}: {after}");
    }
    assert!(after.find("\"model\"") < after.find("\"hooks\""));
    assert!(after.contains("fire --from claude --hosted"));
    assert_eq!(after.matches("fire --from claude").count(), 9, "{after}");
    assert!(!after.contains("WorktreeCreate"), "it would break the host's own way");
}

#[test]
fn a_second_time_changes_nothing() {
    let ground = Ground::new().with_gambrel_on_path();
    ground.file(".claude/settings.json", SETTINGS);
    install(&ground);
    let once = settings(&ground);
    install(&ground);
    assert_eq!(settings(&ground), once);
}

#[test]
fn uninstalling_leaves_the_rest() {
    let ground = Ground::new().with_gambrel_on_path();
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
    let ground = Ground::new().with_gambrel_on_path();
    install(&ground);
    let made: serde_json::Value = serde_json::from_str(&settings(&ground)).unwrap();
    let gate = &made["hooks"]["PreToolUse"][0]["hooks"][0];
    assert_eq!(gate["onFailure"], "block");
    assert_eq!(gate["timeout"], 600);
    let prompt = &made["hooks"]["UserPromptSubmit"][0]["hooks"][0];
    assert_eq!(prompt["timeout"], 30);
    assert_eq!(prompt["command"], "gambrel fire --from claude --hosted");
    assert!(prompt.get("onFailure").is_none(), "a missing gambrel must not erase prompts");
}

#[test]
fn for_the_user_it_goes_home() {
    let ground = Ground::new().with_gambrel_on_path();
    assert!(ground.run(&["install", "claude", "--user"], b"").status.success());
    assert!(ground.base.join("home/.claude/settings.json").exists());
    assert!(!ground.root.join(".claude").exists());
}

#[test]
fn a_file_that_is_not_json_is_left_alone() {
    let ground = Ground::new().with_gambrel_on_path();
    ground.file(".claude/settings.json", "{ not json");
    let output = ground.run(&["install", "claude"], b"");
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(settings(&ground), "{ not json");
}

#[test]
fn what_it_writes_loads_without_complaint_and_does_not_call_itself() {
    let ground = Ground::new().with_gambrel_on_path();
    install(&ground);
    let told = ground.json(&["check", "--json"]);
    assert_eq!(told["complaints"], serde_json::json!([]), "{told}");
    for command in [["list", "--json"], ["trust", "--json"]] {
        assert_eq!(ground.json(&command), serde_json::json!([]), "gambrel's entries are no hooks");
    }
    let event = crate::ground::BASH_LS.as_bytes();
    let explained = ground.run(&["explain", "--from", "claude", "--json"], event);
    assert!(text(&explained.stdout).contains("\"hooks\":[]"), "{}", text(&explained.stdout));
}

#[test]
fn the_plugin_folder_has_the_same_entries() {
    let ground = Ground::new().with_gambrel_on_path();
    assert!(ground.run(&["install", "claude", "--all-events"], b"").status.success());
    let installed: serde_json::Value = serde_json::from_str(&settings(&ground)).unwrap();
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
fn a_file_without_other_hooks_is_as_it_was() {
    for before in
        ["{\"a\":1}\n", "{\n  // mine\n  \"a\": 1\n}\n", "{\"hooks\":{\"Stop\":[]},\"b\":2}\n"]
    {
        let ground = Ground::new().with_gambrel_on_path();
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
    let ground = Ground::new().with_gambrel_on_path();
    let own = r#"{"hooks":{"Stop":[{"hooks":[{"type":"command","command":"gambrel fire --from claude --only omp"}]}]}}"#;
    let path = ground.file(".claude/settings.json", own);
    ground.run(&["install", "claude"], b"");
    ground.run(&["uninstall", "claude"], b"");
    assert!(std::fs::read_to_string(path).unwrap().contains("--only omp"));
}

/// A settings file after installing and uninstalling.
fn there_and_back(before: &str) -> String {
    let ground = Ground::new().with_gambrel_on_path();
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
}

#[test]
fn an_untouched_file_comes_back_byte_for_byte() {
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
        assert_eq!(there_and_back(before), before, "{before:?}");
    }
}

#[test]
fn installing_in_two_steps_comes_back_too() {
    let ground = Ground::new().with_gambrel_on_path();
    let before = "{\"model\":\"opus\"}";
    ground.file(".claude/settings.json", before);
    install(&ground);
    assert!(ground.run(&["install", "claude", "--all-events"], b"").status.success());
    assert!(settings(&ground).contains("MessageDisplay"));
    assert!(ground.run(&["uninstall", "claude"], b"").status.success());
    assert_eq!(settings(&ground), before);
}

#[test]
fn install_record_contains_no_settings() {
    let ground = Ground::new().with_gambrel_on_path();
    ground.file(".claude/settings.json", "{\"env\":{\"TOKEN\":\"canary\"}}");
    install(&ground);
    let noted = std::fs::read_to_string(ground.base.join("state/installed.json")).unwrap();
    assert!(noted.contains("restore") && !noted.contains("canary") && !noted.contains("TOKEN"));
}

#[test]
fn a_file_that_was_made_is_taken_away() {
    let ground = Ground::new().with_gambrel_on_path();
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
    let ground = Ground::new().with_gambrel_on_path();
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
    let ground = Ground::new().with_gambrel_on_path();
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
