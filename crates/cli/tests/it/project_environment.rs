//! `GAMBREL_TRUST` and moved state folders are reported. Variables that the project's own files set
//! are ignored.

use std::path::Path;

use serde_json::{Value, json};

use crate::test_project::{BASH_LS, TestProject, text};

const START: &str = r#"{"hook_event_name":"SessionStart","session_id":"s","source":"startup"}"#;

/// A project with an untrusted hook.
fn untrusted_project() -> TestProject {
    let project = TestProject::new();
    project.guard("echo ran >&2; exit 2", 5);
    project
}

fn system_message(project: &TestProject, event: &str) -> String {
    let output = project.run(&["fire", "--from", "claude"], event.as_bytes());
    let reply: Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
    reply["systemMessage"].as_str().unwrap_or_default().to_owned()
}

#[test]
fn trust_by_the_environment_is_shown_and_recorded() {
    let project = untrusted_project();
    assert_eq!(project.decide("claude", BASH_LS)["ruling"], "deny", "it still allows the hook");
    let shown = "GAMBREL_TRUST=all lets every hook of this project run";
    let doctor = text(&project.run(&["doctor"], b"").stdout);
    assert!(doctor.contains(shown), "{doctor}");
    let list = text(&project.run(&["list"], b"").stdout);
    assert!(list.contains(shown), "{list}");
    assert_eq!(project.json(&["list", "--json"])[0]["trusted_by"], "GAMBREL_TRUST=all");
    let notice = "GAMBREL_TRUST=all is set, so the 1 hook of this project may run, trusted or not";
    assert!(system_message(&project, START).contains(notice));
    assert!(!system_message(&project, START).contains(notice), "once in a session");
    let firing: Value = {
        let log = text(&project.run(&["log", "--json", "-n", "1"], b"").stdout);
        serde_json::from_str(log.lines().last().unwrap()).unwrap()
    };
    let id = firing["id"].as_str().unwrap();
    let shown = text(&project.run(&["show", id, "--json"], b"").stdout);
    assert!(shown.contains("\"trusts_all_by\""), "{shown}");
    assert!(shown.contains("GAMBREL_TRUST=all"), "{shown}");
}

#[test]
fn reports_no_trust_by_option_or_store() {
    let project = untrusted_project().with("GAMBREL_TRUST", "store");
    let by_option = ["fire", "--from", "claude", "--trust", "all"];
    let reply = text(&project.run(&by_option, START.as_bytes()).stdout);
    assert!(!reply.contains("may run, trusted or not"), "{reply}");
    assert!(!system_message(&project, START).contains("may run, trusted or not"));
    let other = TestProject::new();
    assert_eq!(system_message(&other, START), "", "the project has no hooks");
}

/// Project files that set a variable.
fn env_files(name: &str, value: &str) -> Vec<(&'static str, String)> {
    let settings = json!({"env": {name: value}}).to_string();
    vec![
        (".claude/settings.local.json", settings),
        (".env", format!("OTHER=1\n{name}={value}\n")),
        (".env", format!("{name}=\"{value}\" # why\n")),
        (".envrc", format!("use nix\nexport {name}='{value}'\n")),
        (".envrc", format!("export X=1 {name}=$(printf %s '{value}')\n")),
    ]
}

#[test]
fn ignores_variables_set_by_project_files() {
    for (file, content) in env_files("GAMBREL_TRUST", "all") {
        let project = untrusted_project();
        project.file(file, &content);
        let decision = project.decide("claude", BASH_LS);
        assert_eq!(decision["ruling"], "silent", "{file}: {decision}");
        let notice = "sets `GAMBREL_TRUST`, so gambrel ignores this variable";
        let first = system_message(&project, &BASH_LS.replace("\"s\"", "\"other\""));
        assert!(first.contains(notice) && first.contains(file), "{file}: {first}");
        let again = system_message(&project, &BASH_LS.replace("\"s\"", "\"other\""));
        assert!(!again.contains(notice), "once in a session: {again}");
        let doctor = text(&project.run(&["doctor"], b"").stdout);
        assert!(doctor.contains("GAMBREL_TRUST"), "{doctor}");
    }
}

#[test]
fn accepts_a_value_that_differs_from_the_projects() {
    let project = untrusted_project();
    project.file(".env", "GAMBREL_TRUST=none\n");
    project.file(".envrc", "# GAMBREL_TRUST=all\n");
    assert_eq!(project.decide("claude", BASH_LS)["ruling"], "deny");
}

