//! `gambrel mcp` as an agent sees it: every tool, every rule with its text, hooks that decide, and
//! clients that misbehave.

use std::time::Duration;

use serde_json::{Value, json};

use crate::mcp_client::McpClient;
use crate::task_board::add_task_hooks;
use crate::test_project::{TestProject, text, wait_until};

/// The most bytes of a task's text.
const MAX_TEXT_BYTES: usize = 64 << 10;
/// Longer than the protocol's library waits for calls of a client that has gone.
const LIBRARY_DELAY: Duration = Duration::from_secs(7);

fn list(project: &TestProject) -> Vec<Value> {
    project.json(&["task", "list", "--json"]).as_array().unwrap().clone()
}

fn status(project: &TestProject, id: &str) -> String {
    let shown = project.json(&["task", "show", id, "--json"]);
    shown["status"].as_str().unwrap().to_owned()
}

fn lines(project: &TestProject, name: &str) -> Vec<String> {
    let all = std::fs::read_to_string(project.root.join(name)).unwrap_or_default();
    all.lines().map(str::to_owned).collect()
}

/// A client in an iteration of the run `night`.
fn start_in_iteration(project: &TestProject, iteration: u64) -> McpClient {
    set_iteration(project, iteration);
    let run_dir = project.root.join("night run").display().to_string();
    McpClient::start(project, &[("GAMBREL_SESSION", "night"), ("GAMBREL_RUN_DIR", &run_dir)])
}

fn set_iteration(project: &TestProject, iteration: u64) {
    project.file("night run/state.json", &json!({"iteration": iteration}).to_string());
}

#[test]
fn lists_its_tools() {
    let project = TestProject::new();
    let mut client = McpClient::start(&project, &[]);
    let answer = client.request("tools/list", &json!({}));
    let tools = answer["result"]["tools"].as_array().unwrap();
    let names: Vec<&str> = tools.iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    let wanted = [
        "task-add",
        "task-update",
        "task-list",
        "task-next",
        "note-add",
        "note-list",
        "iteration-summary",
        "session-complete",
    ];
    assert_eq!(names, wanted);
    assert!(tools.iter().all(|tool| tool["inputSchema"]["type"] == "object"), "{answer}");
    let unknown = client.request_call("task-delete", &json!({}));
    assert_eq!(unknown["error"]["message"], "there is no tool `task-delete`", "{unknown}");
    assert_eq!(client.wait_for_end(), Some(0));
}

#[test]
fn every_tool_works() {
    let project = TestProject::new();
    let mut client = start_in_iteration(&project, 3);
    let tasks = json!([
        {"content": " Write it "}, {"content": "Test it", "priority": 0},
        {"content": "Never", "status": "cancelled", "priority": 4},
    ]);
    let added = client.call("task-add", json!({"tasks": tasks}));
    let first = json!({
        "id": "TAS-1", "content": "Write it", "status": "remaining", "priority": 2,
        "depends_on": [], "iteration": 3,
    });
    assert_eq!(added["added"][0], first);
    assert_eq!(client.call("task-next", json!({}))["task"]["id"], "TAS-2");
    let changed = client.call("task-update", json!({"id": "TAS-2", "depends_on": ["TAS-1"]}));
    assert_eq!(changed["depends_on"], json!(["TAS-1"]));
    assert_eq!(client.call("task-next", json!({}))["task"]["id"], "TAS-1");
    assert_eq!(client.set_status("TAS-1", "in_progress")["status"], "in_progress");
    assert_eq!(client.call("task-next", json!({}))["task"], Value::Null);
    assert_eq!(project.json(&["task", "show", "1", "--json"])["owner"], "night");
    assert_eq!(client.set_status("TAS-1", "completed")["status"], "completed");
    let changed = client.call("task-update", json!({"id": "TAS-2", "priority": 1}));
    assert_eq!((&changed["priority"], &changed["status"]), (&json!(1), &json!("remaining")));
    let listed = client.call("task-list", json!({}));
    let statuses: Vec<&Value> =
        listed["tasks"].as_array().unwrap().iter().map(|task| &task["status"]).collect();
    assert_eq!(statuses, ["completed", "remaining", "cancelled"]);

    let notes =
        json!([{"content": "Use it", "type": "tip"}, {"content": "So", "type": "decision"}]);
    client.call("note-add", json!({"notes": notes}));
    let one = client.call("note-add", json!({"content": "Learned"}));
    let learned = json!({"id": "NOT-3", "type": "learning", "content": "Learned", "iteration": 3});
    assert_eq!(one["added"], json!([learned]));
    assert_eq!(client.call("note-list", json!({}))["notes"].as_array().unwrap().len(), 3);
    let tips = client.call("note-list", json!({"type": "tip"}));
    assert_eq!(tips["notes"].as_array().unwrap().len(), 1, "{tips}");
    assert_eq!(tips["notes"][0]["content"], "Use it");

    let summary = client.call("iteration-summary", json!({"summary": "wrote it"}));
    assert_eq!(summary, json!({"summary": "wrote it", "iteration": 3}));
    client.set_status("TAS-2", "blocked");
    let done = client.call("session-complete", json!({}));
    assert_eq!(done, json!({"session": "night", "complete": true}));
    assert_eq!(client.wait_for_end(), Some(0));
}

