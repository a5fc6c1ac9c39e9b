//! What lets hooks run unseen is shown, and what a project's own files put into the environment
//! does not count.

use std::path::Path;

use serde_json::{Value, json};

use crate::ground::{BASH_LS, Ground, text};

const START: &str = r#"{"hook_event_name":"SessionStart","session_id":"s","source":"startup"}"#;

/// A project with a hook that nobody trusted.
fn untrusted() -> Ground {
    let ground = Ground::new();
    ground.guard("echo ran >&2; exit 2", 5);
    ground
}

fn message(ground: &Ground, event: &str) -> String {
    let output = ground.run(&["fire", "--from", "claude"], event.as_bytes());
    let reply: Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
    reply["systemMessage"].as_str().unwrap_or_default().to_owned()
}

#[test]
fn trust_by_the_environment_is_shown_and_recorded() {
    let ground = untrusted();
    assert_eq!(ground.decide("claude", BASH_LS)["ruling"], "deny", "it keeps its meaning");
    let shown = "GAMBREL_TRUST=all lets every hook of this project run";
    let doctor = text(&ground.run(&["doctor"], b"").stdout);
    assert!(doctor.contains(shown), "{doctor}");
    let list = text(&ground.run(&["list"], b"").stdout);
    assert!(list.contains(shown), "{list}");
    assert_eq!(ground.json(&["list", "--json"])[0]["trusted_by"], "GAMBREL_TRUST=all");
    let told = "GAMBREL_TRUST=all is set, so the 1 hook of this project may run, trusted or not";
    assert!(message(&ground, START).contains(told));
    assert!(!message(&ground, START).contains(told), "once in a session");
    let firing: Value = {
        let log = text(&ground.run(&["log", "--json", "-n", "1"], b"").stdout);
        serde_json::from_str(log.lines().last().unwrap()).unwrap()
    };
    let id = firing["id"].as_str().unwrap();
    let shown = text(&ground.run(&["show", id, "--json"], b"").stdout);
    assert!(shown.contains("\"trusts_all_by\""), "{shown}");
    assert!(shown.contains("GAMBREL_TRUST=all"), "{shown}");
}

#[test]
fn reports_no_trust_by_option_or_store() {
    let ground = untrusted().with("GAMBREL_TRUST", "store");
    let by_option = ["fire", "--from", "claude", "--trust", "all"];
    let reply = text(&ground.run(&by_option, START.as_bytes()).stdout);
    assert!(!reply.contains("may run, trusted or not"), "{reply}");
    assert!(!message(&ground, START).contains("may run, trusted or not"));
    let other = Ground::new();
    assert_eq!(message(&other, START), "", "nothing runs by it here");
}

