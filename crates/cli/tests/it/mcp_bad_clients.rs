//! Clients of `gambrel mcp` that go away in the middle of a message or of several calls, or send
//! bytes that are no messages: nothing is lost and nothing is done twice.

use serde_json::{Value, json};

use crate::mcp_client::McpClient;
use crate::test_project::{TestProject, text, wait_until};

fn subjects(project: &TestProject) -> Vec<String> {
    let listed = project.json(&["task", "list", "--json"]);
    let subject = |task: &Value| task["subject"].as_str().unwrap().to_owned();
    listed.as_array().unwrap().iter().map(subject).collect()
}

fn add_call(id: u64, content: &str) -> String {
    let args = json!({"tasks": [{"content": content}]});
    let params = json!({"name": "task-add", "arguments": args});
    json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params}).to_string()
}

#[test]
fn half_a_message_does_nothing() {
    let project = TestProject::new();
    let mut client = McpClient::in_session(&project, "night");
    client.add("whole");
    let call = add_call(50, "half");
    client.write_bytes(&call.as_bytes()[..call.len() - 1]);
    client.disconnect();
    assert_eq!(client.wait_for_end(), Some(0));
    assert_eq!(subjects(&project), ["whole"]);
}

#[test]
fn calls_before_a_disconnect_are_done_once() {
    let project = TestProject::new();
    // The first call waits in its hook, and the others behind it.
    let wait = "echo asked >> asked; until [ -e go ]; do sleep 0.05; done";
    let hook = json!({"type": "command", "command": wait});
    let settings = json!({"hooks": {"TaskCreated": [{"hooks": [hook]}]}});
    project.file(".claude/settings.json", &settings.to_string());
    let mut client = McpClient::in_session(&project, "night");
    let calls: Vec<String> =
        (0..5).map(|n| add_call(100 + n, &format!("task {n}")) + "\n").collect();
    client.write_bytes(calls.concat().as_bytes());
    wait_until("the first hook runs", || project.root.join("asked").exists());
    client.disconnect();
    project.file("go", "");
    client.wait_for_end();
    let wanted: Vec<String> = (0..5).map(|n| format!("task {n}")).collect();
    assert_eq!(subjects(&project), wanted);
    let asked = std::fs::read_to_string(project.root.join("asked")).unwrap();
    assert_eq!(asked.lines().count(), 5, "each hook runs once");
}

#[test]
fn a_client_that_repeats_a_call_adds_nothing_twice() {
    let project = TestProject::new();
    let mut client = McpClient::in_session(&project, "night");
    client.add("one");
    client.disconnect();
    client.wait_for_end();
    // It has not read the answer and asks again.
    let mut client = McpClient::in_session(&project, "night");
    let again = client.refusal("task-add", json!({"tasks": [{"content": "one"}]}));
    assert_eq!(again, "error: TAS-1 has the same content");
    client.set_status("TAS-1", "completed");
    assert_eq!(client.set_status("TAS-1", "completed")["status"], "completed");
    assert_eq!(subjects(&project), ["one"]);
}

#[test]
fn ten_megabytes_of_garbage_do_not_end_the_server() {
    const SIZE: usize = 10 << 20;
    let project = TestProject::new();
    let mut client = McpClient::in_session(&project, "night");
    client.add("before");
    let garbage: [Vec<u8>; 5] = [
        vec![b'x'; SIZE],
        vec![0xff; SIZE],
        vec![b'['; SIZE],
        "{\"a\":".repeat(SIZE / 5).into_bytes(),
        [b"{\"jsonrpc\":\"2.0\",\"id\":\"".to_vec(), vec![b'9'; SIZE]].concat(),
    ];
    for bytes in &garbage {
        client.write_bytes(bytes);
        client.write_bytes(b"\n");
    }
    // A valid call of ten megabytes, with an argument that no tool reads.
    let args = json!({"tasks": [{"content": "after"}], "padding": "p".repeat(SIZE)});
    client.call("task-add", args);
    assert_eq!(subjects(&project), ["before", "after"]);
    assert_eq!(client.wait_for_end(), Some(0));
}

#[test]
fn a_client_that_never_greets_changes_nothing() {
    for bytes in [&b"garbage\n"[..], b"\xff\xfe\n", b"{\"jsonrpc\":\"2.0\",\"id\":1", b""] {
        let project = TestProject::new();
        let mut input = bytes.to_vec();
        input.extend(format!("{}\n", add_call(1, "too early")).bytes());
        let output = project.run(&["mcp"], &input);
        assert!(output.status.code().is_some_and(|code| code == 0 || code == 1));
        assert!(!text(&output.stderr).contains("panicked"), "{}", text(&output.stderr));
        assert_eq!(subjects(&project), [""; 0], "{:?}", text(bytes));
    }
}
