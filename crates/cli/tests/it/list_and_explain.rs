//! `list` shows every hook, and `explain` gives the reason why each hook runs or not.

use crate::test_project::{BASH_LS, TestProject, text};

fn project_with_four_hooks() -> TestProject {
    let project = TestProject::new();
    project.guard("true", 5);
    project.file(".gambrel/hooks.yaml", "hooks:\n  on_iteration_complete:\n    - type: webhook\n      url: https://example.invalid/x\n      when: \"${ITERATION} == 2\"\n");
    project.file(".iteratr.hooks.yml", "version: 1\nhooks:\n  pre_iteration:\n    - command: git status\n      pipe_output: true\n");
    project.file(".omp/hooks/pre/guard.ts", "export default () => {}\n");
    project
}

#[test]
fn lists_hooks_with_all_fields() {
    let list = project_with_four_hooks().json(&["list", "--json"]);
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
fn keeps_ids_of_unchanged_hooks() {
    let project = project_with_four_hooks();
    let id = |g: &TestProject| g.json(&["list", "--json"])[0]["id"].clone();
    let first = id(&project);
    project.file(".gambrel/hooks.yaml", "hooks: {}\n");
    assert_eq!(id(&project), first);
    project.guard("false", 5);
    assert_ne!(id(&project), first);
}

#[test]
fn explains_every_hook_without_running() {
    let project = project_with_four_hooks();
    project.guard("touch ran", 5);
    let output = project.run(&["explain", "--from", "claude", "--json"], BASH_LS.as_bytes());
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let hooks = report["hooks"].as_array().unwrap();
    assert_eq!(hooks.len(), 4);
    assert_eq!(hooks[0]["runs"], true);
    assert!(hooks.iter().all(|h| !h["why"].as_str().unwrap().is_empty()), "{report}");
    assert!(!project.root.join("ran").exists());
    let human = text(&project.run(&["explain", "--from", "claude"], BASH_LS.as_bytes()).stdout);
    assert!(human.contains("matcher `Bash` matches"), "{human}");
}

#[test]
fn explains_uncertain_rule_matches() {
    let project = TestProject::new();
    let settings = r#"{"hooks":{"PreToolUse":[{"hooks":[
        {"type":"command","command":"true","if":"Bash(git *)"},
        {"type":"command","command":"false","if":"Bash(cat *)"}]}]}}"#;
    project.file(".claude/settings.json", settings);
    let event = BASH_LS.replace("\"ls\"", r#""cat <<EOF\ngit push\nEOF""#);
    let output = project.run(&["explain", "--from", "claude", "--json"], event.as_bytes());
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let why = "if `Bash(git *)`: met in doubt, because the command has a here-document";
    assert_eq!(
        (&report["hooks"][0]["runs"], &report["hooks"][0]["why"]),
        (&true.into(), &why.into())
    );
    assert_eq!(report["hooks"][1]["why"], "no matcher: runs for every such event");
    let human = text(&project.run(&["explain", "--from", "claude"], event.as_bytes()).stdout);
    assert!(human.contains(why), "{human}");
}

#[test]
fn hooks_are_found_upwards_to_the_repository() {
    let project = project_with_four_hooks();
    std::fs::create_dir_all(project.root.join(".git")).unwrap();
    std::fs::create_dir_all(project.root.join("src/deep")).unwrap();
    let list = project.json(&["-C", "src/deep", "list", "--json"]);
    let dialects: Vec<&str> =
        list.as_array().unwrap().iter().map(|h| h["dialect"].as_str().unwrap()).collect();
    // .iteratr.hooks.yml is read from the root only.
    assert_eq!(dialects, ["claude", "omp", "unified"]);
}

#[test]
fn reports_a_folder_without_hooks() {
    let project = TestProject::new();
    assert!(text(&project.run(&["list"], b"").stdout).contains("no hooks"));
    assert_eq!(project.json(&["list", "--json"]), serde_json::json!([]));
}

#[test]
fn shows_the_status_message() {
    let project = TestProject::new();
    let settings = r#"{"hooks":{"PreToolUse":[{"hooks":[{"type":"command","command":"true","statusMessage":"Looking it over"}]}]}}"#;
    project.file(".claude/settings.json", settings);
    assert_eq!(project.json(&["list", "--json"])[0]["status"], "Looking it over");
    let table = text(&project.run(&["list"], b"").stdout);
    assert!(table.contains("Looking it over: true"), "{table}");
    let output = project.run(&["explain", "--from", "claude", "--json"], BASH_LS.as_bytes());
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(report["hooks"][0]["status"], "Looking it over");
}

#[test]
fn lists_only_running_hooks_as_replacements() {
    let project = TestProject::new();
    project.file(".omp/hooks/pre/guard.ts", "export default () => {}\n");
    project.file("../home/.omp/agent/hooks/pre/guard.ts", "export default () => {}\n");
    let shadow =
        |project: &TestProject| project.json(&["list", "--json"])[1]["shadowed_by"].clone();
    let by = shadow(&project);
    assert!(by.as_str().is_some_and(|by| by.ends_with("hooks/pre/guard.ts")), "{by}");
    assert!(shadow(&project.with("GAMBREL_TRUST", "store")).is_null());
}

#[test]
fn team_hooks_that_are_switched_off_are_listed_with_the_reason() {
    let project = TestProject::new();
    let hooks = project.script("team/on_task_completed.sh", "touch ran\n");
    let folder = hooks.parent().unwrap().to_string_lossy().into_owned();
    let project = project.with("PI_TEAMS_HOOKS_DIR", &folder);
    let why = "disabled: PI_TEAMS_HOOKS_ENABLED is not 1";
    let list = project.json(&["list", "--json"]);
    assert_eq!((&list[0]["event"], &list[0]["idle"]), (&"task_completed".into(), &why.into()));
    assert_eq!(list[0]["runs"], false);
    let table = text(&project.run(&["list"], b"").stdout);
    assert!(table.contains(why), "{table}");
    let event = br#"{"event":"task_completed","team":{"id":"a","dir":"/nowhere"},"task":null}"#;
    let printed = text(&project.run(&["explain", "--from", "teams"], event).stdout);
    assert!(printed.contains("skip ") && printed.contains(why), "{printed}");
    let list = project.with("PI_TEAMS_HOOKS_ENABLED", "1").json(&["list", "--json"]);
    assert_eq!((&list[0]["idle"], &list[0]["runs"]), (&serde_json::Value::Null, &true.into()));
}