/// Files by which a project sets a variable.
fn setters(name: &str, value: &str) -> Vec<(&'static str, String)> {
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
fn a_variable_that_the_project_sets_is_ignored() {
    for (file, content) in setters("GAMBREL_TRUST", "all") {
        let ground = untrusted();
        ground.file(file, &content);
        let decision = ground.decide("claude", BASH_LS);
        assert_eq!(decision["ruling"], "silent", "{file}: {decision}");
        let told = "sets `GAMBREL_TRUST`, so gambrel ignores this variable";
        let first = message(&ground, &BASH_LS.replace("\"s\"", "\"other\""));
        assert!(first.contains(told) && first.contains(file), "{file}: {first}");
        let again = message(&ground, &BASH_LS.replace("\"s\"", "\"other\""));
        assert!(!again.contains(told), "once in a session: {again}");
        let doctor = text(&ground.run(&["doctor"], b"").stdout);
        assert!(doctor.contains("GAMBREL_TRUST"), "{doctor}");
    }
}

#[test]
fn another_value_than_the_projects_counts() {
    let ground = untrusted();
    ground.file(".env", "GAMBREL_TRUST=none\n");
    ground.file(".envrc", "# GAMBREL_TRUST=all\n");
    assert_eq!(ground.decide("claude", BASH_LS)["ruling"], "deny");
}

/// A project that moves the home could bring a trust store and hooks of the user along.
#[test]
fn a_home_that_the_project_sets_is_not_the_users() {
    for name in ["HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME"] {
        let ground = Ground::new().with("GAMBREL_TRUST", "store");
        let folder = ground.base.join("brought");
        let home = ground.base.join("brought/gambrel");
        std::fs::create_dir_all(&home).unwrap();
        let ground = ground.with(name, &folder.to_string_lossy());
        let listed = || text(&ground.run(&["list"], b"").stderr);
        assert!(!listed().contains("ignores"), "{name}: {}", listed());
        ground.file(".env", &format!("{name}={}\n", folder.display()));
        let told = format!("sets `{name}`, so gambrel ignores this variable");
        assert!(listed().contains(&told), "{name}: {}", listed());
    }
}

#[test]
fn odd_files_cost_nothing_and_hide_nothing() {
    let ground = untrusted();
    let made = std::process::Command::new("mkfifo").arg(ground.root.join(".env")).status();
    assert!(made.unwrap().success());
    assert_eq!(ground.decide("claude", BASH_LS)["ruling"], "silent", "nobody knows what it sets");
    let ground = untrusted();
    let large = ground.file(".claude/settings.local.json", "{}");
    let large = std::fs::OpenOptions::new().write(true).open(large).unwrap();
    large.set_len(9 * 1024 * 1024).unwrap();
    assert_eq!(ground.decide("claude", BASH_LS)["ruling"], "silent", "nor this one");
    let ground = untrusted();
    std::fs::create_dir(ground.root.join(".env")).unwrap();
    assert_eq!(ground.decide("claude", BASH_LS)["ruling"], "deny", "a folder sets nothing");
}

#[test]
fn a_state_folder_inside_the_project_is_refused() {
    let inside = |ground: &Ground| ground.root.join("sub/state").to_string_lossy().into_owned();
    let link = |ground: &Ground| {
        std::fs::create_dir_all(ground.root.join("real")).unwrap();
        let link = ground.base.join("link");
        std::os::unix::fs::symlink(ground.root.join("real"), &link).unwrap();
        link.to_string_lossy().into_owned()
    };
    type Place<'p> = &'p dyn Fn(&Ground) -> String;
    let places: [(&str, Place<'_>); 4] = [
        ("GAMBREL_STATE_DIR", &inside),
        ("GAMBREL_STATE_DIR", &link),
        ("GAMBREL_STATE_DIR", &|_| "state".to_owned()),
        ("XDG_STATE_HOME", &inside),
    ];
    for (name, place) in places {
        let mut ground = untrusted();
        ground.env.retain(|(known, _)| known != "GAMBREL_STATE_DIR");
        let place = place(&ground);
        let ground = ground.with(name, &place);
        for args in [&["fire", "--from", "claude"][..], &["list"], &["trust", "--all", "--yes"]] {
            let output = ground.run(args, BASH_LS.as_bytes());
            assert_eq!(output.status.code(), Some(64), "{name}={place} {args:?}");
            assert!(text(&output.stderr).contains("inside the project"), "{output:?}");
        }
        let hosted = ["fire", "--from", "claude", "--hosted", "--event", "PreToolUse"];
        let output = ground.run(&hosted, BASH_LS.as_bytes());
        let reply: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(reply["hookSpecificOutput"]["permissionDecision"], "deny", "{reply}");
        assert_eq!(output.status.code(), Some(0));
        let permission = BASH_LS.replace("PreToolUse", "PermissionRequest");
        let hosted = ["fire", "--from", "claude", "--hosted", "--event", "PermissionRequest"];
        let reply = text(&ground.run(&hosted, permission.as_bytes()).stdout);
        assert!(reply.contains("\"deny\""), "{reply}");
        let hosted = ["fire", "--from", "claude", "--hosted", "--event", "SessionStart"];
        assert_eq!(ground.run(&hosted, START.as_bytes()).status.code(), Some(64));
        assert!(!Path::new(&place).join("gambrel").exists());
    }
}

#[test]
fn the_default_place_below_the_home_is_never_refused() {
    // A home inside the project, or a project that is the home.
    let mut ground = untrusted();
    ground.env.retain(|(name, _)| name != "GAMBREL_STATE_DIR");
    let home = ground.root.join("home");
    std::fs::create_dir_all(&home).unwrap();
    let ground = ground.with("HOME", &home.to_string_lossy());
    assert_eq!(ground.decide("claude", BASH_LS)["ruling"], "deny");
    let state = home.join(".local/state");
    let ground = ground.with("XDG_STATE_HOME", &state.to_string_lossy());
    assert_eq!(ground.decide("claude", BASH_LS)["ruling"], "deny");
    let root = ground.root.to_string_lossy().into_owned();
    let ground = ground.with("HOME", &root).with("XDG_STATE_HOME", &format!("{root}/s"));
    assert_eq!(ground.run(&["list"], b"").status.code(), Some(0), "the home is no project");
}
