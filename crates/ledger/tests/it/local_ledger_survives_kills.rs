//! A killed process leaves no lock, no half change and no unreadable state behind.

use std::fs::OpenOptions;
use std::io::Write;
use std::time::{Duration, Instant};

use gambrel_ledger::{LocalLedger, Redactor};
use gambrel_model::ledger::{
    Boards, LedgerErrorKind, ProcessOrigin, RunLog, Runs, SessionState, Sessions, TaskChange,
    TornLine,
};
use rusqlite::Connection;
use serde_json::json;

use crate::fixture::{LedgerFixture, TEST_TIMEOUT, run_within};
use crate::test_process::TestProcess;

const PROCESS_COUNT: usize = 6;
const TASK_COUNT: usize = 30;

fn add_tasks(ledger: &LocalLedger, count: usize) {
    for number in 0..count {
        let subject = format!("task {number}");
        ledger
            .update_task("project", None, &mut |_, task| {
                task.subject.clone_from(&subject);
                Ok(())
            })
            .unwrap();
    }
}

fn run_log(fixture: &LedgerFixture) -> RunLog {
    RunLog { name: "a run".to_owned(), folder: fixture.dir.join("a run") }
}

#[test]
fn the_lock_of_a_killed_process_is_free() {
    run_within(TEST_TIMEOUT, || {
        let fixture = LedgerFixture::new();
        let (ledger, own) = (fixture.ledger(), ProcessOrigin::of_this_process());
        let mut process = TestProcess::start("lock run:x", &fixture.dir);
        process.wait_until_ready();
        let error = ledger.acquire_lock("run:x", &own).unwrap_err();
        let holder = ProcessOrigin { pid: process.id(), ..ProcessOrigin::default() };
        assert_eq!(error.kind, LedgerErrorKind::Locked(holder));
        process.kill();
        assert_eq!(ledger.acquire_lock("run:x", &own).unwrap().fence, 2);
    });
}

#[test]
fn a_kill_within_a_session_update_changes_nothing() {
    run_within(TEST_TIMEOUT, || {
        let fixture = LedgerFixture::new();
        let ledger = fixture.ledger();
        let count = |state: &mut SessionState| {
            *state.counts.entry("n".to_owned()).or_default() += 1;
        };
        ledger.update_session("s", &mut { count }).unwrap();
        let mut process = TestProcess::start("stall-session s", &fixture.dir);
        process.wait_until_ready();
        process.kill();
        ledger.update_session("s", &mut { count }).unwrap();
        assert_eq!(ledger.session_state("s").unwrap().counts["n"], 2);
    });
}

#[test]
fn a_half_written_session_file_is_ignored() {
    let fixture = LedgerFixture::new();
    let ledger = fixture.ledger();
    let mut count = |state: &mut SessionState| {
        *state.counts.entry("n".to_owned()).or_default() += 1;
    };
    ledger.update_session("s", &mut count).unwrap();
    for entry in std::fs::read_dir(fixture.file("sessions")).unwrap().flatten() {
        let beside = format!("{}.tmp", entry.path().display());
        std::fs::write(beside, "{\"counts\":{\"n\"").unwrap();
    }
    ledger.update_session("s", &mut count).unwrap();
    assert_eq!(ledger.session_state("s").unwrap().counts["n"], 2);
}

#[test]
fn a_kill_within_a_task_change_changes_nothing() {
    run_within(TEST_TIMEOUT, || {
        let fixture = LedgerFixture::new();
        let ledger = fixture.ledger();
        add_tasks(&ledger, 1);
        let before = ledger.tasks("project").unwrap();
        let mut process = TestProcess::start("stall-task 1", &fixture.dir);
        process.wait_until_ready();
        process.kill();
        assert_eq!(ledger.tasks("project").unwrap(), before);
        add_tasks(&ledger, 1);
        assert_eq!(ledger.tasks("project").unwrap()[1].id, "2");
    });
}

