//! An empty, half-written or unreadable hook file is a gate failure: gambrel reports it, and strict
//! mode denies. `fire` waits for a file that is being rewritten.

use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use crate::test_project::{BASH_LS, TestProject, wait_until};

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
        let project = TestProject::new();
        project.file(path, text);
        let decision = project.decide("claude", BASH_LS);
        let notices = decision["notices"].to_string();
        assert!(
            notices.contains("settings.json") || notices.contains("hooks.y"),
            "{path}: {notices}"
        );
        let strict = project.with("GAMBREL_STRICT", "1").decide("claude", BASH_LS);
        assert_eq!(strict["ruling"], "deny", "{path}: {text:?}");
    }
}

#[test]
fn accepts_files_with_a_comment_or_an_empty_map() {
    for (path, text) in [
        (".claude/settings.json", "{}"),
        (".claude/settings.json", "// nothing yet\n{}"),
        (".gambrel/hooks.yaml", "# nothing yet\n"),
        (".gambrel/hooks.yaml", "{}\n"),
    ] {
        let project = TestProject::new().with("GAMBREL_STRICT", "1");
        project.file(path, text);
        let decision = project.decide("claude", BASH_LS);
        assert_eq!(decision["ruling"], "silent", "{path} {text:?}: {decision}");
    }
}

/// gambrel waits 50 ms for a file that is being rewritten. A writer that a busy machine held up for
/// longer than this proves nothing.
const REWRITE_WINDOW: Duration = Duration::from_millis(25);

#[test]
fn waits_for_a_file_that_is_being_rewritten() {
    let project = TestProject::new();
    let path = project.file(".claude/settings.json", &GUARD[..40]);
    let slowest_ms = Arc::new(AtomicU64::new(0));
    let count = Arc::new(AtomicU64::new(0));
    let writer = std::thread::spawn({
        let (path, slowest_ms) = (path.clone(), Arc::clone(&slowest_ms));
        let count = Arc::clone(&count);
        move || {
            while !path.with_extension("done").exists() {
                let began = Instant::now();
                std::fs::write(&path, &GUARD[..40]).unwrap();
                std::thread::sleep(Duration::from_millis(4));
                std::fs::write(&path, GUARD).unwrap();
                let took = u64::try_from(began.elapsed().as_millis()).unwrap();
                slowest_ms.fetch_max(took, Ordering::SeqCst);
                count.fetch_add(1, Ordering::SeqCst);
                std::thread::sleep(Duration::from_millis(40));
            }
        }
    });
    for _ in 0..20 {
        slowest_ms.store(0, Ordering::SeqCst);
        let ruling = project.decide("claude", BASH_LS)["ruling"].clone();
        if ruling != "deny" {
            // The rewrite that was running then must have ended.
            let seen = count.load(Ordering::SeqCst);
            wait_until("two more rewrites", || count.load(Ordering::SeqCst) >= seen + 2);
            let slowest = Duration::from_millis(slowest_ms.load(Ordering::SeqCst));
            assert!(slowest > REWRITE_WINDOW, "{ruling} although a rewrite took {slowest:?}");
        }
    }
    std::fs::write(path.with_extension("done"), "").unwrap();
    writer.join().unwrap();
}

#[test]
fn reports_folders_that_cannot_be_read() {
    let project = TestProject::new();
    // A symlink to itself cannot be opened.
    let folder = project.root.join(".gambrel");
    std::os::unix::fs::symlink(&folder, &folder).unwrap();
    let decision = project.decide("claude", BASH_LS);
    assert!(decision["notices"].to_string().contains(".gambrel"), "{decision}");
    let strict = project.with("GAMBREL_STRICT", "1").decide("claude", BASH_LS);
    assert_eq!(strict["ruling"], "deny");
}

#[test]
fn reports_an_unreadable_trust_store() {
    let project = TestProject::new().with("GAMBREL_TRUST", "store");
    project.file(".claude/settings.json", GUARD);
    std::fs::create_dir_all(project.base.join("state/trust.json")).unwrap();
    let notices = project.decide("claude", BASH_LS)["notices"].to_string();
    assert!(notices.contains("no project hook is trusted"), "{notices}");
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
            let project = TestProject::new();
            let folder = project.root.join(folder);
            std::fs::create_dir_all(&folder).unwrap();
            put(&folder.join("x.ts"));
            let decision = project.decide("claude", BASH_LS);
            assert_eq!(decision["ruling"], "deny", "{what}: {decision}");
            let reason = decision["reasons"][0]["text"].as_str().unwrap();
            assert!(
                reason.contains("x.ts") && reason.contains("not a readable regular file"),
                "{reason}"
            );
        }
    }
}

#[test]
fn a_file_in_place_of_a_folder_of_hooks_is_reported_and_strict_denies() {
    for path in [".omp/hooks", ".omp/hooks/pre", ".claude/skills", "team hooks"] {
        let project = TestProject::new();
        let file = project.file(path, "no folder");
        let team = project.root.join("team hooks");
        let project = project
            .with("PI_TEAMS_HOOKS_DIR", team.to_str().unwrap())
            .with("PI_TEAMS_HOOKS_ENABLED", "1");
        let notices = project.decide("claude", BASH_LS)["notices"].to_string();
        assert!(notices.contains(file.to_str().unwrap()), "{path}: {notices}");
        assert!(notices.contains("is not a folder"), "{path}: {notices}");
        let strict = project.with("GAMBREL_STRICT", "1").decide("claude", BASH_LS);
        assert_eq!(strict["ruling"], "deny", "{path}");
    }
}

#[test]
fn a_pipe_in_place_of_a_folder_of_hooks_closes_tool_gates() {
    let project = TestProject::new();
    std::fs::create_dir(project.root.join(".omp")).unwrap();
    let pipe = project.root.join(".omp/hooks");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let decision = project.decide("claude", BASH_LS);
    assert_eq!(decision["ruling"], "deny", "{decision}");
    assert!(decision["reasons"].to_string().contains("is not a folder"), "{decision}");
}
