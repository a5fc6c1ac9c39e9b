//! One session of the real Claude Code with a scripted model: a project, a fresh home, gambrel on
//! the PATH, and the result of a prompt.

use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::Duration;

use serde_json::{Value, json};

use super::model::{ScriptedModel, tool_results};
use super::versions::ClaudeCode;
use crate::external_tools::run_to_end;
use crate::test_project::{TestProject, text};

pub const PROMPT: &str = "please do what the script says";
/// Longer than a session takes on a busy machine.
const SESSION_TIMEOUT: Duration = Duration::from_secs(120);

pub struct Session {
    pub project: TestProject,
    claude: ClaudeCode,
}

impl Session {
    /// A project in which nothing is installed yet; gambrel is on the PATH.
    pub fn new(claude: &ClaudeCode) -> Self {
        let project = TestProject::new();
        let bin = project.base.join("bin");
        std::fs::create_dir_all(&bin).unwrap();
        symlink(crate::test_project::program(), bin.join("gambrel")).unwrap();
        let path = format!("{}:{}", bin.display(), path_without_gambrel());
        let mut project = project.with("PATH", &path);
        // As for a new user: only hooks recorded by `gambrel trust` are trusted.
        project.env.retain(|(name, _)| name != "GAMBREL_TRUST");
        Self { project, claude: claude.clone() }
    }

    /// A project with hooks in `.gambrel/hooks.yaml`, installed and trusted as the guide says.
    pub fn with_trusted_hooks(claude: &ClaudeCode, hooks: &Value) -> Self {
        let session = Self::new(claude);
        session.write_hooks(hooks);
        session.gambrel(&["install", "claude"]);
        session.gambrel(&["trust", "--all", "--yes"]);
        session
    }

    pub fn write_hooks(&self, hooks: &Value) {
        self.project.file(".gambrel/hooks.yaml", &json!({"hooks": hooks}).to_string());
    }

    /// Runs gambrel as a user would, from the PATH.
    pub fn gambrel(&self, args: &[&str]) -> Output {
        let mut command = Command::new(self.program());
        command
            .args(args)
            .current_dir(&self.project.root)
            .env_clear()
            .envs(self.project.env.clone());
        let output = command.output().unwrap();
        assert!(output.status.success(), "{args:?}: {}", text(&output.stderr));
        output
    }

    /// Takes gambrel off the PATH.
    pub fn remove_gambrel(&self) {
        std::fs::remove_file(self.program()).unwrap();
    }

    fn program(&self) -> PathBuf {
        self.project.base.join("bin/gambrel")
    }

    pub fn home(&self) -> PathBuf {
        self.project.base.join("home")
    }

    /// Whether a command of the script left this file in the project.
    pub fn has(&self, file: &str) -> bool {
        self.project.root.join(file).exists()
    }

    /// Starts Claude Code with a prompt; its model makes these calls of Bash, one after the other.
    pub fn prompt(&self, commands: &[&str], args: &[&str]) -> Answer {
        self.prompt_model(&start_model(commands), args)
    }

