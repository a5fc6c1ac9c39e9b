//! Every hook found is listed, and every hook's fate is explained.

use crate::ground::{BASH_LS, Ground, text};

fn ground() -> Ground {
    let ground = Ground::new();
    ground.guard("true", 5);
    ground.file(".gambrel/hooks.yaml", "hooks:\n  on_iteration_complete:\n    - type: webhook\n      url: https://example.invalid/x\n      when: \"${ITERATION} == 2\"\n");
    ground.file(".iteratr.hooks.yml", "version: 1\nhooks:\n  pre_iteration:\n    - command: git status\n      pipe_output: true\n");
    ground.file(".omp/hooks/pre/guard.ts", "export default () => {}\n");
    ground
}

#[test]
fn the_list_has_the_fixed_shape() {
    let list = ground().json(&["list", "--json"]);
    let hooks = list.as_array().unwrap();
    assert_eq!(hooks.len(), 4, "{list}");
    for hook in hooks {
        for key in [
            "id",
            "dialect",
            "event",
            "moment",
            "matcher",
            "when",
            "action",
            "source",
            "scope",
            "trust",
            "shadowed_by",
        ] {
            assert!(hook.get(key).is_some(), "{key}: {hook}");
        }
    }
    let by = |dialect: &str| hooks.iter().find(|h| h["dialect"] == dialect).unwrap();
    assert_eq!(by("claude")["matcher"], "Bash");
    assert_eq!(by("unified")["when"], "${ITERATION} == 2");
    assert_eq!(by("unified")["action"], "webhook");
    assert_eq!(by("omp")["event"], "*");
    assert!(by("iteratr")["source"].as_str().unwrap().ends_with(".iteratr.hooks.yml:4"), "{list}");
}

#[test]
fn ids_stay_while_definition_and_place_do() {
    let ground = ground();
    let id = |g: &Ground| g.json(&["list", "--json"])[0]["id"].clone();
    let first = id(&ground);
    ground.file(".gambrel/hooks.yaml", "hooks: {}\n");
    assert_eq!(id(&ground), first);
    ground.guard("false", 5);
    assert_ne!(id(&ground), first);
}

#[test]
fn explain_runs_nothing_and_speaks_of_everybody() {
    let ground = ground();
    ground.guard("touch ran", 5);
    let output = ground.run(&["explain", "--from", "claude", "--json"], BASH_LS.as_bytes());
    let told: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let hooks = told["hooks"].as_array().unwrap();
    assert_eq!(hooks.len(), 4);
    assert_eq!(hooks[0]["runs"], true);
    assert!(hooks.iter().all(|h| !h["why"].as_str().unwrap().is_empty()), "{told}");
    assert!(!ground.root.join("ran").exists());
    let human = text(&ground.run(&["explain", "--from", "claude"], BASH_LS.as_bytes()).stdout);
    assert!(human.contains("matcher `Bash` is met"), "{human}");
}

#[test]
fn explain_says_when_a_rule_is_met_only_in_doubt() {
    let ground = Ground::new();
    let settings = r#"{"hooks":{"PreToolUse":[{"hooks":[
        {"type":"command","command":"true","if":"Bash(git *)"},
        {"type":"command","command":"false","if":"Bash(cat *)"}]}]}}"#;
    ground.file(".claude/settings.json", settings);
    let event = BASH_LS.replace("\"ls\"", r#""cat <<EOF\ngit push\nEOF""#);
    let output = ground.run(&["explain", "--from", "claude", "--json"], event.as_bytes());
    let told: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let why = "if `Bash(git *)`: met in doubt, because the command has a here-document";
    assert_eq!((&told["hooks"][0]["runs"], &told["hooks"][0]["why"]), (&true.into(), &why.into()));
    assert_eq!(told["hooks"][1]["why"], "it is for every such event");
    let human = text(&ground.run(&["explain", "--from", "claude"], event.as_bytes()).stdout);
    assert!(human.contains(why), "{human}");
}

#[test]
fn hooks_are_found_upwards_to_the_repository() {
    let ground = ground();
    std::fs::create_dir_all(ground.root.join(".git")).unwrap();
    std::fs::create_dir_all(ground.root.join("src/deep")).unwrap();
    let list = ground.json(&["-C", "src/deep", "list", "--json"]);
    let dialects: Vec<&str> =
        list.as_array().unwrap().iter().map(|h| h["dialect"].as_str().unwrap()).collect();
    // .iteratr.hooks.yml is read from the root only.
    assert_eq!(dialects, ["claude", "omp", "unified"]);
}

#[test]
fn an_empty_folder_says_so() {
    let ground = Ground::new();
    assert!(text(&ground.run(&["list"], b"").stdout).contains("no hooks"));
    assert_eq!(ground.json(&["list", "--json"]), serde_json::json!([]));
}

#[test]
fn what_a_hook_shows_while_it_runs_is_told() {
    let ground = Ground::new();
    let settings = r#"{"hooks":{"PreToolUse":[{"hooks":[{"type":"command","command":"true","statusMessage":"Looking it over"}]}]}}"#;
    ground.file(".claude/settings.json", settings);
    assert_eq!(ground.json(&["list", "--json"])[0]["status"], "Looking it over");
    let table = text(&ground.run(&["list"], b"").stdout);
    assert!(table.contains("Looking it over: true"), "{table}");
    let output = ground.run(&["explain", "--from", "claude", "--json"], BASH_LS.as_bytes());
    let told: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(told["hooks"][0]["status"], "Looking it over");
}

#[test]
fn only_what_runs_is_listed_as_a_shadow() {
    let ground = Ground::new();
    ground.file(".omp/hooks/pre/guard.ts", "export default () => {}\n");
    ground.file("../home/.omp/agent/hooks/pre/guard.ts", "export default () => {}\n");
    let shadow = |ground: &Ground| ground.json(&["list", "--json"])[1]["shadowed_by"].clone();
    let by = shadow(&ground);
    assert!(by.as_str().is_some_and(|by| by.ends_with("hooks/pre/guard.ts")), "{by}");
    assert!(shadow(&ground.with("GAMBREL_TRUST", "store")).is_null());
}

#[test]
fn team_hooks_that_are_switched_off_are_listed_with_the_reason() {
    let ground = Ground::new();
    let hooks = ground.script("team/on_task_completed.sh", "touch ran\n");
    let folder = hooks.parent().unwrap().to_string_lossy().into_owned();
    let ground = ground.with("PI_TEAMS_HOOKS_DIR", &folder);
    let why = "disabled: PI_TEAMS_HOOKS_ENABLED is not 1";
    let list = ground.json(&["list", "--json"]);
    assert_eq!((&list[0]["event"], &list[0]["idle"]), (&"task_completed".into(), &why.into()));
    assert_eq!(list[0]["runs"], false);
    let table = text(&ground.run(&["list"], b"").stdout);
    assert!(table.contains(why), "{table}");
    let event = br#"{"event":"task_completed","team":{"id":"a","dir":"/nowhere"},"task":null}"#;
    let told = text(&ground.run(&["explain", "--from", "teams"], event).stdout);
    assert!(told.contains("does not") && told.contains(why), "{told}");
    let list = ground.with("PI_TEAMS_HOOKS_ENABLED", "1").json(&["list", "--json"]);
    assert_eq!((&list[0]["idle"], &list[0]["runs"]), (&serde_json::Value::Null, &true.into()));
}
