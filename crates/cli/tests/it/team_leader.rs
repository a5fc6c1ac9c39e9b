//! The leader of a team as a process: many members at once, kills, a second leader, a hook that
//! changes its task, and a full disk.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use serde_json::{Value, json};

use crate::test_project::{TestProject, text, wait_until};

const MEMBERS: usize = 64;
const MESSAGES: usize = 40;
const KILLS: u64 = 50;

/// A team with completed tasks `1` to `tasks`, and hooks that append their event to `trace`.
fn project_with_team(tasks: usize) -> TestProject {
    let project = TestProject::new().with("PI_TEAMS_HOOKS_ENABLED", "1");
    let config =
        json!({"version": 1, "teamId": "alpha", "taskListId": "alpha", "leadName": "boss"});
    project.file("teams/alpha/config.json", &config.to_string());
    for id in 1..=tasks {
        let task = json!({
            "id": id.to_string(), "subject": format!("Task {id}"), "description": "",
            "owner": format!("m{id}"), "status": "completed", "blocks": [], "blockedBy": [],
            "metadata": {}, "createdAt": "2026-01-01T00:00:00.000Z",
            "updatedAt": "2026-01-01T00:00:00.000Z",
        });
        project.file(&format!("teams/alpha/tasks/alpha/{id}.json"), &task.to_string());
    }
    project.file("teams/_hooks/on_idle.sh", "echo \"idle $PI_TEAMS_MEMBER\" >> trace\n");
    project.file(
        "teams/_hooks/on_task_completed.sh",
        "echo \"completed $PI_TEAMS_TASK_ID\" >> trace\n",
    );
    project
}

fn trace(project: &TestProject) -> Vec<String> {
    let text = std::fs::read_to_string(project.root.join("trace")).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

fn read_json(project: &TestProject, path: &str) -> Value {
    let text = std::fs::read_to_string(project.root.join("teams/alpha").join(path));
    serde_json::from_str(&text.unwrap_or_else(|error| panic!("{path}: {error}"))).unwrap()
}

/// Files of the team whose name has this part.
fn files_with(project: &TestProject, part: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![project.root.join("teams/alpha")];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.file_name().unwrap().to_string_lossy().contains(part) {
                found.push(path);
            }
        }
    }
    found
}

/// Puts one idle notification per task into the leader's inbox.
fn fill_inbox(project: &TestProject, tasks: std::ops::RangeInclusive<usize>) {
    let message = |id: usize| {
        let timestamp = "2026-01-02T00:00:00.000Z";
        let notice = json!({
            "type": "idle_notification", "from": format!("m{id}"), "timestamp": timestamp,
            "completedTaskId": id.to_string(), "completedStatus": "completed",
        });
        json!({
            "from": format!("m{id}"), "text": notice.to_string(), "timestamp": timestamp,
            "read": false,
        })
    };
    let messages: Vec<Value> = tasks.map(message).collect();
    let inbox = "teams/alpha/mailboxes/team/inboxes/boss.json";
    project.file(inbox, &Value::from(messages).to_string());
}

fn unread_count(project: &TestProject) -> usize {
    let inbox = read_json(project, "mailboxes/team/inboxes/boss.json");
    inbox.as_array().unwrap().iter().filter(|message| message["read"] == false).count()
}

#[test]
fn many_members_finish_at_once() {
    let project = project_with_team(MEMBERS);
    let members: Vec<_> = (1..=MEMBERS)
        .map(|id| {
            let (member, task) = (format!("m{id}"), id.to_string());
            let args = ["team", "idle", "--team", "teams/alpha", "--member", &member];
            project.start(&[&args[..], &["--task", &task]].concat(), b"")
        })
        .collect();
    for member in members {
        let output = member.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        assert_eq!(text(&output.stdout).lines().count(), 2, "{}", text(&output.stdout));
    }
    let mut seen = trace(&project);
    seen.sort();
    let mut wanted: Vec<String> =
        (1..=MEMBERS).flat_map(|id| [format!("completed {id}"), format!("idle m{id}")]).collect();
    wanted.sort();
    assert_eq!(seen, wanted);
    assert_eq!(files_with(&project, "_idle").len(), MEMBERS);
    assert_eq!(files_with(&project, "_task_completed").len(), MEMBERS);
    assert_eq!(files_with(&project, ".lock"), Vec::<PathBuf>::new());
    assert_eq!(files_with(&project, ".tmp"), Vec::<PathBuf>::new());
    for id in 1..=MEMBERS {
        let task = read_json(&project, &format!("tasks/alpha/{id}.json"));
        assert_eq!(task["metadata"]["qualityGateStatus"], "passed", "{task}");
    }
}

