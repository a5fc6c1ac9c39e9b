//! An engine over a folder of hook files, with an action that answers as each hook's text says.

use std::sync::{Arc, Mutex};

use gambrel_engine::{
    Engine, FireResult, Options, TrustMode, confirm_reply, load_hooks, release_claims,
};
use gambrel_ledger::MemoryLedger;
use gambrel_model::{
    Action, Call, CallerContext, Captured, Decision, End, Job, Outcome, ReceivedEvent, SearchRoots,
};
use serde_json::{Value, json};

use crate::test_dialect::{FIRST, TABLE};

/// A folder of hooks, the session state, and everything that ran.
pub struct EngineFixture {
    folder: tempfile::TempDir,
    ledger: MemoryLedger,
    action: ScriptedAction,
    fired: usize,
    pub options: Options,
}

impl EngineFixture {
    /// The hooks of the two dialects.
    pub fn new(first: Value, second: Value) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::write(folder.path().join("first.json"), first.to_string()).expect("a file");
        std::fs::write(folder.path().join("second.json"), second.to_string()).expect("a file");
        let options = Options { trust: TrustMode::All, ..Options::default() };
        let (ledger, action) = (MemoryLedger::new(), ScriptedAction::default());
        Self { folder, ledger, action, fired: 0, options }
    }

    /// Fires an event and marks its messages as delivered.
    pub fn fire(&mut self, event: &str) -> FireResult {
        let fired = self.fire_native(&json!({"event": event, "input": {"command": "ls"}}));
        confirm_reply(&self.ledger, &fired.decision).expect("delivered");
        fired
    }

    /// Fires a native event whose reply does not arrive.
    pub fn fire_native(&mut self, native: &Value) -> FireResult {
        let root = self.folder.path().to_owned();
        self.fired += 1;
        let id = format!("firing-{}", self.fired);
        let context = CallerContext { id, cwd: root.clone(), ..CallerContext::default() };
        let native = native.to_string();
        let parsed = FIRST.caller.receive_event(native.as_bytes(), &context).expect("an event");
        let roots = SearchRoots { project: root.clone(), root, ..SearchRoots::default() };
        let engine = Engine {
            loaded: Arc::new(load_hooks(TABLE, roots, None)),
            actions: &[&self.action],
            ledger: &self.ledger,
            trust_store: &self.ledger,
            redact: &|_| (),
            options: self.options.clone(),
        };
        engine.fire(&engine.open_event(ReceivedEvent { parsed, context }))
    }

    /// Releases the messages of a reply that did not arrive.
    pub fn release(&self, decision: &Decision) {
        release_claims(&self.ledger, decision).expect("released");
    }

    /// What ran: one list per batch.
    pub fn batches(&self) -> Vec<Vec<String>> {
        let names = |batch: &Vec<Value>| {
            batch.iter().map(|body| body["name"].as_str().unwrap_or_default().to_owned()).collect()
        };
        self.action.batches.lock().expect("a list").iter().map(names).collect()
    }

    /// The bodies of every call, in order.
    pub fn bodies(&self) -> Vec<Value> {
        self.action.batches.lock().expect("a list").concat()
    }
}

/// Why a hook did not run, or the remark about its run.
pub fn reason_of(decision: &Decision, title: &str) -> String {
    let trail = decision.full_trail();
    let step = trail.iter().find(|step| step.title == title).expect("a step of the hook");
    step.why.clone()
}

/// Runs nothing: the outcome is the `answer` of the call. `timeout` and `missing` are failures;
/// `slow` takes the time that the firing has left, `echo` prints the input.
#[derive(Default)]
struct ScriptedAction {
    batches: Mutex<Vec<Vec<Value>>>,
}

impl Action for ScriptedAction {
    fn name(&self) -> &'static str {
        "scripted"
    }

    fn run(&self, jobs: &[Job<'_>]) -> Vec<Outcome> {
        let bodies: Vec<Value> = jobs.iter().map(|job| job.call.body.clone()).collect();
        let outcomes = jobs.iter().map(|job| answer_call(job.call)).collect();
        self.batches.lock().expect("a list").push(bodies);
        outcomes
    }
}

fn answer_call(call: &Call) -> Outcome {
    let answer = &call.body["answer"];
    match answer.as_str() {
        Some("slow") => {
            std::thread::sleep(call.limits.budget.expect("a budget"));
            Outcome::from_end(End::Exited(0))
        }
        Some("timeout") => Outcome::from_end(End::TimedOut),
        Some("missing") => Outcome::from_end(End::FailedToStart("no such program".into())),
        Some("failure") => Outcome::from_end(End::Exited(1)),
        Some("echo") => printed(&call.body["input"]),
        _ => printed(answer),
    }
}

fn printed(answer: &Value) -> Outcome {
    let stdout = Captured::from_text(&answer.to_string());
    Outcome { stdout, ..Outcome::from_end(End::Exited(0)) }
}
