//! A file of hooks that is empty, half written or cannot be looked at is a gate failure: the user is
//! told, and whoever is strict is refused. A file that is just being rewritten is waited for.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use crate::ground::{BASH_LS, Ground};

const GUARD: &str =
    r#"{"hooks":{"PreToolUse":[{"hooks":[{"type":"command","command":"exit 2"}]}]}}"#;

#[test]
fn an_empty_file_is_reported_and_strict_denies() {
    for (path, text) in [
        (".claude/settings.json", ""),
        (".gambrel/hooks.yaml", ""),
        (".iteratr.hooks.yml", "\n"),
        (".claude/settings.json", &GUARD[..GUARD.len() / 2]),
    ] {
        let ground = Ground::new();
        ground.file(path, text);
        let decision = ground.decide("claude", BASH_LS);
        let told = decision["notices"].to_string();
        assert!(told.contains("settings.json") || told.contains("hooks.y"), "{path}: {told}");
        let strict = ground.with("GAMBREL_STRICT", "1").decide("claude", BASH_LS);
        assert_eq!(strict["ruling"], "deny", "{path}: {text:?}");
    }
}

#[test]
fn a_comment_or_an_empty_map_is_not_empty() {
    for (path, text) in [
        (".claude/settings.json", "{}"),
        (".claude/settings.json", "// nothing yet\n{}"),
        (".gambrel/hooks.yaml", "# nothing yet\n"),
        (".gambrel/hooks.yaml", "{}\n"),
    ] {
        let ground = Ground::new().with("GAMBREL_STRICT", "1");
        ground.file(path, text);
        let decision = ground.decide("claude", BASH_LS);
        assert_eq!(decision["ruling"], "silent", "{path} {text:?}: {decision}");
    }
}

#[test]
fn a_file_that_is_being_rewritten_is_waited_for() {
    let ground = Ground::new();
    let path = ground.file(".claude/settings.json", &GUARD[..40]);
    let writer = std::thread::spawn({
        let path = path.clone();
        move || loop {
            std::fs::write(&path, &GUARD[..40]).unwrap();
            std::thread::sleep(Duration::from_millis(4));
            std::fs::write(&path, GUARD).unwrap();
            std::thread::sleep(Duration::from_millis(40));
            if path.with_extension("done").exists() {
                return;
            }
        }
    });
    for _ in 0..20 {
        assert_eq!(ground.decide("claude", BASH_LS)["ruling"], "deny");
    }
    std::fs::write(path.with_extension("done"), "").unwrap();
    writer.join().unwrap();
}

#[test]
fn what_cannot_be_looked_at_is_not_taken_for_absent() {
    let ground = Ground::new();
    // A link that leads to itself: the kernel refuses to look at it.
    let folder = ground.root.join(".gambrel");
    std::os::unix::fs::symlink(&folder, &folder).unwrap();
    let decision = ground.decide("claude", BASH_LS);
    assert!(decision["notices"].to_string().contains(".gambrel"), "{decision}");
    let strict = ground.with("GAMBREL_STRICT", "1").decide("claude", BASH_LS);
    assert_eq!(strict["ruling"], "deny");
}

#[test]
fn a_trust_store_that_cannot_be_read_reaches_the_user() {
    let ground = Ground::new().with("GAMBREL_TRUST", "store");
    ground.file(".claude/settings.json", GUARD);
    std::fs::create_dir_all(ground.base.join("state/trust.json")).unwrap();
    let told = ground.decide("claude", BASH_LS)["notices"].to_string();
    assert!(told.contains("no project hook is trusted"), "{told}");
}

#[test]
fn a_pipe_socket_or_device_in_place_of_a_module_closes_tool_gates() {
    type Put = fn(&Path);
    let put: [(&str, Put); 3] = [
        ("pipe", |path| {
            assert!(Command::new("mkfifo").arg(path).status().unwrap().success());
        }),
        ("socket", |path| drop(std::os::unix::net::UnixListener::bind(path).unwrap())),
        ("device", |path| std::os::unix::fs::symlink("/dev/null", path).unwrap()),
    ];
    for (what, put) in put {
        for folder in [".omp/hooks", ".omp/hooks/pre"] {
            let ground = Ground::new();
            let folder = ground.root.join(folder);
            std::fs::create_dir_all(&folder).unwrap();
            put(&folder.join("x.ts"));
            let decision = ground.decide("claude", BASH_LS);
            assert_eq!(decision["ruling"], "deny", "{what}: {decision}");
            let reason = decision["reasons"][0]["text"].as_str().unwrap();
            assert!(reason.contains("x.ts") && reason.contains("no plain file"), "{reason}");
        }
    }
}

#[test]
fn a_file_in_place_of_a_folder_of_hooks_is_reported_and_strict_denies() {
    for path in [".omp/hooks", ".omp/hooks/pre", ".claude/skills", "team hooks"] {
        let ground = Ground::new();
        let file = ground.file(path, "no folder");
        let team = ground.root.join("team hooks");
        let ground = ground
            .with("PI_TEAMS_HOOKS_DIR", team.to_str().unwrap())
            .with("PI_TEAMS_HOOKS_ENABLED", "1");
        let told = ground.decide("claude", BASH_LS)["notices"].to_string();
        assert!(told.contains(file.to_str().unwrap()), "{path}: {told}");
        assert!(told.contains("is not a folder"), "{path}: {told}");
        let strict = ground.with("GAMBREL_STRICT", "1").decide("claude", BASH_LS);
        assert_eq!(strict["ruling"], "deny", "{path}");
    }
}

#[test]
fn a_pipe_in_place_of_a_folder_of_hooks_closes_tool_gates() {
    let ground = Ground::new();
    std::fs::create_dir(ground.root.join(".omp")).unwrap();
    let pipe = ground.root.join(".omp/hooks");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let decision = ground.decide("claude", BASH_LS);
    assert_eq!(decision["ruling"], "deny", "{decision}");
    assert!(decision["reasons"].to_string().contains("is not a folder"), "{decision}");
}
