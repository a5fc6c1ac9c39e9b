//! Only the user switches `isolate` on or off. It works for ordinary users and root. A hook that
//! cannot be isolated is not started, and is reported.

use std::process::Output;

use serde_json::Value;

use crate::test_project::{BASH_LS, TestProject, text};

/// Fires a gate whose hook records its process id, and reads it.
fn hook_pid(project: &TestProject) -> u32 {
    project.guard("echo $$ > number; :", 10);
    let output = project.run(&["fire", "--from", "claude"], BASH_LS.as_bytes());
    let number = std::fs::read_to_string(project.root.join("number"));
    number.unwrap_or_else(|_| panic!("{output:?}")).trim().parse().unwrap()
}

const CONFIG: &str = "../home/.config/gambrel/config.yaml";

#[test]
fn config_and_environment_switch_isolation() {
    assert_ne!(hook_pid(&TestProject::new()), 1, "it is off");
    assert_eq!(hook_pid(&TestProject::new().with("GAMBREL_ISOLATE", "1")), 1);
    let project = TestProject::new();
    project.file(CONFIG, "isolate: true\n");
    assert_eq!(hook_pid(&project), 1);
    let project = project.with("GAMBREL_ISOLATE", "0");
    assert_ne!(hook_pid(&project), 1, "the environment wins");
    let project = TestProject::new().with("GAMBREL_ISOLATE", "1");
    project.file(CONFIG, "isolate: false\n");
    assert_eq!(hook_pid(&project), 1, "the environment wins");
}

#[test]
fn a_mistake_in_the_config_does_not_switch_isolation_off() {
    for wrong in ["isolate: ture\n", "isolate: true\nmodel: {command: [\n"] {
        let project = TestProject::new();
        project.file(CONFIG, wrong);
        assert_eq!(hook_pid(&project), 1, "{wrong}");
        let checked = project.run(&["check"], b"");
        assert_eq!(checked.status.code(), Some(1), "{}", text(&checked.stdout));
        assert!(text(&checked.stdout).contains("config.yaml:"), "{}", text(&checked.stdout));
    }
    for off in ["isolate: false\n", "# isolate: true\n", "isolate:\n"] {
        let project = TestProject::new();
        project.file(CONFIG, off);
        assert_ne!(hook_pid(&project), 1, "{off}");
    }
}

#[test]
fn project_files_do_not_switch_isolation() {
    let write = |project: &TestProject, flag: &str| {
        for file in ["config.yaml", ".gambrel/config.yaml", ".config/gambrel/config.yaml"] {
            project.file(file, &format!("isolate: {flag}\n"));
        }
        let settings = serde_json::json!({"env": {"GAMBREL_ISOLATE": flag}, "isolate": flag});
        project.file(".claude/settings.local.json", &settings.to_string());
    };
    let project = TestProject::new();
    write(&project, "true");
    assert_ne!(hook_pid(&project), 1);
    let project = TestProject::new();
    project.file(CONFIG, "isolate: true\n");
    write(&project, "false");
    assert_eq!(hook_pid(&project), 1);
}

/// Runs `gambrel` under `unshare`. `None` if this machine allows no user namespaces.
fn run_under_unshare(
    project: &TestProject,
    options: &[&str],
    line: &str,
    args: &[&str],
) -> Option<Output> {
    let child = project.start_under_unshare(options, line, args)?;
    Some(child.wait_with_output().unwrap())
}

/// User and group ids stay the same, and hidden processes end.
#[test]
fn isolates_hooks_of_an_ordinary_user() {
    let project = TestProject::new().with("GAMBREL_ISOLATE", "1");
    let sleep = format!("1000.{}7", std::process::id());
    let hide = format!("(env -i setsid sleep {sleep} >/dev/null 2>&1 </dev/null &)");
    project.guard(&format!("{hide}; sleep 0.2; echo $$ $(id -u) $(id -g) >&2; exit 2"), 10);
    let ordinary = ["--user", "--map-user=1234", "--map-group=2345"];
    let fire = ["fire", "--from", "claude"];
    let Some(output) = run_under_unshare(&project, &ordinary, "", &fire) else { return };
    assert!(text(&output.stdout).contains("1 1234 2345"), "{output:?}");
    assert!(crate::test_project::processes_naming(std::path::Path::new(&sleep)).is_empty());
}

fn gate_project() -> TestProject {
    let project = TestProject::new().with("GAMBREL_ISOLATE", "1");
    project.guard("touch ran", 10);
    project
}

#[test]
fn reports_a_refused_namespace_and_starts_nothing() {
    let project = gate_project();
    let root = ["--user", "--map-root-user"];
    let none = "echo 0 > /proc/sys/user/max_pid_namespaces;";
    let why = "isolate: the kernel refuses a PID namespace: No space left";
    let json = ["fire", "--from", "claude", "--json"];
    let Some(output) = run_under_unshare(&project, &root, none, &json) else { return };
    let decision: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert!(decision.to_string().contains(why), "{decision}");
    // A new state folder: each session reports a failure once.
    let project = gate_project();
    let output = run_under_unshare(&project, &root, none, &["fire", "--from", "claude"]).unwrap();
    let reply: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert!(reply["systemMessage"].to_string().contains(why), "the user sees it: {reply}");
    let strict = ["fire", "--from", "claude", "--strict"];
    let output = run_under_unshare(&project, &root, none, &strict).unwrap();
    let reply: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(reply["hookSpecificOutput"]["permissionDecision"], "deny", "{reply}");
    assert!(!project.root.join("ran").exists());
    let output = run_under_unshare(&project, &root, none, &["doctor", "--json"]).unwrap();
    assert!(text(&output.stdout).contains(&format!("no hook starts here: {why}")), "{output:?}");
    let project = project.with("GAMBREL_ISOLATE", "0");
    run_under_unshare(&project, &root, none, &["fire", "--from", "claude"]).unwrap();
    assert!(project.root.join("ran").exists(), "without it the hook runs");
}

#[test]
fn doctor_reports_isolation() {
    let parts = TestProject::new().with("GAMBREL_ISOLATE", "1").json(&["doctor", "--json"]);
    let part = parts.as_array().unwrap().iter().find(|part| part["name"] == "processes").unwrap();
    let what = part["what"].as_str().unwrap();
    assert!(what.contains("isolate is on") || what.contains("no hook starts here"), "{what}");
}

/// Inside, `/proc` shows process ids of the host, which gambrel must not use.
#[test]
fn gambrel_works_inside_an_isolated_hook() {
    for inner in ["1", "0"] {
        let project = TestProject::new().with("GAMBREL_ISOLATE", "1").with_gambrel_on_path();
        project.file(
            "inner/.claude/settings.json",
            &serde_json::json!({"hooks": {"PreToolUse": [
                {"hooks": [{"type": "command", "command": "sleep 1000; sleep 1000", "timeout": 1}]},
                {"hooks": [{"type": "command", "command": "echo inner >&2; exit 2"}]},
            ]}})
            .to_string(),
        );
        // In a script, because an entry that calls gambrel is no hook.
        let line = format!("GAMBREL_ISOLATE={inner} gambrel -C inner fire --from claude");
        project.script("nested.sh", &format!("#!/bin/sh\n{line}\n"));
        project.guard("./nested.sh", 20);
        let begun = std::time::Instant::now();
        let output = project.run(&["fire", "--from", "claude"], BASH_LS.as_bytes());
        assert!(text(&output.stdout).contains("inner"), "{output:?}");
        assert!(begun.elapsed() < std::time::Duration::from_secs(6), "{:?}", begun.elapsed());
    }
}
