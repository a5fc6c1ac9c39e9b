//! A pipeline whose plan a user must approve: the hook, an HTTP server that receives the message,
//! and processes that wait for the answer and end with the test.

use std::process::{Child, Stdio};

use serde_json::{Value, json};

use crate::http_server::{HttpServer, Received, free_port};
use crate::test_project::{TestProject, text, wait_until};

/// In seconds, long enough for a busy machine.
pub const TIMEOUT_SECS: u32 = 50;

pub struct ApprovalFixture {
    pub project: TestProject,
    pub server: HttpServer,
    pub port: u16,
}

impl ApprovalFixture {
    pub fn new() -> Self {
        Self::with_port(TestProject::new(), free_port())
    }

    /// Another project with the same state folder and port.
    pub fn second_project(&self) -> Self {
        let state = self.project.base.join("state");
        let project = TestProject::new().with("GAMBREL_STATE_DIR", &state.to_string_lossy());
        Self::with_port(project, self.port)
    }

    pub fn with_port(project: TestProject, port: u16) -> Self {
        let fixture = Self { project, server: HttpServer::start(), port };
        fixture.add_question("on_stage_complete", TIMEOUT_SECS);
        fixture
    }

    /// Configures the question at a hook point, and a shell action after it that records the
    /// answer.
    pub fn add_question(&self, point: &str, timeout: u32) {
        let question = json!({
            "type": "webhook", "url": self.server.url("/ask"), "await": true,
            "callback_port": self.port, "timeout": timeout,
            "body": {"text": "Plan of ${SESSION}", "yes": "${CALLBACK_URL}?action=approve"},
        });
        let after = json!({"type": "shell", "command": "printf '%s' ${HOOK_RESPONSE} > answer.json", "await": true});
        let hooks = json!({"hooks": {point: [question, after]}});
        self.project.file(".gambrel/hooks.yaml", &hooks.to_string());
    }

    /// Starts a process that fires the end of the plan stage and waits.
    pub fn start_fire(&self, session: &str) -> WaitingFire {
        let vars = json!({"SESSION": session, "STAGE": "plan", "ITERATION": 1});
        let event = json!({"hook_point": "on_stage_complete", "vars": vars}).to_string();
        WaitingFire(Some(self.project.start(&["fire", "--from", "unified"], event.as_bytes())))
    }

    /// The open tickets, or all of them with `--all`.
    pub fn tickets(&self, more: &[&str]) -> Vec<Value> {
        let args = [&["approvals", "--json"], more].concat();
        self.project.json(&args).as_array().unwrap().clone()
    }

    /// The open ticket of a session, after its message was sent.
    pub fn open_ticket(&self, session: &str) -> String {
        let own = |ticket: &Value| ticket["session"] == session && ticket["sent"] == true;
        wait_until(&format!("{session} waits"), || self.tickets(&[]).iter().any(own));
        let ticket = self.tickets(&[]).into_iter().find(own).unwrap();
        ticket["ticket"].as_str().unwrap().to_owned()
    }

    /// The answer that the next action received.
    pub fn recorded_answer(&self) -> Value {
        let path = self.project.root.join("answer.json");
        serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
    }

    /// The request of one session.
    pub fn request_of(&self, session: &str) -> Received {
        let title = format!("Plan of {session}");
        let own = |request: &Received| request.json()["text"] == title.as_str();
        wait_until(&title, || self.server.received().iter().any(own));
        self.server.received().into_iter().find(own).unwrap()
    }
}

/// A waiting `fire` process, killed at the end of the test.
pub struct WaitingFire(Option<Child>);

impl WaitingFire {
    /// The reply, after an answer.
    pub fn reply(mut self) -> Value {
        let output = self.0.take().unwrap().wait_with_output().unwrap();
        let fail = || panic!("{}{}", text(&output.stdout), text(&output.stderr));
        serde_json::from_slice(&output.stdout).unwrap_or_else(|_| fail())
    }

    /// Kills the process, as a crash would.
    pub fn kill(mut self) {
        kill_child(&mut self.0);
    }

    pub fn is_waiting(&mut self) -> bool {
        self.0.as_mut().is_some_and(|child| child.try_wait().unwrap().is_none())
    }
}

impl Drop for WaitingFire {
    fn drop(&mut self) {
        kill_child(&mut self.0);
    }
}

fn kill_child(child: &mut Option<Child>) {
    if let Some(mut child) = child.take() {
        let _gone = child.kill();
        child.wait().unwrap();
    }
}

/// `gambrel serve`, until the test ends.
pub struct ServeProcess {
    pub child: Child,
    pub url: String,
    pub base: String,
    pub public_url: Option<String>,
}

impl ServeProcess {
    pub fn start(project: &TestProject, port: u16) -> Self {
        Self::start_with(project, port, &[])
    }

    pub fn start_with(project: &TestProject, port: u16, more: &[&str]) -> Self {
        use std::io::BufRead;
        let port = port.to_string();
        let args = [&["serve", "--port", &port, "--json"], more].concat();
        let mut command = project.command(&args);
        let mut child = command.stdin(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        let mut out = std::io::BufReader::new(child.stdout.take().unwrap());
        let mut output = String::new();
        // The JSON may span several lines.
        while serde_json::from_str::<Value>(&output).is_err() {
            assert!(out.read_line(&mut output).unwrap() > 0, "serve ended: {output}");
        }
        let address: Value = serde_json::from_str(&output).unwrap();
        let field = |key: &str| address[key].as_str().unwrap().to_owned();
        let public_url = address["public_url"].as_str().map(str::to_owned);
        Self { child, url: field("url"), base: field("base"), public_url }
    }
}

impl Drop for ServeProcess {
    fn drop(&mut self) {
        let _gone = self.child.kill();
        self.child.wait().unwrap();
    }
}