#[test]
fn a_killed_leader_repeats_no_recorded_hook() {
    let project = project_with_team(MESSAGES);
    // One line before and one after the work, so that hooks that were cut off are known.
    project.file(
        "teams/_hooks/on_task_completed.sh",
        "echo \"begin $PI_TEAMS_TASK_ID\" >> trace\n\
         echo \"end $PI_TEAMS_TASK_ID\" >> trace; exit 1\n",
    );
    fill_inbox(&project, 1..=MESSAGES);
    let mut killed = 0;
    let mut pause = 7_u64;
    while killed < KILLS {
        let mut leader = project.start(&["team", "watch", "--team", "teams/alpha"], b"");
        // Different moments: from before the first message to after several.
        pause = (pause * 31 + 11) % 97;
        std::thread::sleep(Duration::from_millis(pause));
        leader.kill().unwrap();
        leader.wait().unwrap();
        killed += 1;
        if unread_count(&project) == 0 {
            break;
        }
    }
    let last = project.run(&["team", "watch", "--once", "--team", "teams/alpha"], b"");
    assert!(last.status.code().is_some_and(|code| code <= 1), "{}", text(&last.stderr));
    assert_eq!(unread_count(&project), 0, "{}", text(&last.stderr));

    let mut ended: BTreeMap<String, u64> = BTreeMap::new();
    for line in trace(&project) {
        if let Some(id) = line.strip_prefix("end ") {
            *ended.entry(id.to_owned()).or_default() += 1;
        }
    }
    // A hook that ended just before its outcome was recorded runs again: once per kill at most.
    let repeated: u64 = ended.values().map(|count| count - 1).sum();
    println!("{killed} kills, {MESSAGES} messages, {repeated} hooks ran again before a record");
    assert_eq!(ended.len(), MESSAGES);
    assert!(repeated <= killed, "{ended:?}");
    for id in 1..=MESSAGES {
        let task = read_json(&project, &format!("tasks/alpha/{id}.json"));
        assert_eq!(task["metadata"]["qualityGateFailureCount"], 1, "{task}");
        let inbox = read_json(&project, &format!("mailboxes/alpha/inboxes/m{id}.json"));
        assert_eq!(inbox.as_array().unwrap().len(), 1, "{inbox}");
    }
}

#[test]
fn a_second_leader_waits_for_the_first() {
    let project = project_with_team(2);
    let mut first = project.start(&["team", "watch", "--team", "teams/alpha"], b"");
    fill_inbox(&project, 1..=1);
    wait_until("the first message is read", || unread_count(&project) == 0);
    let mut second = project.start(&["team", "watch", "--team", "teams/alpha"], b"");
    let mut line = String::new();
    let mut stderr = std::io::BufReader::new(second.stderr.take().unwrap());
    std::io::BufRead::read_line(&mut stderr, &mut line).unwrap();
    let status = project.json(&["team", "status", "--team", "teams/alpha", "--json"]);
    assert_eq!(status["watchedBy"], json!(first.id()));
    first.kill().unwrap();
    first.wait().unwrap();
    assert!(line.contains(&format!("waiting for process {}", first.id())), "{line}");
    fill_inbox(&project, 2..=2);
    wait_until("the second leader reads", || unread_count(&project) == 0);
    second.kill().unwrap();
    second.wait().unwrap();
    assert_eq!(trace(&project), ["idle m1", "completed 1", "idle m2", "completed 2"]);
}

#[test]
fn a_hook_that_changes_its_task_loses_nothing() {
    let project = project_with_team(1);
    let changed = json!({
        "id": "1", "subject": "Changed", "description": "", "owner": "m1", "status": "completed",
        "metadata": {"own": "value"},
    });
    project.file("changed.json", &changed.to_string());
    project.file(
        "teams/_hooks/on_task_completed.sh",
        "cp changed.json \"$PI_TEAMS_TEAM_DIR/tasks/alpha/1.json\"\n",
    );
    let args = ["team", "idle", "--team", "teams/alpha", "--member", "m1", "--task", "1"];
    let output = project.run(&args, b"");
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let task = read_json(&project, "tasks/alpha/1.json");
    assert_eq!((&task["subject"], &task["metadata"]["own"]), (&json!("Changed"), &json!("value")));
    assert_eq!(task["metadata"]["qualityGateStatus"], "passed");
}