#[test]
fn a_session_has_one_task_in_progress() {
    let project = TestProject::new();
    let mut client = McpClient::in_session(&project, "night");
    for content in ["one", "two"] {
        client.add(content);
    }
    client.set_status("TAS-1", "in_progress");
    let refused = "error: TAS-1 is in progress: only one task may be";
    assert_eq!(client.refused_status("TAS-2", "in_progress"), refused);
    let third = json!({"tasks": [{"content": "three", "status": "in_progress"}]});
    assert_eq!(client.refusal("task-add", third.clone()), refused);
    assert_eq!(list(&project).len(), 2, "a refused task is not added");
    // Without an iteration, the next task may start when the first one is done.
    client.set_status("TAS-1", "completed");
    assert_eq!(client.call("task-add", third)["added"][0]["status"], "in_progress");
    let refused = "error: TAS-3 is in progress: only one task may be";
    assert_eq!(client.refused_status("TAS-2", "in_progress"), refused);
    let shown = project.json(&["task", "show", "3", "--json"]);
    assert_eq!(shown["owner"], "night");
    let two = json!([
        {"content": "four", "status": "in_progress"}, {"content": "five", "status": "in_progress"},
    ]);
    client.set_status("TAS-3", "completed");
    let refused = client.refusal("task-add", json!({"tasks": two}));
    assert_eq!(refused, "error: only one task may be in progress");
    assert_eq!(list(&project).len(), 3);
}

#[test]
fn a_client_without_a_session_has_one_task_in_progress() {
    let project = TestProject::new();
    let mut client = McpClient::start(&project, &[]);
    for content in ["one", "two"] {
        client.add(content);
    }
    project.json(&["task", "add", "for ada", "--owner", "ada", "--json"]);
    project.json(&["task", "claim", "1", "--owner", "bob", "--json"]);
    // A task of somebody else is no task of this client.
    client.set_status("TAS-3", "in_progress");
    let refused = "error: TAS-3 is in progress: only one task may be";
    assert_eq!(client.refused_status("TAS-2", "in_progress"), refused);
    assert_eq!(
        client.refused_status("TAS-1", "in_progress"),
        "error: TAS-1 is in progress, owner bob"
    );
}

#[test]
fn an_iteration_starts_one_task() {
    let project = TestProject::new();
    let mut client = start_in_iteration(&project, 1);
    for content in ["one", "two", "three"] {
        client.add(content);
    }
    client.set_status("TAS-1", "in_progress");
    client.set_status("TAS-1", "completed");
    let refused = "error: TAS-1 was started in this iteration: only one task may be";
    assert_eq!(client.refused_status("TAS-2", "in_progress"), refused);
    let other = json!({"tasks": [{"content": "four", "status": "in_progress"}]});
    assert_eq!(client.refusal("task-add", other), refused);
    // A task may be completed without a start.
    client.set_status("TAS-3", "completed");
    // The same process sees the next iteration.
    set_iteration(&project, 2);
    client.set_status("TAS-2", "in_progress");
}

