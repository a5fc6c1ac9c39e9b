//! A pipeline whose plan a person must approve: the hook, somebody who gets the message, and
//! processes that wait for the answer and end with the test.

use std::process::{Child, Stdio};

use serde_json::{Value, json};

use crate::ground::{Ground, text, until};
use crate::mailbox::{Letter, Mailbox, quiet_port};

/// Long enough for a machine with other work; every wait ends.
pub const TIMEOUT: u32 = 50;

pub struct Scene {
    pub ground: Ground,
    pub mailbox: Mailbox,
    pub port: u16,
}

impl Scene {
    pub fn new() -> Self {
        Self::on(Ground::new(), quiet_port())
    }

    /// Another project of the same person, on a port of its author's choice.
    pub fn beside(&self) -> Self {
        let state = self.ground.base.join("state");
        let ground = Ground::new().with("GAMBREL_STATE_DIR", &state.to_string_lossy());
        Self::on(ground, self.port)
    }

    pub fn on(ground: Ground, port: u16) -> Self {
        let scene = Self { ground, mailbox: Mailbox::open(), port };
        scene.hang("on_stage_complete", TIMEOUT);
        scene
    }

    /// Hangs the question at a point, and a shell action behind it that writes the answer down.
    pub fn hang(&self, point: &str, timeout: u32) {
        let question = json!({
            "type": "webhook", "url": self.mailbox.url("/ask"), "await": true,
            "callback_port": self.port, "timeout": timeout,
            "body": {"text": "Plan of ${SESSION}", "yes": "${CALLBACK_URL}?action=approve"},
        });
        let after = json!({"type": "shell", "command": "printf '%s' ${HOOK_RESPONSE} > heard.json", "await": true});
        let hooks = json!({"hooks": {point: [question, after]}});
        self.ground.file(".gambrel/hooks.yaml", &hooks.to_string());
    }

    /// A process that fires the plan's end and waits.
    pub fn ask(&self, session: &str) -> Waiting {
        let vars = json!({"SESSION": session, "STAGE": "plan", "ITERATION": 1});
        let event = json!({"hook_point": "on_stage_complete", "vars": vars}).to_string();
        Waiting(Some(self.ground.start(&["fire", "--from", "unified"], event.as_bytes())))
    }

    /// Every ticket that is open, or every one there is.
    pub fn tickets(&self, more: &[&str]) -> Vec<Value> {
        let args = [&["approvals", "--json"], more].concat();
        self.ground.json(&args).as_array().unwrap().clone()
    }

    /// The one open ticket of a session, once its message is known to have gone out.
    pub fn ticket_of(&self, session: &str) -> String {
        let own = |ticket: &Value| ticket["session"] == session && ticket["sent"] == true;
        until(&format!("{session} waits"), || self.tickets(&[]).iter().any(own));
        let ticket = self.tickets(&[]).into_iter().find(own).unwrap();
        ticket["ticket"].as_str().unwrap().to_owned()
    }

    /// What a later action saw as the answer.
    pub fn heard(&self) -> Value {
        let path = self.ground.root.join("heard.json");
        serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
    }

    /// The letter of one session.
    pub fn letter_of(&self, session: &str) -> Letter {
        let title = format!("Plan of {session}");
        let own = |letter: &Letter| letter.json()["text"] == title.as_str();
        until(&title, || self.mailbox.letters().iter().any(own));
        self.mailbox.letters().into_iter().find(own).unwrap()
    }
}

/// A process that waits; it does not outlive the test.
pub struct Waiting(Option<Child>);

impl Waiting {
    /// Its reply, once somebody has answered.
    pub fn reply(mut self) -> Value {
        let output = self.0.take().unwrap().wait_with_output().unwrap();
        let told = || panic!("{}{}", text(&output.stdout), text(&output.stderr));
        serde_json::from_slice(&output.stdout).unwrap_or_else(|_| told())
    }

    /// Ends it as a crash would.
    pub fn kill(mut self) {
        end(&mut self.0);
    }

    pub fn is_waiting(&mut self) -> bool {
        self.0.as_mut().is_some_and(|child| child.try_wait().unwrap().is_none())
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        end(&mut self.0);
    }
}

fn end(child: &mut Option<Child>) {
    if let Some(mut child) = child.take() {
        let _gone = child.kill();
        child.wait().unwrap();
    }
}

/// `gambrel serve`, until the test ends.
pub struct Served {
    pub child: Child,
    pub url: String,
    pub base: String,
}

impl Served {
    pub fn on(ground: &Ground, port: u16) -> Self {
        use std::io::BufRead;
        let port = port.to_string();
        let mut command = ground.command(&["serve", "--port", &port, "--json"]);
        let mut child = command.stdin(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        let mut out = std::io::BufReader::new(child.stdout.take().unwrap());
        let mut told = String::new();
        // The shape may span lines; it ends with a line of its own or the first.
        while serde_json::from_str::<Value>(&told).is_err() {
            assert!(out.read_line(&mut told).unwrap() > 0, "serve ended: {told}");
        }
        let told: Value = serde_json::from_str(&told).unwrap();
        let word = |key: &str| told[key].as_str().unwrap().to_owned();
        Self { child, url: word("url"), base: word("base") }
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _gone = self.child.kill();
        self.child.wait().unwrap();
    }
}