#[test]
fn processes_claim_each_task_once() {
    run_within(TEST_TIMEOUT, || {
        let fixture = LedgerFixture::new();
        let ledger = fixture.ledger();
        add_tasks(&ledger, TASK_COUNT);
        let processes: Vec<_> = (0..PROCESS_COUNT)
            .map(|member| TestProcess::start(&format!("claim member-{member}"), &fixture.dir))
            .collect();
        processes.into_iter().for_each(TestProcess::finish);
        let tasks = ledger.tasks("project").unwrap();
        assert_eq!(tasks.len(), TASK_COUNT);
        for task in tasks {
            assert!(task.owner.is_some());
            assert_eq!(task.revision, 2, "{task:?}");
        }
    });
}

#[test]
fn processes_create_a_board_at_once() {
    run_within(TEST_TIMEOUT, || {
        for _ in 0..5 {
            let fixture = LedgerFixture::new();
            std::thread::scope(|scope| {
                (0..8).for_each(|_| drop(scope.spawn(|| add_tasks(&fixture.ledger(), 2))));
            });
            assert_eq!(fixture.ledger().tasks("project").unwrap().len(), 16);
        }
    });
}

#[test]
fn a_torn_last_line_is_reported_and_cut_off() {
    let fixture = LedgerFixture::new();
    let (ledger, log) = (fixture.ledger(), run_log(&fixture));
    ledger.append(&log, 0, &[json!({"n": 1}), json!({"n": 2})]).unwrap();
    let path = log.folder.join("events.jsonl");
    let intact = std::fs::read(&path).unwrap();
    for torn in ["{\"n\":3,\"tex", "{\"n\":3}", "{\"n\":", "\0\0\0\0\n", "\n"] {
        std::fs::write(&path, [&intact[..], torn.as_bytes()].concat()).unwrap();
        let read = ledger.read(&log).unwrap();
        assert_eq!(read.lines.len(), 2, "{torn:?}");
        let bytes = torn.len() as u64;
        assert_eq!(read.torn, Some(TornLine { number: 3, bytes }), "{torn:?}");
        assert_eq!(ledger.append(&log, 2, &[json!({"n": 4})]).unwrap(), 3);
        let read = ledger.read(&log).unwrap();
        assert_eq!((read.lines[2].clone(), read.torn), (json!({"n": 4}), None));
    }
}

#[test]
fn a_damaged_line_in_the_middle_is_an_error() {
    let fixture = LedgerFixture::new();
    let (ledger, log) = (fixture.ledger(), run_log(&fixture));
    std::fs::create_dir_all(&log.folder).unwrap();
    std::fs::write(log.folder.join("events.jsonl"), "{}\n{\"n\n{}\n").unwrap();
    let error = ledger.read(&log).unwrap_err();
    assert_eq!(error.kind, LedgerErrorKind::Corrupt);
    assert!(error.detail.contains("line 2"), "{error}");
}

#[test]
fn a_full_disk_leaves_the_log_as_it_was() {
    run_within(TEST_TIMEOUT, || {
        let fixture = LedgerFixture::new();
        let (ledger, log) = (fixture.ledger(), run_log(&fixture));
        ledger.append(&log, 0, &[json!({"n": 1})]).unwrap();
        let process = TestProcess::start("fill a run", &fixture.dir);
        process.finish();
        let read = ledger.read(&log).unwrap();
        assert_eq!((read.lines.len(), read.torn), (1, None));
        assert_eq!(ledger.append(&log, 1, &[json!({"n": 2})]).unwrap(), 2);
    });
}

#[test]
fn a_log_that_is_no_file_is_an_error() {
    let fixture = LedgerFixture::new();
    let (ledger, log) = (fixture.ledger(), run_log(&fixture));
    std::fs::create_dir_all(&log.folder).unwrap();
    std::os::unix::fs::symlink("/dev/full", log.folder.join("events.jsonl")).unwrap();
    for error in [ledger.append(&log, 0, &[json!(1)]).unwrap_err(), ledger.read(&log).unwrap_err()]
    {
        assert_eq!(error.kind, LedgerErrorKind::Corrupt);
    }
}