#[test]
fn a_task_that_waits_does_not_start() {
    let project = TestProject::new();
    let mut client = McpClient::in_session(&project, "night");
    client.add("one");
    client.add("two");
    client.call("task-update", json!({"id": "TAS-2", "depends_on": ["TAS-1"]}));
    assert_eq!(client.refused_status("TAS-2", "in_progress"), "error: TAS-2 depends on TAS-1");
    let cycle = client.refusal("task-update", json!({"id": "TAS-1", "depends_on": ["TAS-2"]}));
    assert!(cycle.starts_with("error: task 2 waits for task 1"), "{cycle}");
    let unknown = client.refusal("task-update", json!({"id": "TAS-1", "depends_on": ["TAS-9"]}));
    assert_eq!(unknown, "error: there is no task `TAS-9`");
    let word = client.refusal("task-update", json!({"id": "TAS-1", "depends_on": "TAS-2"}));
    assert_eq!(word, "error: `depends_on` is a list of ids");
    client.call("task-update", json!({"id": "TAS-2", "depends_on": []}));
    client.set_status("TAS-2", "in_progress");
}

#[test]
fn a_content_is_on_the_board_once() {
    let project = TestProject::new();
    let mut client = McpClient::start(&project, &[]);
    client.add("Schreibe Über");
    let same = json!({"tasks": [{"content": "new"}, {"content": "\t schreibe über "}]});
    assert_eq!(client.refusal("task-add", same), "error: TAS-1 has the same content");
    let twice = json!({"tasks": [{"content": "new"}, {"content": " NEW"}]});
    assert_eq!(client.refusal("task-add", twice), "error: the task `NEW` is in the list twice");
    assert_eq!(list(&project).len(), 1, "a refused list adds nothing");
}

#[test]
fn an_iteration_has_one_summary() {
    let project = TestProject::new();
    let mut client = start_in_iteration(&project, 1);
    client.call("iteration-summary", json!({"summary": "first"}));
    let second = json!({"summary": "second"});
    let refused = client.refusal("iteration-summary", second.clone());
    assert_eq!(refused, "error: this iteration has a summary");
    let empty = client.refusal("iteration-summary", json!({"summary": " "}));
    assert_eq!(empty, "error: `summary` is a text that is not empty");
    assert_eq!(client.call("note-list", json!({}))["notes"], json!([]));
    set_iteration(&project, 2);
    assert_eq!(client.call("iteration-summary", second)["iteration"], 2);
}

#[test]
fn a_session_with_open_tasks_is_not_complete() {
    let project = TestProject::new();
    McpClient::in_session(&project, "other").add("of another session");
    project.json(&["task", "add", "of no session", "--json"]);
    let mut client = McpClient::in_session(&project, "night");
    client.add("own");
    client.set_status("TAS-3", "in_progress");
    let refused = client.refusal("session-complete", json!({}));
    let rule = "not in terminal state (completed/blocked/cancelled).";
    let wanted = format!("error: cannot complete session: 2 task(s) {rule} Open: TAS-2, TAS-3");
    assert_eq!(refused, wanted);
    client.set_status("TAS-2", "cancelled");
    client.set_status("TAS-3", "blocked");
    // A task that this session works on counts, whoever added it.
    client.set_status("TAS-1", "in_progress");
    let refused = client.refusal("session-complete", json!({}));
    assert!(refused.contains(" 1 task(s) ") && refused.ends_with("Open: TAS-1"), "{refused}");
    client.set_status("TAS-1", "completed");
    assert_eq!(client.call("session-complete", json!({}))["complete"], true);
}

#[test]
fn a_prefix_names_a_task() {
    let project = TestProject::new();
    let mut client = McpClient::start(&project, &[]);
    client.add("task 1");
    assert_eq!(client.call("task-update", json!({"id": "TAS", "priority": 1}))["id"], "TAS-1");
    for number in 2..=11 {
        client.add(&format!("task {number}"));
    }
    let update = |id: &str| json!({"id": id, "priority": 3});
    for (given, found) in
        [("TAS-1", "TAS-1"), ("tas-11", "TAS-11"), ("11", "TAS-11"), ("2", "TAS-2")]
    {
        assert_eq!(client.call("task-update", update(given))["id"], found);
    }
    for (given, refused) in [
        ("TAS", "several tasks begin with `TAS`"),
        ("TAS-", "several tasks begin with `TAS-`"),
        ("TA", "there is no task `TA`"),
        ("TAS-12", "there is no task `TAS-12`"),
        ("", "there is no task ``"),
        ("über", "there is no task `über`"),
    ] {
        assert_eq!(client.refusal("task-update", update(given)), format!("error: {refused}"));
    }
}