#[test]
fn large_metadata_reaches_the_hook_in_a_file() {
    let project = project_with_team(1);
    let long = "x".repeat(200_000);
    let task = json!({
        "id": "1", "subject": "Long", "description": "", "owner": "m1", "status": "completed",
        "metadata": {"result": long},
    });
    project.file("teams/alpha/tasks/alpha/1.json", &task.to_string());
    project.file(
        "teams/_hooks/on_task_completed.sh",
        "grep -c xxxxx \"$PI_TEAMS_HOOK_CONTEXT_FILE\" >> trace\n\
         case $PI_TEAMS_HOOK_CONTEXT_JSON in *xxxxx*) exit 1;; esac\n",
    );
    let args = ["team", "idle", "--team", "teams/alpha", "--member", "m1", "--task", "1"];
    let output = project.run(&args, b"");
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert_eq!(trace(&project), ["idle m1", "1"]);
    let task = read_json(&project, "tasks/alpha/1.json");
    assert_eq!(task["metadata"]["result"].as_str().unwrap().len(), 200_000);
}

/// Runs in a mount namespace: the team is on a full disk, then on a larger one.
const FULL_DISK: &str = "set -u\n\
    mount -t tmpfs -o size=64k tmpfs teams/alpha || exit 77\n\
    cp -r saved/. teams/alpha\n\
    head -c 1000000 /dev/zero > teams/alpha/filler 2> /dev/null\n\
    \"$0\" team watch --once --team teams/alpha 2> first.err; echo \"watch $?\" >> codes\n\
    cp teams/alpha/tasks/alpha/1.json kept.json\n\
    rm teams/alpha/filler; mount -o remount,size=16m teams/alpha\n\
    \"$0\" team watch --once --team teams/alpha 2> second.err; echo \"watch $?\" >> codes\n\
    cp -r teams/alpha/. after\n";

#[test]
fn a_full_disk_loses_no_message() {
    let project = project_with_team(1);
    fill_inbox(&project, 1..=1);
    std::fs::create_dir(project.root.join("after")).unwrap();
    let mut copy = Command::new("cp");
    copy.args(["-r", "teams/alpha", "saved"]).current_dir(&project.root);
    assert!(copy.status().unwrap().success());
    if !project.run_in_mount_namespace(FULL_DISK) {
        return;
    }
    let read = |name: &str| std::fs::read_to_string(project.root.join(name)).unwrap_or_default();
    let shown = format!("{}{}", read("first.err"), read("second.err"));
    assert_eq!(read("codes"), "watch 1\nwatch 0\n", "{shown}");
    assert!(read("first.err").contains("No space left"), "{shown}");
    let kept: Value = serde_json::from_str(&read("kept.json")).unwrap();
    assert_eq!(kept["subject"], "Task 1");
    let inbox: Value =
        serde_json::from_str(&read("after/mailboxes/team/inboxes/boss.json")).unwrap();
    assert_eq!(inbox[0]["read"], true);
    let task: Value = serde_json::from_str(&read("after/tasks/alpha/1.json")).unwrap();
    assert_eq!(task["metadata"]["qualityGateStatus"], "passed");
    // The hooks of the first attempt were recorded.
    assert_eq!(trace(&project), ["idle m1", "completed 1"]);
}

#[test]
fn the_shipped_team_does_what_its_readme_says() {
    let project = TestProject::new().with("PI_TEAMS_HOOKS_ENABLED", "1");
    let example = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/team/teams");
    let mut copy = Command::new("cp");
    copy.args(["-r", example, "."]).current_dir(&project.root);
    assert!(copy.status().unwrap().success());
    let idle = ["team", "idle", "--team", "teams/build", "--member", "ada", "--task", "1"];
    let output = project.run(&idle, b"");
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stderr));
    assert!(text(&output.stdout).contains("NOTES.md is missing or empty"));
    let status = project.json(&["team", "status", "--team", "teams/build", "--json"]);
    let states: Vec<&Value> =
        status["tasks"].as_array().unwrap().iter().map(|task| &task["status"]).collect();
    assert_eq!(states, [&json!("pending"), &json!("pending")], "{status}");
    project.file("NOTES.md", "first release\n");
    let done = ["task", "update", "1", "--status", "completed", "--team", "teams/build", "--json"];
    assert_eq!(project.json(&done)["status"], "completed");
}
