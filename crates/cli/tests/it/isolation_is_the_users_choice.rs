//! `isolate` is switched on and off by the user only, holds for ordinary users as for root, and a
//! hook that cannot have it is not started, which is told.

use std::process::{Command, Output, Stdio};

use serde_json::Value;

use crate::ground::{BASH_LS, Ground, text};

/// Fires a gate whose hook leaves its own number in a file, and reads that.
fn number_of_hook(ground: &Ground) -> u32 {
    ground.guard("echo $$ > number; :", 10);
    let output = ground.run(&["fire", "--from", "claude"], BASH_LS.as_bytes());
    let number = std::fs::read_to_string(ground.root.join("number"));
    number.unwrap_or_else(|_| panic!("{output:?}")).trim().parse().unwrap()
}

const CONFIG: &str = "../home/.config/gambrel/config.yaml";

#[test]
fn the_users_file_and_environment_switch_it() {
    assert_ne!(number_of_hook(&Ground::new()), 1, "it is off");
    assert_eq!(number_of_hook(&Ground::new().with("GAMBREL_ISOLATE", "1")), 1);
    let ground = Ground::new();
    ground.file(CONFIG, "isolate: true\n");
    assert_eq!(number_of_hook(&ground), 1);
    let ground = ground.with("GAMBREL_ISOLATE", "0");
    assert_ne!(number_of_hook(&ground), 1, "the environment wins");
    let ground = Ground::new().with("GAMBREL_ISOLATE", "1");
    ground.file(CONFIG, "isolate: false\n");
    assert_eq!(number_of_hook(&ground), 1, "the environment wins");
}

#[test]
fn a_mistake_in_the_users_file_does_not_switch_it_off() {
    for wrong in ["isolate: ture\n", "isolate: true\nmodel: {command: [\n"] {
        let ground = Ground::new();
        ground.file(CONFIG, wrong);
        assert_eq!(number_of_hook(&ground), 1, "{wrong}");
        let checked = ground.run(&["check"], b"");
        assert_eq!(checked.status.code(), Some(1), "{}", text(&checked.stdout));
        assert!(text(&checked.stdout).contains("config.yaml:"), "{}", text(&checked.stdout));
    }
    for off in ["isolate: false\n", "# isolate: true\n", "isolate:\n"] {
        let ground = Ground::new();
        ground.file(CONFIG, off);
        assert_ne!(number_of_hook(&ground), 1, "{off}");
    }
}

#[test]
fn no_file_of_a_project_switches_it() {
    let write = |ground: &Ground, flag: &str| {
        for file in ["config.yaml", ".gambrel/config.yaml", ".config/gambrel/config.yaml"] {
            ground.file(file, &format!("isolate: {flag}\n"));
        }
        let settings = serde_json::json!({"env": {"GAMBREL_ISOLATE": flag}, "isolate": flag});
        ground.file(".claude/settings.local.json", &settings.to_string());
    };
    let ground = Ground::new();
    write(&ground, "true");
    assert_ne!(number_of_hook(&ground), 1);
    let ground = Ground::new();
    ground.file(CONFIG, "isolate: true\n");
    write(&ground, "false");
    assert_eq!(number_of_hook(&ground), 1);
}

/// Runs `gambrel` under `unshare` with these options, after a line of shell; `None` where this
/// machine makes no user namespaces.
fn under(ground: &Ground, options: &[&str], line: &str, args: &[&str]) -> Option<Output> {
    let made = Command::new("unshare").args(options).arg("true").status();
    if !made.is_ok_and(|status| status.success()) {
        eprintln!("SKIPPED: `unshare {}` does not work here", options.join(" "));
        return None;
    }
    let mut command = Command::new("unshare");
    command.args(options).args(["sh", "-c", &format!("{line} exec \"$@\""), "sh"]);
    command.arg(env!("CARGO_BIN_EXE_gambrel")).args(args).current_dir(&ground.root);
    command.env_clear().envs(ground.env.clone());
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let event = BASH_LS.as_bytes();
    std::io::Write::write_all(&mut child.stdin.take().unwrap(), event).unwrap();
    Some(child.wait_with_output().unwrap())
}

