//! The files of a team are used by several processes at once: every change is kept, locks that were
//! left are taken away, and locks of running processes never are.

use std::fs;
use std::path::Path;
use std::time::{Duration, SystemTime};

use gambrel_ledger::TeamDir;
use gambrel_model::ledger::{Boards, InboxMessage, LedgerErrorKind, Task};
use proptest::prelude::*;
use serde_json::json;
use tempfile::TempDir;

const WRITERS: usize = 8;
const CHANGES: usize = 10;

fn new_team() -> (TempDir, TeamDir) {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("config.json"), r#"{"teamId":"a","taskListId":"a"}"#).unwrap();
    let team = TeamDir::open(folder.path()).unwrap();
    (folder, team)
}

fn add_task(team: &TeamDir, subject: &str) -> Task {
    let fill = &mut |_: &[Task], task: &mut Task| {
        subject.clone_into(&mut task.subject);
        Ok(())
    };
    team.update_task("a", None, fill).unwrap()
}

fn rename_task(team: &TeamDir, subject: &str) -> Task {
    let rename = &mut |_: &[Task], task: &mut Task| {
        subject.clone_into(&mut task.subject);
        Ok(())
    };
    team.update_task("a", Some("1"), rename).unwrap()
}

fn write_lock(folder: &Path, owner: &str, age: Duration) -> std::path::PathBuf {
    let path = folder.join("tasks/a/1.json.lock");
    fs::write(&path, owner).unwrap();
    let file = fs::File::options().write(true).open(&path).unwrap();
    file.set_modified(SystemTime::now() - age).unwrap();
    path
}

#[test]
fn concurrent_changes_are_all_kept() {
    let (folder, team) = new_team();
    add_task(&team, "count");
    std::thread::scope(|scope| {
        for writer in 0..WRITERS {
            let team = &team;
            scope.spawn(move || {
                for number in 0..CHANGES {
                    let count = &mut |_: &[Task], task: &mut Task| {
                        let before = task.metadata.get("count").and_then(|n| n.as_u64());
                        let count = before.unwrap_or_default() + 1;
                        task.metadata.insert("count".to_owned(), json!(count));
                        Ok(())
                    };
                    team.update_task("a", Some("1"), count).unwrap();
                    add_task(team, "one more");
                    let message = InboxMessage {
                        id: String::new(),
                        from: format!("w{writer}"),
                        to: "ada".to_owned(),
                        text: format!("{number}"),
                        at: 1,
                    };
                    team.send("a", &message).unwrap();
                }
            });
        }
    });
    let tasks = team.tasks("a").unwrap();
    assert_eq!(tasks[0].metadata["count"], WRITERS * CHANGES);
    let ids: Vec<String> = (1..=WRITERS * CHANGES + 1).map(|id| id.to_string()).collect();
    assert_eq!(tasks.iter().map(|task| task.id.clone()).collect::<Vec<_>>(), ids);
    assert_eq!(team.inbox("a", "ada").unwrap().len(), WRITERS * CHANGES);
    let entries = fs::read_dir(folder.path().join("tasks/a")).unwrap();
    let left =
        entries.filter(|e| e.as_ref().unwrap().file_name().to_string_lossy().contains(".lock"));
    assert_eq!(left.count(), 0);
}

#[test]
fn left_locks_are_taken_away() {
    let (folder, team) = new_team();
    add_task(&team, "first");
    let day = Duration::from_secs(86_400);
    for (owner, age) in [(r#"{"pid":999999999}"#, Duration::ZERO), ("", day), ("no JSON", day)] {
        let lock = write_lock(folder.path(), owner, age);
        rename_task(&team, owner);
        assert!(!lock.exists(), "{owner}");
    }
}

#[test]
fn locks_of_running_processes_are_waited_for() {
    let (folder, team) = new_team();
    add_task(&team, "first");
    let day = Duration::from_secs(86_400);
    let owner = json!({"pid": std::process::id()}).to_string();
    // A lock without a name and with a time in the future is not old.
    for (owner, age) in [(owner.as_str(), day), ("", Duration::ZERO)] {
        let lock = write_lock(folder.path(), owner, age);
        if age.is_zero() {
            let file = fs::File::options().write(true).open(&lock).unwrap();
            file.set_modified(SystemTime::now() + day).unwrap();
        }
        std::thread::scope(|scope| {
            let change = scope.spawn(|| rename_task(&team, "later"));
            std::thread::sleep(Duration::from_millis(300));
            assert!(!change.is_finished() && lock.exists(), "{owner:?}");
            fs::remove_file(&lock).unwrap();
            assert_eq!(change.join().unwrap().subject, "later");
        });
    }
}

#[test]
fn blockers_know_what_they_block() {
    let (folder, team) = new_team();
    add_task(&team, "first");
    add_task(&team, "second");
    let set = |ids: &[&str]| {
        let ids: Vec<String> = ids.iter().map(|id| (*id).to_owned()).collect();
        let change = &mut |_: &[Task], task: &mut Task| {
            task.blocked_by.clone_from(&ids);
            Ok(())
        };
        team.update_task("a", Some("2"), change).unwrap();
        let text = fs::read_to_string(folder.path().join("tasks/a/1.json")).unwrap();
        serde_json::from_str::<serde_json::Value>(&text).unwrap()["blocks"].clone()
    };
    assert_eq!(set(&["1"]), json!(["2"]));
    assert_eq!(set(&[]), json!([]));
}

#[test]
fn names_lead_to_no_other_folder() {
    let (folder, team) = new_team();
    let message = InboxMessage {
        id: String::new(),
        from: "boss".to_owned(),
        to: "../../../escaped".to_owned(),
        text: "hello".to_owned(),
        at: 1,
    };
    team.send("a", &message).unwrap();
    assert!(folder.path().join("mailboxes/a/inboxes/---------escaped.json").exists());
    let error = team.update_task("a", Some("../../config"), &mut |_, _| Ok(())).unwrap_err();
    assert_eq!(error.kind, LedgerErrorKind::Refused);
}

proptest! {
    #[test]
    fn any_file_is_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let (folder, team) = new_team();
        let inbox = folder.path().join("mailboxes/team/inboxes/team-lead.json");
        for path in [folder.path().join("tasks/a/1.json"), inbox, folder.path().join("config.json")] {
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, &bytes).unwrap();
        }
        let _read = team.read_tasks().unwrap();
        let _messages = team.leader_messages();
        let _opened = TeamDir::open(folder.path());
    }
}
