//! State that the host functions share with the thread of the engine: effects, timers, open
//! operations, and the channel for their reports. Holds JSON, no JavaScript values.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::fs::File;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use gambrel_model::lossy_json;
use gambrel_process::owner::ProcessOwner;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::clock::Tripwire;
use super::status_line::Statuses;
use crate::node::host::bytes::pack_bytes;
use crate::node::host::{OpError, Sink};
use crate::settings::{OpenQuestions, Question, ScriptSettings};

const MAX_EFFECTS: usize = 1_000;
const MAX_EFFECT_BYTES: usize = 1 << 20;
const MAX_QUEUED_COMPLETIONS: usize = 256;
const MAX_OPEN_OPERATIONS: usize = 128;

/// One report of an open operation.
pub struct Completion {
    /// The operation.
    pub id: u32,
    /// `{"ok": …}` or `{"err": {…}}`.
    pub result: Value,
    /// Whether it is the operation's last report.
    pub last: bool,
}

/// Receives messages for an open operation (`kill`, bytes for stdin).
pub type OperationHandle = Box<dyn Fn(Value) -> Result<Value, OpError> + Send>;

/// Working directory and environment of a call.
#[derive(Debug, Clone, Default)]
pub struct CallEnv {
    /// The working directory.
    pub cwd: PathBuf,
    /// Variables to set on top of this process's environment.
    pub env: Vec<(String, String)>,
    /// Variables to remove from it.
    pub unset: Vec<String>,
    /// Private hosts and addresses that requests may reach.
    pub reachable: Vec<String>,
}

/// The state of one module's engine.
pub struct HostState {
    /// The module's file.
    pub module: PathBuf,
    /// How modules run.
    pub settings: ScriptSettings,
    /// The module's programs.
    pub programs: ProcessOwner,
    /// Interrupts running code at the deadline.
    pub tripwire: Tripwire,
    completions: SyncSender<Completion>,
    next_id: AtomicU32,
    inner: Mutex<HostStateInner>,
}

#[derive(Default)]
struct HostStateInner {
    effects: Vec<Value>,
    statuses: Statuses,
    effect_bytes: usize,
    dropped: usize,
    timers: BTreeSet<(Instant, u32)>,
    handles: HashMap<u32, OperationHandle>,
    files: HashMap<u32, Arc<File>>,
    open: HashSet<u32>,
    questions: OpenQuestions,
    call_result: Option<String>,
    handler_started: bool,
    call_env: CallEnv,
}

impl HostState {
    /// Creates the state, and the receiver of the operations' reports.
    pub fn new(module: PathBuf, settings: ScriptSettings) -> (Self, Receiver<Completion>) {
        let (completions, received) = sync_channel(MAX_QUEUED_COMPLETIONS);
        let inner = Mutex::new(HostStateInner::default());
        let programs = ProcessOwner::new(Arc::clone(&settings.watchdog), settings.subreaper);
        let (tripwire, next_id) = (Tripwire::new(), AtomicU32::new(1));
        (Self { module, settings, programs, tripwire, completions, next_id, inner }, received)
    }

    /// Records an effect that the module requests.
    pub fn add_effect(&self, text: &str) {
        let mut inner = self.lock_inner();
        if inner.effects.len() + inner.statuses.len() >= MAX_EFFECTS
            || inner.effect_bytes + text.len() > MAX_EFFECT_BYTES
        {
            inner.dropped += 1;
            return;
        }

        inner.effect_bytes += text.len();
        match lossy_json::from_text(text) {
            Ok(value) if inner.statuses.record_effect(&value) => {}
            Ok(value) => inner.effects.push(value),
            Err(_) => inner.dropped += 1,
        }
    }

    /// Records a warning for the user.
    pub fn add_warning(&self, message: &str) {
        self.add_effect(&json!({"type": "warning", "message": message}).to_string());
    }

    /// Takes all effects recorded so far.
    pub fn take_effects(&self) -> Vec<Value> {
        let mut inner = self.lock_inner();
        let mut effects = std::mem::take(&mut inner.effects);
        effects.extend(inner.statuses.drain_effects());
        inner.effect_bytes = 0;

        let dropped = std::mem::take(&mut inner.dropped);
        if dropped > 0 {
            let message = format!("effects dropped because of their number or size: {dropped}");
            effects.push(json!({"type": "warning", "message": message}));
        }
        effects
    }

    /// Sets the working directory and environment of the next calls.
    pub fn set_call_env(&self, call_env: CallEnv) {
        self.lock_inner().call_env = call_env;
    }