/// Otherwise a project could supply its own trust store and user hooks.
#[test]
fn ignores_a_home_set_by_the_project() {
    for name in ["HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME"] {
        let project = TestProject::new().with("GAMBREL_TRUST", "store");
        let folder = project.base.join("brought");
        let home = project.base.join("brought/gambrel");
        std::fs::create_dir_all(&home).unwrap();
        let project = project.with(name, &folder.to_string_lossy());
        let listed = || text(&project.run(&["list"], b"").stderr);
        assert!(!listed().contains("ignores"), "{name}: {}", listed());
        project.file(".env", &format!("{name}={}\n", folder.display()));
        let notice = format!("sets `{name}`, so gambrel ignores this variable");
        assert!(listed().contains(&notice), "{name}: {}", listed());
    }
}

#[test]
fn treats_unreadable_env_files_as_setting_the_variable() {
    let project = untrusted_project();
    let made = std::process::Command::new("mkfifo").arg(project.root.join(".env")).status();
    assert!(made.unwrap().success());
    assert_eq!(project.decide("claude", BASH_LS)["ruling"], "silent", "its contents are unknown");
    let project = untrusted_project();
    let large = project.file(".claude/settings.local.json", "{}");
    let large = std::fs::OpenOptions::new().write(true).open(large).unwrap();
    large.set_len(9 * 1024 * 1024).unwrap();
    assert_eq!(
        project.decide("claude", BASH_LS)["ruling"],
        "silent",
        "a file above the size limit is unknown too"
    );
    let project = untrusted_project();
    std::fs::create_dir(project.root.join(".env")).unwrap();
    assert_eq!(project.decide("claude", BASH_LS)["ruling"], "deny", "a folder sets nothing");
}

#[test]
fn a_state_folder_inside_the_project_is_refused() {
    let inside =
        |project: &TestProject| project.root.join("sub/state").to_string_lossy().into_owned();
    let link = |project: &TestProject| {
        std::fs::create_dir_all(project.root.join("real")).unwrap();
        let link = project.base.join("link");
        std::os::unix::fs::symlink(project.root.join("real"), &link).unwrap();
        link.to_string_lossy().into_owned()
    };
    type Place<'p> = &'p dyn Fn(&TestProject) -> String;
    let places: [(&str, Place<'_>); 4] = [
        ("GAMBREL_STATE_DIR", &inside),
        ("GAMBREL_STATE_DIR", &link),
        ("GAMBREL_STATE_DIR", &|_| "state".to_owned()),
        ("XDG_STATE_HOME", &inside),
    ];
    for (name, place) in places {
        let mut project = untrusted_project();
        project.env.retain(|(known, _)| known != "GAMBREL_STATE_DIR");
        let place = place(&project);
        let project = project.with(name, &place);
        for args in [&["fire", "--from", "claude"][..], &["list"], &["trust", "--all", "--yes"]] {
            let output = project.run(args, BASH_LS.as_bytes());
            assert_eq!(output.status.code(), Some(64), "{name}={place} {args:?}");
            assert!(text(&output.stderr).contains("inside the project"), "{output:?}");
        }
        let hosted = ["fire", "--from", "claude", "--hosted", "--event", "PreToolUse"];
        let output = project.run(&hosted, BASH_LS.as_bytes());
        let reply: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(reply["hookSpecificOutput"]["permissionDecision"], "deny", "{reply}");
        assert_eq!(output.status.code(), Some(0));
        let permission = BASH_LS.replace("PreToolUse", "PermissionRequest");
        let hosted = ["fire", "--from", "claude", "--hosted", "--event", "PermissionRequest"];
        let reply = text(&project.run(&hosted, permission.as_bytes()).stdout);
        assert!(reply.contains("\"deny\""), "{reply}");
        let hosted = ["fire", "--from", "claude", "--hosted", "--event", "SessionStart"];
        assert_eq!(project.run(&hosted, START.as_bytes()).status.code(), Some(64));
        assert!(!Path::new(&place).join("gambrel").exists());
    }
}

#[test]
fn accepts_the_default_state_folder_inside_a_project() {
    // A home inside the project, or a project that is the home.
    let mut project = untrusted_project();
    project.env.retain(|(name, _)| name != "GAMBREL_STATE_DIR");
    let home = project.root.join("home");
    std::fs::create_dir_all(&home).unwrap();
    let project = project.with("HOME", &home.to_string_lossy());
    assert_eq!(project.decide("claude", BASH_LS)["ruling"], "deny");
    let state = home.join(".local/state");
    let project = project.with("XDG_STATE_HOME", &state.to_string_lossy());
    assert_eq!(project.decide("claude", BASH_LS)["ruling"], "deny");
    let root = project.root.to_string_lossy().into_owned();
    let project = project.with("HOME", &root).with("XDG_STATE_HOME", &format!("{root}/s"));
    assert_eq!(project.run(&["list"], b"").status.code(), Some(0), "the home is no project");
}
