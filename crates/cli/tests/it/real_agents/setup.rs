//! A project with a stage whose agent is a real one, and the wait for a person's question.

use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use super::model_server::ModelServer;
use crate::acp_fixture::iteration_file;
use crate::run_fixture::project_with_stage;
use crate::test_project::{TestProject, text};

/// Longer than a run takes on a busy machine.
const RUN_TIMEOUT: Duration = Duration::from_secs(200);
/// For a failed test: lines of a transcript, and characters of a line.
const SHOWN_LINES: usize = 30;
const SHOWN_CHARS: usize = 1500;
const QUESTION_INTERVAL: Duration = Duration::from_millis(100);

/// Two iterations; where no hook decides, the call is refused.
const STAGE: &str = "termination: {type: fixed, iterations: 2}\npermissions: ";
const MESSAGES: &str = "version: 1\nhooks:\n  \
    session_start: [{command: echo from the start, pipe_output: true}]\n  \
    pre_iteration: [{command: 'echo from iteration {{iteration}}', pipe_output: true}]\n";
/// Writes the decision of an iteration, as the prompt of a real stage tells the agent to.
pub const DECIDE: &str = "printf '{\"decision\":\"continue\"}' > \"$STATUS\"";

/// A project whose hooks speak before each iteration, with `name` on the PATH.
pub fn project_with_agent(name: &str, script: &str, permissions: &str) -> TestProject {
    let project = project_with_stage(&format!("{STAGE}{permissions}"));
    project.file(".iteratr.hooks.yml", MESSAGES);
    let bin = project.base.join("bin");
    project.script(bin.join(name).to_str().unwrap(), script);
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());
    project.with("PATH", &path)
}

/// A run that ends with the test.
pub struct StartedRun<'t> {
    child: Child,
    project: &'t TestProject,
    deadline: Instant,
}

impl<'t> StartedRun<'t> {
    pub fn start(project: &'t TestProject, agent: &str) -> Self {
        let log = std::fs::File::create(project.base.join("run.log")).unwrap();
        let mut command = project.command(&["run", "work", "--agent", agent]);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log);
        let child = command.spawn().unwrap();
        Self { child, project, deadline: Instant::now() + RUN_TIMEOUT }
    }

    /// Waits for the only question of the run and returns its id.
    pub fn wait_for_question(&mut self) -> String {
        loop {
            let tickets = self.project.json(&["approvals", "--json"]);
            let mut tickets = tickets.as_array().into_iter().flatten();
            if let Some(ticket) = tickets.find(|ticket| ticket["state"] == "open") {
                return ticket["ticket"].as_str().unwrap().to_owned();
            }
            let ended = self.child.try_wait().unwrap();
            assert!(ended.is_none(), "the run ended without a question: {}", self.describe());
            assert!(Instant::now() < self.deadline, "no question: {}", self.describe());
            std::thread::sleep(QUESTION_INTERVAL);
        }
    }

    /// Waits for the end of the run, which must be a success.
    pub fn wait_for_success(mut self) -> String {
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                assert!(status.success(), "{status}: {}", self.describe());
                return self.describe();
            }
            assert!(Instant::now() < self.deadline, "the run goes on: {}", self.describe());
            std::thread::sleep(QUESTION_INTERVAL);
        }
    }

    /// What the run printed, and the newest lines of its transcripts.
    fn describe(&self) -> String {
        let mut all = text(&std::fs::read(self.project.base.join("run.log")).unwrap());
        for iteration in 1..=2 {
            let transcript = iteration_file(self.project, iteration, "transcript.jsonl");
            let lines: Vec<&str> = transcript.lines().collect();
            for line in lines.iter().rev().take(SHOWN_LINES).rev() {
                all.push('\n');
                all.extend(line.chars().take(SHOWN_CHARS));
            }
        }
        all
    }
}

impl Drop for StartedRun<'_> {
    fn drop(&mut self) {
        let _ended = self.child.kill();
        let _code = self.child.wait();
    }
}

/// For a failed test: the start of each message of each request to the model.
pub fn describe_requests(model: &ModelServer) -> String {
    let start = |value: &Value| value.to_string().chars().take(SHOWN_CHARS).collect::<String>();
    let mut lines = Vec::new();
    for (at, request) in model.requests().iter().enumerate() {
        let lists = [&request["messages"], &request["contents"]];
        for message in lists.into_iter().filter_map(Value::as_array).flatten() {
            if message["role"] != "system" {
                lines.push(format!("{at}: {}", start(message)));
            }
        }
    }
    lines.join("\n")
}