#[test]
fn a_locked_log_is_not_waited_for_forever() {
    run_within(TEST_TIMEOUT, || {
        let fixture = LedgerFixture::new();
        let (ledger, log) = (fixture.ledger(), run_log(&fixture));
        ledger.append(&log, 0, &[json!(1)]).unwrap();
        let mut file =
            OpenOptions::new().append(true).open(log.folder.join("events.jsonl")).unwrap();
        file.lock().unwrap();
        let begun = Instant::now();
        assert_eq!(
            ledger.append(&log, 1, &[json!(2)]).unwrap_err().kind,
            LedgerErrorKind::Unavailable
        );
        assert!(begun.elapsed() < Duration::from_secs(10));
        file.write_all(b"2\n").unwrap();
        file.unlock().unwrap();
        assert_eq!(
            ledger.append(&log, 1, &[json!(2)]).unwrap_err().kind,
            LedgerErrorKind::Conflict
        );
    });
}

#[test]
fn a_task_of_a_newer_version_is_an_error_and_stays() {
    for change in ["'$.newField', 1", "'$.status', 'postponed'"] {
        let fixture = LedgerFixture::new();
        let ledger = fixture.ledger();
        add_tasks(&ledger, 2);
        let database = Connection::open(fixture.file("boards.db")).unwrap();
        database
            .execute(
                &format!("UPDATE tasks SET json = json_set(json, {change}) WHERE number = 2"),
                [],
            )
            .unwrap();
        let row = || -> String {
            let sql = "SELECT json FROM tasks WHERE number = 2";
            database.query_row(sql, [], |row| row.get(0)).unwrap()
        };
        let before = row();
        let errors = [
            ledger.tasks("project").unwrap_err(),
            ledger.update_task("project", Some("2"), &mut |_, _| Ok(())).unwrap_err(),
            ledger.update_task("project", None, &mut |_, _| Ok(())).unwrap_err(),
        ];
        for error in errors {
            assert_eq!(error.kind, LedgerErrorKind::Corrupt);
            assert!(error.detail.contains("newer gambrel"), "{error}");
        }
        assert_eq!(row(), before);
    }
}

#[test]
fn boards_of_a_newer_version_are_an_error() {
    let fixture = LedgerFixture::new();
    add_tasks(&fixture.ledger(), 1);
    let database = Connection::open(fixture.file("boards.db")).unwrap();
    database.pragma_update(None, "user_version", 9).unwrap();
    let error = fixture.ledger().tasks("project").unwrap_err();
    assert_eq!(error.kind, LedgerErrorKind::Corrupt);
    assert!(error.detail.contains("newer gambrel"), "{error}");
}

#[test]
fn secrets_reach_neither_boards_nor_logs() {
    let fixture = LedgerFixture::new();
    let secret = "hunter2-hunter2";
    let secrets = [("TOKEN".to_owned(), secret.to_owned()), ("PIN".to_owned(), "1794".to_owned())];
    let redactor = Redactor::new(std::iter::empty::<(&str, &str)>(), secrets.into_iter());
    let (ledger, log) = (LocalLedger::open(fixture.dir.clone(), redactor), run_log(&fixture));
    ledger.append(&log, 0, &[json!({"text": secret})]).unwrap();
    let task = ledger
        .update_task("project", None, &mut |_, task| {
            task.subject = format!("use {secret}");
            task.metadata.insert("key".to_owned(), json!([secret, 1794]));
            let change = TaskChange { at: 1794, by: "ada".to_owned(), text: secret.to_owned() };
            task.history.push(change);
            Ok(())
        })
        .unwrap();
    assert_eq!(task.subject, "use [redacted:TOKEN]");
    assert_eq!(task.history[0].text, "[redacted:TOKEN]");
    assert_eq!(ledger.tasks("project").unwrap(), [task]);
    for file in [fixture.file("boards.db"), log.folder.join("events.jsonl")] {
        let bytes = std::fs::read(file).unwrap();
        assert!(!bytes.windows(secret.len()).any(|part| part == secret.as_bytes()));
    }
}
