//! The journal records every firing, redacts secrets and marks interrupted firings.

use std::time::Duration;

use crate::test_project::{BASH_LS, TestProject, text, wait_until};

#[test]
fn a_firing_is_listed_and_shown() {
    let project = TestProject::new();
    project.guard("echo no >&2; exit 2", 5);
    let id = project.decide("claude", BASH_LS)["id"].as_str().unwrap().to_owned();
    let log = text(&project.run(&["log"], b"").stdout);
    assert!(
        log.contains(&id[12..18]) && log.contains("deny") && log.contains("PreToolUse"),
        "{log}"
    );
    let shown = project.json(&["show", &id[..10], "--json"]);
    assert_eq!(shown["state"], "finished");
    assert_eq!(shown["trail"][0]["code"], 2);
    assert_eq!(shown["reasons"][0]["text"], "no");
    let human = text(&project.run(&["show", &id], b"").stdout);
    assert!(human.contains("accepted") && human.contains("finished"), "{human}");
}

#[test]
fn filters_by_session() {
    let project = TestProject::new();
    project.decide("claude", BASH_LS);
    project.decide("claude", &BASH_LS.replace("\"s\"", "\"other\""));
    let log = text(&project.run(&["log", "--session", "other", "--json"], b"").stdout);
    assert_eq!(log.lines().count(), 1, "{log}");
    assert!(log.contains("\"other\""));
}

#[test]
fn marks_a_killed_firing_as_interrupted() {
    let project = TestProject::new();
    project.guard(": > started; sleep 300", 300);
    let mut child = project.start(&["fire", "--from", "claude"], BASH_LS.as_bytes());
    wait_until("the hook runs", || project.root.join("started").exists());
    child.kill().unwrap();
    child.wait().unwrap();
    let log = text(&project.run(&["log", "--json"], b"").stdout);
    assert!(log.contains("\"interrupted\""), "{log}");
}

#[test]
fn tells_the_user_once_that_a_firing_is_not_recorded() {
    let project = TestProject::new();
    // The journal cannot be written, and the state of the session can.
    std::fs::create_dir_all(project.base.join("state/spool.jsonl")).unwrap();
    let fire = |event: &str| {
        let output = project.run(&["fire", "--from", "claude"], event.as_bytes());
        let (reply, warnings) = (text(&output.stdout), text(&output.stderr));
        assert!(warnings.contains("not in the journal"), "{warnings}");
        reply.contains("not in the journal")
    };
    assert!(fire(BASH_LS), "the first firing tells it");
    assert!(!fire(BASH_LS), "the second does not");
    assert!(fire(&BASH_LS.replace("\"s\"", "\"other\"")), "another session has not been told");

    // It is told in the same way when a hook runs.
    project.guard("true", 5);
    assert!(!fire(BASH_LS));
    assert!(fire(&BASH_LS.replace("\"s\"", "\"third\"")));
}

#[test]
fn redacts_secrets_in_the_state_folder() {
    let project = TestProject::new().with("MY_API_KEY", "canary-4711-secret");
    project.guard("echo \"key is $MY_API_KEY\" >&2; exit 2", 5);
    let output = project.run(&["fire", "--from", "claude"], BASH_LS.as_bytes());
    assert!(text(&output.stdout).contains("deny"));
    let log = text(&project.run(&["log", "--json"], b"").stdout);
    assert!(!log.contains("canary-4711-secret") && log.contains("redacted"), "{log}");
    for entry in list_files(&project.base.join("state")) {
        let bytes = std::fs::read(&entry).unwrap();
        assert!(!text(&bytes).contains("canary-4711-secret"), "{}", entry.display());
    }
}

pub fn list_files(folder: &std::path::Path) -> Vec<std::path::PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap().filter_map(Result::ok).map(|e| e.path());
    entries.flat_map(|path| if path.is_dir() { list_files(&path) } else { vec![path] }).collect()
}

#[test]
fn records_all_parallel_firings() {
    let project = TestProject::new();
    project.guard("exit 0", 5);
    std::thread::scope(|scope| {
        for _ in 0..16 {
            scope.spawn(|| project.decide("claude", BASH_LS));
        }
    });
    let log = text(&project.run(&["log", "-n", "100", "--json"], b"").stdout);
    assert_eq!(log.lines().filter(|line| line.contains("\"finished\"")).count(), 16, "{log}");
}

#[test]
fn follow_prints_new_firings() {
    let project = TestProject::new();
    let mut follower = project.command(&["log", "-f", "--json"]).spawn().unwrap();
    std::thread::sleep(Duration::from_millis(200));
    let id = project.decide("claude", BASH_LS)["id"].as_str().unwrap().to_owned();
    let mut lines =
        std::io::BufRead::lines(std::io::BufReader::new(follower.stdout.take().unwrap()));
    let line = lines.next().unwrap().unwrap();
    follower.kill().unwrap();
    follower.wait().unwrap();
    assert!(line.contains(&id), "{line}");
}

#[test]
fn reports_an_unknown_firing() {
    let project = TestProject::new();
    let output = project.run(&["show", "ffffffff"], b"");
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains("gambrel log"));
}

#[test]
fn redacts_secrets_in_spill_files() {
    let project = TestProject::new().with("MY_API_KEY", "canary-4712-secret");
    project.guard("head -c 20000000 /dev/zero | tr '\\0' x; echo \"key is $MY_API_KEY\"; head -c 200000 /dev/zero", 10);
    project.decide("claude", BASH_LS);
    let spilled = list_files(&project.base.join("state/spill"));
    assert_eq!(spilled.len(), 1);
    let text = text(&std::fs::read(&spilled[0]).unwrap());
    assert!(!text.contains("canary-4712-secret") && text.contains("redacted"));
}

#[test]
fn follow_ends_when_its_reader_closes() {
    let project = TestProject::new();
    let mut follower = project.command(&["log", "-f"]).spawn().unwrap();
    drop(follower.stdout.take());
    assert!(follower.wait().unwrap().success());
}

#[test]
fn counts_broken_records() {
    for (broken, words) in [("{\n", "skipped 1 broken record\n"), ("{\n{\n", "2 broken records\n")]
    {
        let project = TestProject::new();
        project.decide("claude", BASH_LS);
        let spool = project.base.join("state/spool.jsonl");
        let whole = std::fs::read_to_string(&spool).unwrap();
        std::fs::write(&spool, whole + broken).unwrap();
        let output = project.run(&["show", "last"], b"");
        assert!(text(&output.stderr).contains(words), "{}", text(&output.stderr));
        assert_eq!(output.status.code(), Some(0));
    }
}