#[test]
fn a_wrong_word_is_refused() {
    let project = TestProject::new();
    let mut client = McpClient::start(&project, &[]);
    client.add("one");
    let statuses =
        "error: `status` is one of remaining, in_progress, completed, blocked, cancelled";
    let priorities = "error: `priority` is a number from 0 to 4";
    let kinds = "error: `type` is one of learning, stuck, tip, decision";
    let add = |key: &str, value: Value| json!({"tasks": [{"content": "two", key: value}]});
    let update = |key: &str, value: Value| json!({"id": "TAS-1", key: value});
    for (tool, args, refused) in [
        ("task-add", add("status", json!("done")), statuses),
        ("task-add", add("status", json!(1)), statuses),
        ("task-add", add("priority", json!(5)), priorities),
        ("task-add", add("priority", json!("high")), priorities),
        ("task-update", update("status", json!("done")), statuses),
        ("task-update", update("priority", json!(-1)), priorities),
        ("task-update", update("priority", json!(1.5)), priorities),
        ("task-update", json!({"id": "TAS-1"}), "error: give `status`, `priority` or `depends_on`"),
        ("note-add", json!({"content": "x", "type": "idea"}), kinds),
        ("note-add", json!({"notes": [{"content": "x", "type": 1}]}), kinds),
        ("note-list", json!({"type": "idea"}), kinds),
        ("note-add", json!({}), "error: a note needs `content`"),
        ("task-add", json!({"tasks": [{"content": "  "}]}), "error: a task needs `content`"),
        (
            "task-add",
            json!({"tasks": []}),
            "error: `tasks` is a list of {content, status, priority}",
        ),
    ] {
        assert_eq!(client.refusal(tool, args.clone()), refused, "{tool} {args}");
    }
    assert_eq!(list(&project).len(), 1);
    assert_eq!(client.call("note-list", json!({}))["notes"], json!([]));
}

#[test]
fn hooks_decide_about_a_completed_task() {
    let project = TestProject::new();
    add_task_hooks(&project);
    let mut client = McpClient::in_session(&project, "night");
    client.add("Write it");
    project.file("refuse", "");
    let before = project.json(&["task", "show", "1", "--json"]);
    let update = json!({"id": "TAS-1", "status": "completed", "priority": 0});
    let refused = client.refusal("task-update", update.clone());
    assert!(refused.starts_with("error: a hook refuses: "), "{refused}");
    assert!(refused.contains("tests are red"), "{refused}");
    assert_eq!(project.json(&["task", "show", "1", "--json"]), before);
    assert!(lines(&project, "reports").is_empty());

    std::fs::remove_file(project.root.join("refuse")).unwrap();
    let done = client.call("task-update", update);
    assert_eq!((&done["status"], &done["priority"]), (&json!("completed"), &json!(0)));
    assert_eq!(lines(&project, "reports"), ["1 Write it night"]);
    let asked = std::fs::read(project.root.join("asked.json")).unwrap();
    let asked: Value = serde_json::from_slice(&asked).unwrap();
    assert_eq!((&asked["task_id"], &asked["task_subject"]), (&json!("1"), &json!("Write it")));
    client.set_status("TAS-1", "completed");
    assert_eq!(lines(&project, "reports").len(), 1, "a completed task fires nothing");
}

#[test]
fn a_task_that_is_added_as_completed_fires_nothing() {
    let project = TestProject::new();
    add_task_hooks(&project);
    let mut client = McpClient::in_session(&project, "night");
    project.file("refuse", "");
    let add = json!({"tasks": [{"content": "Done before", "status": "completed"}]});
    assert_eq!(client.call("task-add", add)["added"][0]["status"], "completed");
    assert!(lines(&project, "reports").is_empty());
}

#[test]
fn garbage_does_not_end_the_server() {
    let project = TestProject::new();
    let mut client = McpClient::start(&project, &[]);
    for line in ["", "garbage", "{\"jsonrpc\":", "\u{0}\u{1}", "\u{feff}", "}{"] {
        client.write_line(line);
    }
    client.add("one");
    for line in ["[1, 2]", "\"x\"", "null", "{}", r#"{"jsonrpc":"2.0","id":{},"method":7}"#] {
        client.write_line(line);
    }
    let unknown = client.request("tasks/destroy", &json!({}));
    assert!(unknown["error"]["code"].is_i64(), "{unknown}");
    for args in [json!({"tasks": {"content": 1}}), json!({"tasks": [[], 7, null]})] {
        let refused = client.refusal("task-add", args);
        assert!(refused.starts_with("error: "), "{refused}");
    }
    assert_eq!(list(&project).len(), 1);
    assert_eq!(client.wait_for_end(), Some(0));
}

