//! A small MCP client: one `gambrel mcp` process, its stdin, and the messages that it writes.

use std::io::{Read, Write};
use std::process::{Child, ChildStdin, ChildStdout};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use serde_json::{Value, json};

use crate::test_project::{TestProject, wait_until};

/// Longer than an answer takes on a busy machine.
const ANSWER_TIMEOUT: Timespec = Timespec { tv_sec: 60, tv_nsec: 0 };

pub struct McpClient {
    child: Child,
    input: Option<ChildStdin>,
    output: Option<ChildStdout>,
    /// What it wrote that is not read yet.
    unread: Vec<u8>,
    last_id: u64,
}

impl McpClient {
    /// Starts `gambrel mcp` and greets it.
    pub fn start(project: &TestProject, env: &[(&str, &str)]) -> Self {
        let child = project.command(&["mcp"]).envs(env.iter().copied()).spawn().unwrap();
        Self::greet(child)
    }

    /// Greets a server that was started with pipes.
    pub fn greet(mut child: Child) -> Self {
        let (input, output) = (child.stdin.take(), child.stdout.take());
        let mut client = Self { child, input, output, unread: Vec::new(), last_id: 0 };
        let hello = json!({
            "protocolVersion": "2025-06-18", "capabilities": {},
            "clientInfo": {"name": "test", "version": "1"},
        });
        let answer = client.request("initialize", &hello);
        assert_eq!(answer["result"]["serverInfo"]["name"], "gambrel", "{answer}");
        let ready = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
        client.write_line(&ready.to_string());
        client
    }

    /// Starts it in a session.
    pub fn in_session(project: &TestProject, session: &str) -> Self {
        Self::start(project, &[("GAMBREL_SESSION", session)])
    }

    /// Writes a line as it is.
    pub fn write_line(&mut self, line: &str) {
        self.write_bytes(line.as_bytes());
        self.write_bytes(b"\n");
    }

    /// Writes bytes as they are.
    pub fn write_bytes(&mut self, bytes: &[u8]) {
        let input = self.input.as_mut().unwrap();
        input.write_all(bytes).unwrap();
        input.flush().unwrap();
    }

    /// Sends a request and does not wait for its answer. Returns its id.
    pub fn send(&mut self, method: &str, params: &Value) -> u64 {
        self.last_id += 1;
        let id = self.last_id;
        let request = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        self.write_line(&request.to_string());
        id
    }

    /// The next message of the server.
    pub fn read_message(&mut self) -> Value {
        loop {
            if let Some(end) = self.unread.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = self.unread.drain(..=end).collect();
                return serde_json::from_slice(&line).unwrap();
            }
            let output = self.output.as_mut().unwrap();
            let mut ready = [PollFd::new(output, PollFlags::IN)];
            assert_eq!(poll(&mut ready, Some(&ANSWER_TIMEOUT)).unwrap(), 1, "no answer");
            let mut bytes = [0; 4096];
            let count = output.read(&mut bytes).unwrap();
            assert_ne!(count, 0, "the server closed its output");
            self.unread.extend_from_slice(&bytes[..count]);
        }
    }

    /// Sends a request and returns its answer. Answers to what was no request have no id.
    pub fn request(&mut self, method: &str, params: &Value) -> Value {
        let id = self.send(method, params);
        loop {
            let answer = self.read_message();
            if answer.get("id").is_some_and(|id| !id.is_null()) {
                assert_eq!(answer["id"], id, "{answer}");
                return answer;
            }
        }
    }

    /// Calls a tool and returns the whole answer.
    pub fn request_call(&mut self, tool: &str, args: &Value) -> Value {
        self.request("tools/call", &json!({"name": tool, "arguments": args}))
    }

    /// Calls a tool that succeeds.
    pub fn call(&mut self, tool: &str, args: Value) -> Value {
        let answer = self.request_call(tool, &args);
        let result = &answer["result"];
        assert_ne!(result["isError"], true, "{tool} {args}: {answer}");
        serde_json::from_str(result["content"][0]["text"].as_str().unwrap()).unwrap()
    }

    /// Calls a tool that refuses. Returns the text of its answer.
    pub fn refusal(&mut self, tool: &str, args: Value) -> String {
        let answer = self.request_call(tool, &args);
        let result = &answer["result"];
        assert_eq!(result["isError"], true, "{tool} {args}: {answer}");
        result["content"][0]["text"].as_str().unwrap().to_owned()
    }

    /// Adds one task and returns its id.
    pub fn add(&mut self, content: &str) -> String {
        let added = self.call("task-add", json!({"tasks": [{"content": content}]}));
        added["added"][0]["id"].as_str().unwrap().to_owned()
    }

    /// Sets the status of a task.
    pub fn set_status(&mut self, id: &str, status: &str) -> Value {
        self.call("task-update", json!({"id": id, "status": status}))
    }

    /// The refusal of a status.
    pub fn refused_status(&mut self, id: &str, status: &str) -> String {
        self.refusal("task-update", json!({"id": id, "status": status}))
    }

    /// Goes away: closes both pipes.
    pub fn disconnect(&mut self) {
        (self.input, self.output) = (None, None);
    }

    /// Whether the server runs.
    pub fn is_running(&mut self) -> bool {
        self.child.try_wait().unwrap().is_none()
    }

    /// Waits until the server ended. Returns its exit code.
    pub fn wait_for_end(&mut self) -> Option<i32> {
        self.input = None;
        wait_until("the server ends", || !self.is_running());
        self.child.wait().unwrap().code()
    }
}

impl Drop for McpClient {
    fn drop(&mut self) {
        let _ended = self.child.kill();
        let _ended = self.child.wait();
    }
}