    /// The same with calls of any tool: its name and its input.
    pub fn prompt_calls(&self, calls: Vec<(&'static str, Value)>, args: &[&str]) -> Answer {
        self.prompt_model(&ScriptedModel::start(calls), args)
    }

    fn prompt_model(&self, model: &ScriptedModel, args: &[&str]) -> Answer {
        let mut command = self.claude.command();
        command.args(["-p", PROMPT, "--output-format", "stream-json", "--verbose"]);
        command.args(args);
        self.set_env(&mut command, model);
        let (_, stdout, stderr) = run_to_end(&mut command, SESSION_TIMEOUT);
        let parse = |line: &str| serde_json::from_str(line).ok();
        let stream = stdout.lines().filter_map(parse).collect();
        let transcript = read_transcripts(&self.home().join(".claude/projects"));
        Answer { requests: model.requests(), stream, transcript, stderr }
    }

    /// Starts `gambrel run` with `claude` on the PATH; the model makes these calls in each
    /// iteration. Returns the exit code, stderr, and the requests to the model.
    pub fn run(&self, commands: &[&str], args: &[&str]) -> (Option<i32>, String, Vec<Value>) {
        let model = start_model(commands);
        let claude = self.claude.command();
        let words = std::iter::once(claude.get_program()).chain(claude.get_args());
        let words: Vec<String> = words.map(|word| format!("'{}'", word.display())).collect();
        let script = format!("#!/bin/sh\nexec {} \"$@\"\n", words.join(" "));
        self.project.script(self.project.base.join("bin/claude").to_str().unwrap(), &script);
        let mut command = Command::new(self.program());
        command.arg("run").args(args);
        self.set_env(&mut command, &model);
        let (code, _, stderr) = run_to_end(&mut command, SESSION_TIMEOUT);
        (code, stderr, model.requests())
    }

    fn set_env(&self, command: &mut Command, model: &ScriptedModel) {
        command.current_dir(&self.project.root).env_clear().envs(self.project.env.clone());
        command.env("ANTHROPIC_BASE_URL", format!("http://127.0.0.1:{}", model.port));
        command.envs([("ANTHROPIC_API_KEY", "none"), ("DISABLE_TELEMETRY", "1")]);
        command.envs([("DISABLE_AUTOUPDATER", "1"), ("DISABLE_ERROR_REPORTING", "1")]);
        command.env("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1");
    }
}

/// A model that makes these calls of Bash, one after the other.
fn start_model(commands: &[&str]) -> ScriptedModel {
    let call = |command: &&str| ("Bash", json!({"command": command, "description": "d"}));
    ScriptedModel::start(commands.iter().map(call).collect())
}

/// The result of a prompt.
#[derive(Debug)]
pub struct Answer {
    /// Requests to the model, oldest first.
    pub requests: Vec<Value>,
    /// The lines of `--output-format stream-json`.
    pub stream: Vec<Value>,
    /// Claude Code's transcript of the session.
    pub transcript: Vec<Value>,
    pub stderr: String,
}

impl Answer {
    /// Whether any request to the model contains this text.
    pub fn reached_model(&self, words: &str) -> bool {
        self.requests.iter().any(|request| request.to_string().contains(words))
    }

    /// The result of the tool call `at`, as the model received it.
    pub fn tool_result(&self, at: usize) -> String {
        let last = self.requests.last().unwrap_or_else(|| panic!("no request: {self}"));
        let results = tool_results(last);
        let result = results.get(at).unwrap_or_else(|| panic!("no result {at}: {self}"));
        result.to_string()
    }

    /// Messages of hooks to the user, as Claude Code recorded them, each with its event.
    pub fn system_messages(&self) -> Vec<(String, String)> {
        let attachments = self.transcript.iter().map(|line| &line["attachment"]);
        let messages = attachments.filter(|found| found["type"] == "hook_system_message");
        let plain = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        messages.map(|found| (plain(&found["hookEvent"]), plain(&found["content"]))).collect()
    }
}

/// For a failed test: the last request to the model, and the stream.
impl std::fmt::Display for Answer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let start = |value: &Value| value.to_string().chars().take(1000).collect::<String>();
        let last = self.requests.last().and_then(|request| request["messages"].as_array());
        for message in last.into_iter().flatten().skip(2) {
            writeln!(f, "model: {}", start(message))?;
        }
        for line in &self.stream {
            writeln!(f, "stream: {}", start(line))?;
        }
        write!(f, "stderr: {}", self.stderr)
    }
}

/// Folders of this PATH in which there is no gambrel.
fn path_without_gambrel() -> String {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::env::split_paths(&path).filter(|folder| !folder.join("gambrel").exists());
    std::env::join_paths(folders).unwrap().to_string_lossy().into_owned()
}

fn read_transcripts(projects: &Path) -> Vec<Value> {
    let list = |folder: &Path| {
        let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
        entries.map(|entry| entry.path()).collect::<Vec<_>>()
    };
    let files = list(projects).into_iter().flat_map(|folder| list(&folder));
    let files = files.filter(|file| file.extension().is_some_and(|kind| kind == "jsonl"));
    let lines = files.map(|file| std::fs::read_to_string(file).unwrap());
    lines.flat_map(|all| parse_lines(&all)).collect()
}

fn parse_lines(text: &str) -> Vec<Value> {
    text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
}
