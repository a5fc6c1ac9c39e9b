//! The journal: every firing, in full, redacted, and honest about crashes.

use std::time::Duration;

use crate::ground::{BASH_LS, Ground, text, until};

#[test]
fn a_firing_is_listed_and_shown() {
    let ground = Ground::new();
    ground.guard("echo no >&2; exit 2", 5);
    let id = ground.decide("claude", BASH_LS)["id"].as_str().unwrap().to_owned();
    let log = text(&ground.run(&["log"], b"").stdout);
    assert!(log.contains(&id) && log.contains("deny") && log.contains("PreToolUse"), "{log}");
    let shown = ground.json(&["show", &id[..10], "--json"]);
    assert_eq!(shown["state"], "finished");
    assert_eq!(shown["trail"][0]["code"], 2);
    assert_eq!(shown["reasons"][0]["text"], "no");
    let human = text(&ground.run(&["show", &id], b"").stdout);
    assert!(human.contains("accepted") && human.contains("finished"), "{human}");
}

#[test]
fn a_session_can_be_picked_out() {
    let ground = Ground::new();
    ground.decide("claude", BASH_LS);
    ground.decide("claude", &BASH_LS.replace("\"s\"", "\"other\""));
    let log = text(&ground.run(&["log", "--session", "other", "--json"], b"").stdout);
    assert_eq!(log.lines().count(), 1, "{log}");
    assert!(log.contains("\"other\""));
}

#[test]
fn a_killed_firing_is_interrupted() {
    let ground = Ground::new();
    ground.guard(": > started; sleep 300", 300);
    let mut child = ground.start(&["fire", "--from", "claude"], BASH_LS.as_bytes());
    until("the hook runs", || ground.root.join("started").exists());
    child.kill().unwrap();
    child.wait().unwrap();
    let log = text(&ground.run(&["log", "--json"], b"").stdout);
    assert!(log.contains("\"interrupted\""), "{log}");
}

#[test]
fn secrets_are_not_written_down() {
    let ground = Ground::new().with("MY_API_KEY", "canary-4711-secret");
    ground.guard("echo \"key is $MY_API_KEY\" >&2; exit 2", 5);
    let output = ground.run(&["fire", "--from", "claude"], BASH_LS.as_bytes());
    assert!(text(&output.stdout).contains("deny"));
    let log = text(&ground.run(&["log", "--json"], b"").stdout);
    assert!(!log.contains("canary-4711-secret") && log.contains("redacted"), "{log}");
    for entry in walk(&ground.base.join("state")) {
        let bytes = std::fs::read(&entry).unwrap();
        assert!(!text(&bytes).contains("canary-4711-secret"), "{}", entry.display());
    }
}

fn walk(folder: &std::path::Path) -> Vec<std::path::PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap().filter_map(Result::ok).map(|e| e.path());
    entries.flat_map(|path| if path.is_dir() { walk(&path) } else { vec![path] }).collect()
}

#[test]
fn many_firings_at_once_are_all_there() {
    let ground = Ground::new();
    ground.guard("exit 0", 5);
    std::thread::scope(|scope| {
        for _ in 0..16 {
            scope.spawn(|| ground.decide("claude", BASH_LS));
        }
    });
    let log = text(&ground.run(&["log", "-n", "100", "--json"], b"").stdout);
    assert_eq!(log.lines().filter(|line| line.contains("\"finished\"")).count(), 16, "{log}");
}

#[test]
fn following_shows_what_comes() {
    let ground = Ground::new();
    let mut follower = ground.command(&["log", "-f", "--json"]).spawn().unwrap();
    std::thread::sleep(Duration::from_millis(200));
    let id = ground.decide("claude", BASH_LS)["id"].as_str().unwrap().to_owned();
    let mut lines =
        std::io::BufRead::lines(std::io::BufReader::new(follower.stdout.take().unwrap()));
    let line = lines.next().unwrap().unwrap();
    follower.kill().unwrap();
    follower.wait().unwrap();
    assert!(line.contains(&id), "{line}");
}

#[test]
fn an_unknown_firing_is_said() {
    let ground = Ground::new();
    let output = ground.run(&["show", "ffffffff"], b"");
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains("gambrel log"));
}

#[test]
fn secrets_are_not_spilled() {
    let ground = Ground::new().with("MY_API_KEY", "canary-4712-secret");
    ground.guard("head -c 20000000 /dev/zero | tr '\\0' x; echo \"key is $MY_API_KEY\"; head -c 200000 /dev/zero", 10);
    ground.decide("claude", BASH_LS);
    let spilled = walk(&ground.base.join("state/spill"));
    assert_eq!(spilled.len(), 1);
    let text = text(&std::fs::read(&spilled[0]).unwrap());
    assert!(!text.contains("canary-4712-secret") && text.contains("redacted"));
}

#[test]
fn following_ends_with_its_reader() {
    let ground = Ground::new();
    let mut follower = ground.command(&["log", "-f"]).spawn().unwrap();
    drop(follower.stdout.take());
    assert!(follower.wait().unwrap().success());
}
