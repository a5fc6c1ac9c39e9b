//! The task board of a project through `gambrel task`: exclusive claims, hooks that decide about new
//! and completed tasks, and clear refusals.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::processes::{TOKEN, processes_with_token};
use crate::test_project::{TestProject, text, wait_until};

fn task(project: &TestProject, args: &[&str], code: i32) -> Value {
    let output = project.run(&[&["task"], args, &["--json"]].concat(), b"");
    assert_eq!(output.status.code(), Some(code), "{args:?}: {}", text(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

fn add(project: &TestProject, subject: &str) -> String {
    task(project, &["add", subject], 0)["id"].as_str().unwrap().to_owned()
}

fn read(project: &TestProject, name: &str) -> String {
    std::fs::read_to_string(project.root.join(name)).unwrap_or_default()
}

#[test]
fn a_task_has_the_documented_keys() {
    let project = TestProject::new();
    let added = task(&project, &["add", "Write it", "--description", "all", "--priority", "1"], 0);
    let keys: Vec<&String> = added.as_object().unwrap().keys().collect();
    let documented = [
        "id",
        "subject",
        "description",
        "owner",
        "status",
        "priority",
        "blocks",
        "blockedBy",
        "metadata",
        "createdAt",
        "updatedAt",
    ];
    assert_eq!(keys.into_iter().collect::<BTreeSet<_>>().len(), documented.len());
    assert!(documented.iter().all(|key| added.get(key).is_some()), "{added}");
    assert_eq!((&added["status"], &added["priority"]), (&json!("pending"), &json!(1)));
    assert_eq!(task(&project, &["add", "Other"], 0)["priority"], 2);
    assert_eq!(task(&project, &["list"], 0).as_array().unwrap().len(), 2);
    task(&project, &["add", "  "], 1);
    let bad = project.run(&["task", "add", "x", "--priority", "5"], b"");
    assert_eq!(bad.status.code(), Some(64), "{}", text(&bad.stderr));
}

#[test]
fn a_task_goes_through_its_states() {
    let project = TestProject::new();
    let id = add(&project, "Write it");
    assert_eq!(task(&project, &["claim", &id, "--owner", "ada"], 0)["owner"], "ada");
    let refused = task(&project, &["claim", &id, "--owner", "bob"], 1);
    assert_eq!(refused["error"], "task 1 is in_progress, owner ada");
    let back = task(&project, &["fail", &id, "--reason", "no time"], 0);
    assert_eq!((&back["status"], &back["owner"]), (&json!("pending"), &Value::Null));
    task(&project, &["fail", &id], 1);
    task(&project, &["claim", &id, "--owner", "bob"], 0);
    assert_eq!(task(&project, &["done", &id], 0)["status"], "completed");
    let shown = task(&project, &["show", &id], 0);
    let history: Vec<&str> =
        shown["history"].as_array().unwrap().iter().map(|c| c["text"].as_str().unwrap()).collect();
    let wanted = ["added", "claimed by ada", "failed: no time", "claimed by bob", "completed"];
    assert_eq!(history, wanted);
    for args in [&["done", "9"][..], &["claim", "9"], &["show", "9"]] {
        let output = project.run(&[&["task"], args].concat(), b"");
        assert_eq!(output.status.code(), Some(1));
        assert!(text(&output.stderr).contains("there is no"), "{}", text(&output.stderr));
    }
}

#[test]
fn a_task_waits_for_others() {
    let project = TestProject::new();
    let first = add(&project, "First");
    let second = task(&project, &["add", "Second", "--blocked-by", &first], 0)["id"].clone();
    let second = second.as_str().unwrap();
    assert_eq!(task(&project, &["show", &first], 0)["blocks"], json!([second]));
    assert_eq!(task(&project, &["claim", second], 1)["error"], "task 2 waits for task 1");
    let cycle = task(&project, &["update", &first, "--blocked-by", second], 1);
    assert_eq!(cycle["error"], "task 2 waits for task 1");
    task(&project, &["update", &first, "--blocked-by", "7"], 1);
    task(&project, &["done", &first], 0);
    task(&project, &["claim", second], 0);
    let changed = task(&project, &["update", second, "--owner", "", "--status", "blocked"], 0);
    assert_eq!((&changed["owner"], &changed["status"]), (&Value::Null, &json!("blocked")));
    assert_eq!(
        task(&project, &["update", second, "--status", "completed"], 0)["status"],
        "completed"
    );
}

/// Hooks at a completed task: Claude Code's refuses while the file `refuse` exists, iteratr's
/// reports.
pub fn add_task_hooks(project: &TestProject) {
    let command = "cat > asked.json; [ ! -e refuse ] || { echo 'tests are red' >&2; exit 2; }";
    let hook = json!({"type": "command", "command": command});
    let settings = json!({"hooks": {"TaskCompleted": [{"hooks": [hook]}]}});
    project.file(".claude/settings.json", &settings.to_string());
    project.file(
        ".iteratr.hooks.yml",
        "version: 1\nhooks:\n  on_task_complete:\n    \
         - command: 'echo {{task_id}} {{task_content}} {{session}} >> reports'\n",
    );
}

#[test]
fn hooks_of_every_dialect_receive_a_completed_task() {
    let project = TestProject::new();
    add_task_hooks(&project);
    project.file(
        ".gambrel/hooks.yaml",
        "hooks:\n  on_task_completed: [{type: shell, await: true, command: 'echo unified >> reports'}]\n",
    );
    let id = task(&project, &["add", "Write it", "--description", "whole"], 0)["id"].clone();
    let id = id.as_str().unwrap();
    project.file("refuse", "");
    let refused = task(&project, &["done", id], 1);
    assert!(refused["error"].as_str().unwrap().contains("tests are red"), "{refused}");
    assert_eq!(task(&project, &["show", id], 0)["status"], "pending");
    assert_eq!(read(&project, "reports"), "");

    std::fs::remove_file(project.root.join("refuse")).unwrap();
    task(&project, &["done", id, "--session", "night"], 0);
    let reports: BTreeSet<String> = read(&project, "reports").lines().map(str::to_owned).collect();
    assert!(reports.contains("unified"), "{reports:?}");
    assert!(reports.contains("1 Write it") && reports.contains("whole night"), "{reports:?}");
    let asked: Value = serde_json::from_str(&read(&project, "asked.json")).unwrap();
    assert_eq!((&asked["task_id"], &asked["task_subject"]), (&json!("1"), &json!("Write it")));

    let before = read(&project, "reports");
    task(&project, &["done", id], 0);
    assert_eq!(read(&project, "reports"), before, "a completed task fires nothing");
}

#[test]
fn a_hook_refuses_a_new_task() {
    let project = TestProject::new();
    let hook = json!({"type": "command", "command": "echo too vague >&2; exit 2"});
    let settings = json!({"hooks": {"TaskCreated": [{"hooks": [hook]}]}});
    project.file(".claude/settings.json", &settings.to_string());
    let refused = task(&project, &["add", "Something"], 1);
    assert!(refused["error"].as_str().unwrap().contains("too vague"), "{refused}");
    assert_eq!(task(&project, &["list"], 0), json!([]));
}

#[test]
fn a_hook_may_edit_the_board_while_it_is_asked() {
    let project = TestProject::new();
    let gambrel = crate::test_project::program();
    let command = format!("{gambrel} task update 1 --description edited > /dev/null");
    let hook = json!({"type": "command", "command": command});
    let settings = json!({"hooks": {"TaskCompleted": [{"hooks": [hook]}]}});
    project.file(".claude/settings.json", &settings.to_string());
    add(&project, "Write it");
    let done = task(&project, &["done", "1"], 0);
    assert_eq!((&done["status"], &done["description"]), (&json!("completed"), &json!("edited")));
}

#[test]
fn watch_prints_each_change() {
    use std::io::{BufRead, BufReader};
    let project = TestProject::new();
    add(&project, "First");
    let mut watch = project.start(&["task", "watch", "--json"], b"");
    let mut lines = BufReader::new(watch.stdout.take().unwrap()).lines();
    let mut next = || -> Value { serde_json::from_str(&lines.next().unwrap().unwrap()).unwrap() };
    assert_eq!(next()["subject"], "First");
    task(&project, &["done", "1"], 0);
    assert_eq!(next()["status"], "completed");
    add(&project, "Second");
    assert_eq!(next()["subject"], "Second");
    watch.kill().unwrap();
    watch.wait().unwrap();
}

/// Processes that claim and complete the tasks of one board at the same time.
const WORKER_COUNT: usize = 64;

#[test]
fn many_processes_share_a_board() {
    let tasks = crate::processes::full_count(100, 640);
    let project = TestProject::new();
    project.file(
        ".iteratr.hooks.yml",
        "version: 1\nhooks:\n  on_task_complete: [{command: 'echo {{task_id}} >> completed'}]\n",
    );
    for number in 0..tasks {
        add(&project, &format!("task {number}"));
    }
    let claimed = std::sync::Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for worker in 0..WORKER_COUNT {
            let (project, claimed) = (&project, &claimed);
            scope.spawn(move || {
                let owner = format!("worker-{worker}");
                loop {
                    let open = task(project, &["list", "--status", "pending"], 0);
                    let open = open.as_array().unwrap();
                    if open.is_empty() {
                        break;
                    }
                    let id = open[worker % open.len()]["id"].as_str().unwrap();
                    let args = ["task", "claim", id, "--owner", &owner, "--json"];
                    let output = project.run(&args, b"");
                    match output.status.code() {
                        Some(1) => continue,
                        code => assert_eq!(code, Some(0), "{}", text(&output.stderr)),
                    }
                    claimed.lock().unwrap().push(id.to_owned());
                    task(project, &["done", id], 0);
                }
            });
        }
    });
    let mut claimed = claimed.into_inner().unwrap();
    assert_eq!(claimed.len(), tasks);
    claimed.sort();
    let unique: BTreeSet<&String> = claimed.iter().collect();
    assert_eq!(unique.len(), claimed.len(), "a task was claimed twice");
    let mut reports: Vec<String> = read(&project, "completed").lines().map(str::to_owned).collect();
    reports.sort();
    assert_eq!(reports, claimed, "each completed task fires once");
    let listed = task(&project, &["list", "--status", "completed"], 0);
    assert_eq!(listed.as_array().unwrap().len(), tasks);
    eprintln!("{WORKER_COUNT} processes completed {tasks} tasks, each once");
}

#[test]
fn hooks_of_a_killed_completion_run_at_the_next_one() {
    let token = &format!("task-killed-{}", std::process::id());
    let project = TestProject::new().with(TOKEN, token);
    project.file(
        ".iteratr.hooks.yml",
        "version: 1\nhooks:\n  on_task_complete:\n    \
         - {command: 'echo {{task_id}} >> first'}\n    \
         - {command: 'echo {{task_id}} >> begun; until test -e go; do sleep 0.02; done; echo {{task_id}} >> ended'}\n",
    );
    add(&project, "Write it");
    let mut completion = project.start(&["task", "done", "1"], b"");
    wait_until("the hook runs", || !read(&project, "begun").is_empty());
    let meanwhile = task(&project, &["done", "1"], 0);
    assert_eq!(meanwhile["status"], "completed");
    completion.kill().unwrap();
    completion.wait().unwrap();
    wait_until("its hook has ended", || processes_with_token(token).is_empty());
    assert_eq!(task(&project, &["show", "1"], 0)["status"], "completed");
    project.file("go", "");
    task(&project, &["done", "1"], 0);
    assert_eq!(read(&project, "ended"), "1\n");
    assert_eq!(read(&project, "first"), "1\n", "a finished hook does not run again");
    task(&project, &["done", "1"], 0);
    assert_eq!(read(&project, "ended"), "1\n", "nothing is due any more");
    let shown = task(&project, &["show", "1"], 0);
    assert_eq!(shown["metadata"], json!({}));
}