/// The user's own numbers stay, and what hides ends all the same.
#[test]
fn an_ordinary_user_gets_it_by_a_user_namespace() {
    let ground = Ground::new().with("GAMBREL_ISOLATE", "1");
    let sleep = format!("1000.{}7", std::process::id());
    let hide = format!("(env -i setsid sleep {sleep} >/dev/null 2>&1 </dev/null &)");
    ground.guard(&format!("{hide}; sleep 0.2; echo $$ $(id -u) $(id -g) >&2; exit 2"), 10);
    let ordinary = ["--user", "--map-user=1234", "--map-group=2345"];
    let fire = ["fire", "--from", "claude"];
    let Some(output) = under(&ground, &ordinary, "", &fire) else { return };
    assert!(text(&output.stdout).contains("1 1234 2345"), "{output:?}");
    assert!(crate::ground::processes_naming(std::path::Path::new(&sleep)).is_empty());
}

fn refused_gate() -> Ground {
    let ground = Ground::new().with("GAMBREL_ISOLATE", "1");
    ground.guard("touch ran", 10);
    ground
}

#[test]
fn reports_a_refused_namespace_and_starts_nothing() {
    let ground = refused_gate();
    let root = ["--user", "--map-root-user"];
    let none = "echo 0 > /proc/sys/user/max_pid_namespaces;";
    let why = "isolate: the kernel refuses a PID namespace: No space left";
    let json = ["fire", "--from", "claude", "--json"];
    let Some(output) = under(&ground, &root, none, &json) else { return };
    let decision: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert!(decision.to_string().contains(why), "{decision}");
    // Another session's memory: a failure is told once in each.
    let ground = refused_gate();
    let output = under(&ground, &root, none, &["fire", "--from", "claude"]).unwrap();
    let reply: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert!(reply["systemMessage"].to_string().contains(why), "the user is told: {reply}");
    let strict = ["fire", "--from", "claude", "--strict"];
    let output = under(&ground, &root, none, &strict).unwrap();
    let reply: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(reply["hookSpecificOutput"]["permissionDecision"], "deny", "{reply}");
    assert!(!ground.root.join("ran").exists());
    let output = under(&ground, &root, none, &["doctor", "--json"]).unwrap();
    assert!(text(&output.stdout).contains(&format!("no hook starts here: {why}")), "{output:?}");
    let ground = ground.with("GAMBREL_ISOLATE", "0");
    under(&ground, &root, none, &["fire", "--from", "claude"]).unwrap();
    assert!(ground.root.join("ran").exists(), "without it the hook runs");
}

#[test]
fn doctor_says_that_it_is_on() {
    let parts = Ground::new().with("GAMBREL_ISOLATE", "1").json(&["doctor", "--json"]);
    let part = parts.as_array().unwrap().iter().find(|part| part["name"] == "processes").unwrap();
    let what = part["what"].as_str().unwrap();
    assert!(what.contains("isolate is on") || what.contains("no hook starts here"), "{what}");
}

/// Inside, `/proc` has the machine's numbers: a gambrel in there must not go by them.
#[test]
fn gambrel_works_inside_an_isolated_hook() {
    for inner in ["1", "0"] {
        let ground = Ground::new().with("GAMBREL_ISOLATE", "1").with_gambrel_on_path();
        ground.file(
            "inner/.claude/settings.json",
            &serde_json::json!({"hooks": {"PreToolUse": [
                {"hooks": [{"type": "command", "command": "sleep 1000; sleep 1000", "timeout": 1}]},
                {"hooks": [{"type": "command", "command": "echo inner >&2; exit 2"}]},
            ]}})
            .to_string(),
        );
        // In a script, because an entry that calls gambrel is no hook.
        let line = format!("GAMBREL_ISOLATE={inner} gambrel -C inner fire --from claude");
        ground.script("nested.sh", &format!("#!/bin/sh\n{line}\n"));
        ground.guard("./nested.sh", 20);
        let begun = std::time::Instant::now();
        let output = ground.run(&["fire", "--from", "claude"], BASH_LS.as_bytes());
        assert!(text(&output.stdout).contains("inner"), "{output:?}");
        assert!(begun.elapsed() < std::time::Duration::from_secs(6), "{:?}", begun.elapsed());
    }
}
