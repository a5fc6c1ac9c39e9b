//! A directory with modules, and an action that calls them.

use std::path::PathBuf;
use std::time::Duration;

use gambrel_model::{Action, Call, End, Job, Limits, Outcome};
use gambrel_script::{ModuleAction, ScriptSettings};
use serde_json::{Value, json};

/// A directory with a space in its name, and the action.
pub struct ModuleDir {
    pub folder: tempfile::TempDir,
    pub action: ModuleAction,
    pub timeout: Duration,
    pub budget: Option<Duration>,
}

/// The body of an event call. Tests may change its fields.
pub fn emit_body(event: Value) -> Value {
    json!({"op": "emit", "event": event, "ctx": {"cwd": "/"}, "stop": null, "chain": null,
           "fresh": false, "catch": true})
}

/// The body of a `tool_call` event for bash.
pub fn bash_body(command: &str) -> Value {
    let event = json!({"type": "tool_call", "toolName": "bash", "toolCallId": "1",
                       "input": {"command": command}});
    let mut body = emit_body(event);
    body["stop"] = json!("block");
    body["catch"] = json!(false);
    body
}

impl ModuleDir {
    pub fn new() -> Self {
        Self::with_settings(ScriptSettings::default())
    }

    pub fn with_settings(settings: ScriptSettings) -> Self {
        let folder = tempfile::Builder::new().prefix("module dir ").tempdir().unwrap();
        let action = ModuleAction::new(settings);
        Self { folder, action, timeout: Duration::from_secs(120), budget: None }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub fn write_file(&self, name: &str, text: &str) -> PathBuf {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, text).unwrap();
        path
    }

    /// Calls `name` with a body whose path is filled in.
    pub fn call(&self, name: &str, body: Value) -> Outcome {
        self.call_all(&[name], &body).remove(0)
    }

    /// Calls several modules in one batch.
    pub fn call_all(&self, names: &[&str], body: &Value) -> Vec<Outcome> {
        let call = |name: &&str| {
            let mut body = body.clone();
            body["path"] = json!(self.path(name));
            let limits = Limits { timeout: self.timeout, budget: self.budget, ..Limits::default() };
            Call { body, limits, cwd: self.folder.path().into(), ..Call::default() }
        };
        let calls: Vec<Call> = names.iter().map(call).collect();

        let jobs: Vec<_> = calls.iter().map(|call| Job { call, record: None }).collect();
        self.action.run(&jobs)
    }

    /// The answer of a call that must succeed.
    pub fn answer(&self, name: &str, body: Value) -> Value {
        let outcome = self.call(name, body);
        assert_eq!(outcome.end, End::Answered, "{outcome:?}");
        outcome.answer.unwrap()
    }

    /// Writes a factory with this body and emits `tool_call` to it.
    pub fn run_factory(&self, factory: &str) -> Outcome {
        self.write_file("m.ts", &format!("export default function (pi: any) {{\n{factory}\n}}\n"));
        self.call("m.ts", bash_body("ls"))
    }

    /// Writes a handler with this body and emits `tool_call` to it.
    pub fn run_handler(&self, code: &str) -> Outcome {
        self.run_factory(&format!(
            "pi.on(\"tool_call\", async (event: any, ctx: any) => {{\n{code}\n}});"
        ))
    }
}

/// Why a module was not started.
pub fn load_error(outcome: &Outcome) -> &str {
    match &outcome.end {
        End::FailedToStart(why) => why,
        other => panic!("{other:?}"),
    }
}