#[test]
fn a_huge_text_is_refused() {
    let project = TestProject::new();
    let mut client = McpClient::start(&project, &[]);
    let huge = "x".repeat(10 << 20);
    let refused = client.refusal("task-add", json!({"tasks": [{"content": huge}]}));
    assert_eq!(refused, "error: the text of a task has at most 65536 bytes");
    let refused = client.refusal("note-add", json!({"content": huge}));
    assert_eq!(refused, "error: a note has at most 65536 bytes");
    let notes = json!({"notes": [{"content": "small"}, {"content": huge}]});
    assert_eq!(client.refusal("note-add", notes), refused.clone() + "; added: NOT-1");
    assert_eq!(client.refusal("iteration-summary", json!({"summary": huge})), refused);
    client.add(&"x".repeat(MAX_TEXT_BYTES));
    assert_eq!(list(&project).len(), 1);
}

#[test]
fn a_call_ends_after_its_client_has_gone() {
    let project = TestProject::new();
    let wait = "echo asked >> asked; until [ -e go ]; do sleep 0.05; done";
    let hook = json!({"type": "command", "command": wait});
    let settings = json!({"hooks": {"TaskCompleted": [{"hooks": [hook]}]}});
    project.file(".claude/settings.json", &settings.to_string());
    project.file(
        ".iteratr.hooks.yml",
        "version: 1\nhooks:\n  on_task_complete: [{command: 'echo {{task_id}} >> reports'}]\n",
    );
    let mut client = McpClient::in_session(&project, "night");
    client.add("Write it");
    let args = json!({"id": "TAS-1", "status": "completed"});
    client.send("tools/call", &json!({"name": "task-update", "arguments": args}));
    wait_until("the hook runs", || !lines(&project, "asked").is_empty());
    client.disconnect();
    // The protocol's library waits 5 s for calls; the server waits longer.
    std::thread::sleep(LIBRARY_DELAY);
    assert_eq!(status(&project, "1"), "pending");
    assert!(client.is_running(), "the server waits for the hook");
    project.file("go", "");
    client.wait_for_end();
    assert_eq!(status(&project, "1"), "completed");
    assert_eq!(lines(&project, "asked"), ["asked"]);
    assert_eq!(lines(&project, "reports"), ["1"]);
}

#[test]
fn sessions_share_a_board() {
    let project = TestProject::new();
    let mut day = McpClient::in_session(&project, "day");
    let mut night = McpClient::in_session(&project, "night");
    for content in ["one", "two", "three"] {
        day.add(content);
    }
    night.set_status("TAS-1", "in_progress");
    let taken = "error: TAS-1 is in progress, owner night";
    assert_eq!(day.refused_status("TAS-1", "in_progress"), taken);
    // The session that works on it may say so again.
    night.set_status("TAS-1", "in_progress");
    let busy = "error: TAS-1 is in progress: only one task may be";
    assert_eq!(night.refused_status("TAS-3", "in_progress"), busy);
    day.set_status("TAS-2", "in_progress");
    let busy = "error: TAS-2 is in progress: only one task may be";
    assert_eq!(day.refused_status("TAS-3", "in_progress"), busy);
    let owners: Vec<Value> = list(&project).iter().map(|task| task["owner"].clone()).collect();
    assert_eq!(owners, [json!("night"), json!("day"), Value::Null]);
}

#[test]
fn sessions_that_start_a_task_together_share_it_never() {
    let project = TestProject::new();
    let mut clients: Vec<McpClient> =
        (0..4).map(|number| McpClient::in_session(&project, &format!("s{number}"))).collect();
    for round in 1..=5 {
        let id = clients[0].add(&format!("task {round}"));
        let args = json!({"id": id, "status": "in_progress"});
        let call = json!({"name": "task-update", "arguments": args});
        for client in &mut clients {
            client.send("tools/call", &call);
        }
        let answers: Vec<Value> = clients.iter_mut().map(McpClient::read_message).collect();
        let started = answers.iter().filter(|answer| answer["result"]["isError"] != true).count();
        assert_eq!(started, 1, "{answers:?}");
        let done = project.run(&["task", "done", &round.to_string()], b"");
        assert!(done.status.success(), "{}", text(&done.stderr));
    }
}
