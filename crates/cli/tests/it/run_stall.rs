//! `gambrel status` says since when the agent of a live run has written nothing.

use std::os::unix::fs::FileExt;
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde_json::Value;

use crate::run_fixture::{project_with_stage, run_folder};
use crate::test_project::{TestProject, text, wait_until};

fn minutes_ago(minutes: u64) -> SystemTime {
    SystemTime::now() - Duration::from_secs(minutes * 60)
}

fn set_time(path: &Path, time: SystemTime) {
    std::fs::File::open(path).unwrap().set_modified(time).unwrap();
}

/// Moves the newest line of the log to a time, in place: the run has the file open.
fn set_log_time(project: &TestProject, time: SystemTime) {
    let path = run_folder(project, "work").join("events.jsonl");
    let text = std::fs::read_to_string(&path).unwrap();
    let line: Value = serde_json::from_str(text.lines().last().unwrap()).unwrap();
    assert_eq!(line["type"], "agent_start");
    let old = format!("\"ms\":{}", line["ms"]);
    let new = format!("\"ms\":{}", time.duration_since(UNIX_EPOCH).unwrap().as_millis());
    assert_eq!(old.len(), new.len());
    let place = text.rfind(&old).unwrap();
    let file = std::fs::File::options().write(true).open(&path).unwrap();
    file.write_all_at(new.as_bytes(), place as u64).unwrap();
}

#[test]
fn shows_an_agent_that_writes_nothing() {
    let project = project_with_stage("termination: {type: fixed, iterations: 1}");
    project.script(
        "agent.sh",
        "#!/bin/sh\ncat > /dev/null\n\
         echo hello\n\
         while [ ! -e go ]; do sleep 0.05; done\n\
         printf '{\"decision\":\"continue\"}' > \"$STATUS\"\n",
    );
    let child = project.start(&["run", "work"], b"");
    let output = run_folder(&project, "work").join("stage-00-work/iterations/001/output.md");
    wait_until("what the agent printed is written", || {
        std::fs::read(&output).is_ok_and(|bytes| bytes == b"hello\n")
    });
    let stalled = || project.json(&["status", "work", "--json"])["stalled_since"].clone();
    assert_eq!(stalled(), Value::Null);

    // The agent started a while ago and wrote just now.
    set_log_time(&project, minutes_ago(20));
    set_time(&output, minutes_ago(1));
    assert_eq!(stalled(), Value::Null);

    let last = minutes_ago(12);
    set_time(&output, last);
    let since = stalled();
    let seconds = last.duration_since(UNIX_EPOCH).unwrap().as_secs();
    assert_eq!(since, gambrel_model::iso_time(seconds * 1_000, false));
    let shown = text(&project.run(&["status", "work"], b"").stdout);
    assert!(shown.contains("stalled    no output for 1"), "{shown}");
    let shown = text(&project.run(&["runs"], b"").stdout);
    assert!(shown.contains("running, no output for 1"), "{shown}");
    assert_eq!(project.json(&["runs", "--json"])[0]["stalled_since"], since);

    // Without any output, the start of the agent counts.
    std::fs::remove_file(&output).unwrap();
    let shown = text(&project.run(&["status", "work"], b"").stdout);
    assert!(shown.contains("no output for 2"), "{shown}");

    project.file("go", "");
    let ended = child.wait_with_output().unwrap();
    assert_eq!(ended.status.code(), Some(0), "{}", text(&ended.stderr));
    assert_eq!(stalled(), Value::Null, "a run that has ended does not stall");
}
