//! The shape of a case: files, the behaviour of each hook, events in steps, and expectations.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

use super::run::{CommandStep, ExpectedRun};

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Case {
    #[serde(skip)]
    pub file: String,
    pub name: String,
    /// Ids of claims.
    pub proves: Vec<String>,
    /// Why this case cannot run in one of the two ways.
    #[serde(default)]
    pub only: Option<Only>,
    /// Set on top of an almost empty environment.
    #[serde(default)]
    pub env: BTreeMap<String, String>,
    /// Text of files, by path in the project (`~/…` in the home). `@ROOT@` and `@HOME@` are filled
    /// in.
    #[serde(default)]
    pub files: BTreeMap<String, String>,
    /// Scripts, by path in the project; inline commands, by their text; receivers of requests, by
    /// their path (`/guard`, at `http://127.0.0.1:@PORT@/guard`); tools of MCP servers, as
    /// `mcp:server/tool` (in the file `mcp-server.py`).
    #[serde(default)]
    pub hooks: BTreeMap<String, Behaviour>,
    /// One event or one command…
    #[serde(default)]
    pub fire: Option<Fire>,
    #[serde(default)]
    pub run: Option<CommandStep>,
    #[serde(default)]
    pub expect: Expect,
    /// …or several, which share the project and its state.
    #[serde(default)]
    pub steps: Vec<Step>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Only {
    /// `real` or `scripted`.
    pub way: String,
    pub because: String,
}

/// How a hook behaves.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Behaviour {
    pub exit: i32,
    pub stdout: String,
    pub stderr: String,
    /// Killed by this signal instead of exiting.
    pub signal: Option<i32>,
    /// Outlives its timeout.
    pub hangs: bool,
    /// Cannot be started, and why (scripted); in the real run there is no such file.
    pub missing: bool,
    /// Fails this many times before it behaves as described.
    pub fails_first: u32,
    /// Not executable (matters only in the real run).
    pub plain_file: bool,
    /// Of a child pipeline: the `output.json` that it writes.
    pub output: Option<Value>,
    /// Of a receiver (`/path`): the status of its answer; `stdout` is the body.
    pub status: Option<u16>,
    /// Of a receiver: the answer that it posts to the callback link.
    pub answers: Option<Value>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Step {
    /// Either an event or a command.
    #[serde(default)]
    pub fire: Option<Fire>,
    #[serde(default)]
    pub run: Option<CommandStep>,
    #[serde(default)]
    pub expect: Expect,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fire {
    pub from: String,
    pub event: Value,
    /// More arguments: `--hosted`, `--only claude`, `--strict` …
    #[serde(default)]
    pub args: Vec<String>,
}

/// Expectations. A field that is not set is not checked.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Expect {
    /// By hook: its expected input.
    pub given: BTreeMap<String, Given>,
    /// Hooks that ran, in trail order (all of them, and no other).
    pub ran: Option<Vec<String>>,
    /// Hooks that did not run, and a part of the reason.
    pub skipped: BTreeMap<String, String>,
    pub ruling: Option<String>,
    /// The ruling that the caller receives, if it differs.
    #[serde(rename = "said")]
    pub for_caller: Option<String>,
    /// Parts of reasons, in order.
    pub reasons: Option<Vec<String>>,
    pub context: Option<Vec<String>>,
    /// Parts of notices.
    pub notices: Option<Vec<String>>,
    /// `what` of every loss that must be there.
    pub losses: Vec<String>,
    /// A part of the decision, as a pattern of JSON.
    pub decision: Option<Value>,
    pub reply: Option<Reply>,
    /// Parts of complaints, as `line:column: message`.
    pub complaints: Option<Vec<String>>,
    /// Files that must be there afterwards, and a part of their text.
    pub files: BTreeMap<String, String>,
    /// Files that must not be there.
    pub absent: Vec<String>,
    /// What a command must leave.
    pub run: Option<ExpectedRun>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Given {
    /// A pattern of the JSON on stdin.
    pub stdin: Option<Value>,
    /// The stdin as text.
    pub stdin_text: Option<String>,
    pub env: BTreeMap<String, String>,
    pub no_env: Vec<String>,
    /// Patterns of JSON inside variables.
    pub env_json: BTreeMap<String, Value>,
    /// Arguments after the script.
    pub args: Option<Vec<String>>,
    pub times: Option<usize>,
    /// The secret that the request must be signed with (Standard Webhooks).
    pub signed_by: Option<String>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Reply {
    /// Exactly this JSON.
    pub json: Option<Value>,
    /// A pattern: objects may have more keys.
    pub like: Option<Value>,
    /// Keys (dotted) that must be absent.
    pub without: Vec<String>,
    pub text: Option<String>,
    /// A part of stderr.
    pub stderr: Option<String>,
    pub exit: Option<i32>,
}

impl Case {
    pub fn all_steps(&self) -> Vec<Step> {
        let (fire, run) = (self.fire.clone(), self.run.clone());
        let is_single = fire.is_some() || run.is_some();
        let single = is_single.then(|| Step { fire, run, expect: self.expect.clone() });
        single.into_iter().chain(self.steps.clone()).collect()
    }

    /// Whether a step needs the built program.
    pub fn runs_commands(&self) -> bool {
        self.all_steps().iter().any(|step| step.run.is_some())
    }
}

#[derive(Deserialize)]
struct File {
    cases: Vec<Case>,
}

/// Every case of a dialect, in file order.
pub fn load(dialect: &str) -> Vec<Case> {
    let folder = super::contracts_dir().join(dialect);
    let Ok(entries) = std::fs::read_dir(&folder) else { return Vec::new() };
    let mut paths: Vec<_> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    paths.retain(|path| path.to_string_lossy().ends_with(".case.yaml"));
    paths.sort();
    let mut cases = Vec::new();
    for path in paths {
        let text = std::fs::read_to_string(&path).unwrap();
        let file: File = serde_saphyr::from_str(&text)
            .unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        cases.extend(
            file.cases.into_iter().map(|case| Case { file: format!("{dialect}/{name}"), ..case }),
        );
    }
    cases
}