    /// Working directory and environment of the call.
    pub fn call_env(&self) -> CallEnv {
        self.lock_inner().call_env.clone()
    }

    /// Stores the result of the current call.
    pub fn finish_call(&self, text: String) {
        self.lock_inner().call_result = Some(text);
    }

    /// Takes the result of the current call, if it has ended.
    pub fn take_call_result(&self) -> Option<String> {
        self.lock_inner().call_result.take()
    }

    /// Records that the next handler starts.
    pub fn mark_handler_start(&self) {
        self.lock_inner().handler_started = true;
        self.settings.heartbeat.count_handler();
    }

    /// Whether a handler started since the last call of this function.
    pub fn take_handler_start(&self) -> bool {
        std::mem::take(&mut self.lock_inner().handler_started)
    }

    /// Opens an operation and returns the sink for its reports.
    pub fn open_operation(&self) -> Sink {
        let id = self.allocate_id();
        self.lock_inner().open.insert(id);
        Sink::new(id, self.completions.clone())
    }

    /// Stores the handle that receives messages for an open operation.
    pub fn set_handle(&self, id: u32, handle: OperationHandle) {
        self.lock_inner().handles.insert(id, handle);
    }

    /// Stores an open file, so that programs can inherit it.
    pub fn store_file(&self, id: u32, file: Arc<File>) {
        self.lock_inner().files.insert(id, file);
    }

    /// An open file.
    pub fn file(&self, id: u32) -> Option<Arc<File>> {
        self.lock_inner().files.get(&id).cloned()
    }

    /// Sends a message to an open operation.
    pub fn send_message(&self, id: u32, value: Value) -> Result<Value, OpError> {
        match self.lock_inner().handles.get(&id) {
            Some(handle) => handle(value),
            None => Err(OpError::new("the operation has ended").with_code("ERR_CLOSED")),
        }
    }

    /// Removes a timer or an open operation. Dropping its handle ends the program it owns.
    pub fn close_operation(&self, id: u32) {
        let mut inner = self.lock_inner();
        inner.timers.retain(|(_, timer)| *timer != id);
        inner.open.remove(&id);
        inner.questions.close_question(id);

        let owned = (inner.handles.remove(&id), inner.files.remove(&id));
        drop(inner);
        drop(owned);
    }

    /// Starts a timer.
    pub fn start_timer(&self, delay: Duration) -> u32 {
        let id = self.allocate_id();
        self.lock_inner().timers.insert((Instant::now() + delay, id));
        id
    }

    /// Takes the first timer that is due.
    pub fn take_due_timer(&self) -> Option<u32> {
        let mut inner = self.lock_inner();
        let first = *inner.timers.first()?;
        (first.0 <= Instant::now() && inner.timers.remove(&first)).then_some(first.1)
    }

    /// When the next timer is due.
    pub fn next_due(&self) -> Option<Instant> {
        self.lock_inner().timers.first().map(|(at, _)| *at)
    }

    /// Asks the user on a separate thread, because the answer function may block.
    pub fn ask_user(&self, mut question: Question) -> u32 {
        question.module = self.module.display().to_string();
        question.about = pack_bytes(&Sha256::digest(&question.about));

        let sink = self.open_operation();
        let id = sink.id();
        question.handle = self.lock_inner().questions.open_question(id);

        let ask_fn = self.settings.ask.clone();
        sink.run_in_thread(move || {
            Ok(ask_fn.and_then(|ask_fn| ask_fn(&question)).unwrap_or(Value::Null))
        });
        id
    }

    /// Whether a question is open.
    pub fn is_asking(&self) -> bool {
        self.lock_inner().questions.has_open()
    }

    /// Drops the open questions, the result and the interruption of an abandoned handler.
    pub fn abandon_call(&self) {
        self.lock_inner().questions.close_all();
        self.take_call_result();
        self.tripwire.rearm();
    }

    /// Whether too many operations are open.
    pub fn is_full(&self) -> bool {
        self.lock_inner().open.len() > MAX_OPEN_OPERATIONS
    }

    /// Whether an operation or timer is open that could still report.
    pub fn has_open_work(&self) -> bool {
        let inner = self.lock_inner();
        !inner.open.is_empty() || !inner.timers.is_empty()
    }

    fn allocate_id(&self) -> u32 {
        self.next_id.fetch_add(1, Ordering::Relaxed)
    }

    fn lock_inner(&self) -> MutexGuard<'_, HostStateInner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for HostState {
    fn drop(&mut self) {
        // The engine is gone, so an answer has no use.
        self.lock_inner().questions.close_all();
    }
}
