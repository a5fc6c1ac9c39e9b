//! Settings of modules: functions for questions and requests, and limits. Knows no engine.

use std::collections::BTreeSet;
use std::error::Error;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use gambrel_model::{FetchRequest, FetchResponse};
use gambrel_process::watchdog_client::WatchdogClient;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Answers the questions of modules. Blocks until the user has answered or the question is over.
/// `None` is the answer without a user.
pub type AskFn = Arc<dyn Fn(&Question) -> Option<Value> + Send + Sync>;

/// Makes the HTTP requests of modules. Blocks until the response is complete. The error's text is
/// for the author of the module.
pub type FetchFn =
    Arc<dyn Fn(&FetchRequest) -> Result<FetchResponse, Box<dyn Error + Send + Sync>> + Send + Sync>;

/// How modules run.
#[derive(Clone)]
pub struct ScriptSettings {
    /// Answers `ctx.ui` dialogs; `None` means that there is no UI.
    pub ask: Option<AskFn>,
    /// The memory limit of one module's engine, in bytes.
    pub memory_bytes: usize,
    /// The stack limit of a module's code, in bytes.
    pub stack_bytes: usize,
    /// The program for modules that need a full host.
    pub full_host: FullHost,
    /// Makes the requests of modules (`fetch`); `None` forbids them.
    pub fetch: Option<FetchFn>,
    /// Kills the programs of modules if this process dies.
    pub watchdog: Arc<WatchdogClient>,
    /// Whether orphans of programs become children of this process. Only for a process whose
    /// children are all programs, hooks or helpers.
    pub subreaper: bool,
    /// Counts started handlers and shows whether a module waits.
    pub heartbeat: Heartbeat,
}

/// Progress of modules, for a thread that watches a call.
#[derive(Debug, Clone, Default)]
pub struct Heartbeat(Arc<HeartbeatCounters>);

#[derive(Debug, Default)]
struct HeartbeatCounters {
    handlers: AtomicU64,
    waiting: AtomicU64,
}

impl Heartbeat {
    /// Counts a started handler.
    pub fn count_handler(&self) {
        self.0.handlers.fetch_add(1, Ordering::Relaxed);
    }

    /// The number of handlers started so far.
    pub fn handler_count(&self) -> u64 {
        self.0.handlers.load(Ordering::Relaxed)
    }

    /// Whether a module waits for something.
    pub fn is_waiting(&self) -> bool {
        self.0.waiting.load(Ordering::SeqCst) > 0
    }

    /// Runs a wait and marks it as such.
    pub(crate) fn while_waiting<T>(&self, wait: impl FnOnce() -> T) -> T {
        self.0.waiting.fetch_add(1, Ordering::SeqCst);
        let made = wait();
        self.0.waiting.fetch_sub(1, Ordering::SeqCst);
        made
    }
}

impl Default for ScriptSettings {
    fn default() -> Self {
        Self {
            ask: None,
            memory_bytes: 64 << 20,
            stack_bytes: 512 << 10,
            full_host: FullHost::default(),
            fetch: None,
            watchdog: Arc::default(),
            subreaper: false,
            heartbeat: Heartbeat::default(),
        }
    }
}

/// The program for modules that need more than the embedded engine has.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum FullHost {
    /// Bun, else node, from `PATH`.
    #[default]
    FromPath,
    /// This bun or node.
    At(PathBuf),
    /// None: such modules cannot be loaded.
    Disabled,
}

/// The open questions of one module, in the order of asking.
#[derive(Debug, Clone, Default)]
pub(crate) struct OpenQuestions(Arc<Mutex<BTreeSet<u32>>>);

impl OpenQuestions {
    pub(crate) fn open_question(&self, id: u32) -> QuestionHandle {
        self.lock_ids().insert(id);
        QuestionHandle { id, questions: self.clone() }
    }

    pub(crate) fn close_question(&self, id: u32) {
        self.lock_ids().remove(&id);
    }

    pub(crate) fn close_all(&self) {
        self.lock_ids().clear();
    }

    pub(crate) fn has_open(&self) -> bool {
        !self.lock_ids().is_empty()
    }

    fn lock_ids(&self) -> MutexGuard<'_, BTreeSet<u32>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The state of a question, for a dialog that shows one question at a time.
#[derive(Debug, Clone, Default)]
pub struct QuestionHandle {
    id: u32,
    questions: OpenQuestions,
}

impl QuestionHandle {
    /// Whether the module no longer waits for an answer.
    pub fn is_over(&self) -> bool {
        !self.questions.lock_ids().contains(&self.id)
    }

    /// Whether all earlier questions of the module are over.
    pub fn is_next(&self) -> bool {
        self.questions.lock_ids().first().is_none_or(|first| *first >= self.id)
    }
}

/// One question of a module to the user.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Question {
    /// The kind of answer.
    pub kind: QuestionKind,
    /// The heading.
    pub title: String,
    /// The text below the heading (confirm).
    pub message: Option<String>,
    /// The choices (select).
    pub options: Vec<String>,
    /// The initial text of the field (input, editor).
    pub placeholder: Option<String>,
    /// The module that asks.
    pub module: String,
    /// The event whose handler asks, or `command:<name>`.
    pub event: String,
    /// A hash of the event, so that a repeated question about the same call is recognized.
    pub about: String,
    /// The session of the event.
    pub session: Option<String>,
    /// Whether it is the question's turn, and whether it is over.
    #[serde(skip)]
    pub handle: QuestionHandle,
}

/// The kinds of dialogs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum QuestionKind {
    /// One of several, answered with its text.
    Select,
    /// Yes or no, answered with a bool.
    #[default]
    Confirm,
    /// One line of text.
    Input,
    /// Many lines of text.
    Editor,
}
