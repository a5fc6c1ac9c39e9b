//! What the composition decides about modules: who answers their questions and how much they may
//! take. Knows no engine.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use gambrel_model::{FetchRequest, FetchResponse};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Who answers the questions of modules. It blocks until a person has answered or the question is
/// over; `None` is the answer of a host without a person.
pub type Asker = Arc<dyn Fn(&Ask) -> Option<Value> + Send + Sync>;

/// Who makes the requests of modules. It blocks until the answer is there whole; the error is for
/// whoever wrote the module.
pub type Fetcher = Arc<dyn Fn(&FetchRequest) -> Result<FetchResponse, String> + Send + Sync>;

/// How modules are run.
#[derive(Clone)]
pub struct ScriptSettings {
    /// Who answers `ctx.ui` dialogs; `None` means that there is no UI.
    pub ask: Option<Asker>,
    /// The most memory that one module's engine may hold, in bytes.
    pub memory: usize,
    /// The most stack that a module's code may use, in bytes.
    pub stack: usize,
    /// Who runs modules that need a full host.
    pub full_host: FullHost,
    /// Who makes the requests of modules (`fetch`); `None` means that they may not make any.
    pub fetch: Option<Fetcher>,
    /// Beats when a call goes on to its next handler, each of which has the whole time, and tells
    /// whether modules wait or work.
    pub pulse: Pulse,
}

/// What is seen of modules from outside, by whoever watches.
#[derive(Debug, Clone, Default)]
pub struct Pulse(Arc<Beats>);

#[derive(Debug, Default)]
struct Beats {
    laps: AtomicU64,
    waiting: AtomicU64,
}

impl Pulse {
    /// Counts one more.
    pub fn beat(&self) {
        self.0.laps.fetch_add(1, Ordering::Relaxed);
    }

    /// The count so far.
    pub fn beats(&self) -> u64 {
        self.0.laps.load(Ordering::Relaxed)
    }

    /// Whether one of them waits for something.
    pub fn waits(&self) -> bool {
        self.0.waiting.load(Ordering::SeqCst) > 0
    }

    /// Waits for something.
    pub(crate) fn waiting<T>(&self, wait: impl FnOnce() -> T) -> T {
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
            memory: 64 << 20,
            stack: 512 << 10,
            full_host: FullHost::default(),
            fetch: None,
            pulse: Pulse::default(),
        }
    }
}

/// The program that modules are given to which need more than the embedded engine has.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum FullHost {
    /// Bun, else node, where the path finds one.
    #[default]
    Found,
    /// This bun or node.
    At(PathBuf),
    /// None: such modules cannot be loaded.
    Nobody,
}

/// The questions of one module that are open, by the order in which they were asked.
#[derive(Debug, Clone, Default)]
pub(crate) struct Questions(Arc<Mutex<BTreeSet<u32>>>);

impl Questions {
    pub(crate) fn open(&self, id: u32) -> Standing {
        self.held().insert(id);
        Standing { id, questions: self.clone() }
    }

    pub(crate) fn close(&self, id: u32) {
        self.held().remove(&id);
    }

    pub(crate) fn close_all(&self) {
        self.held().clear();
    }

    pub(crate) fn any(&self) -> bool {
        !self.held().is_empty()
    }

    fn held(&self) -> MutexGuard<'_, BTreeSet<u32>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Where a question stands, for whoever asks a person that can only be asked one thing at a time.
#[derive(Debug, Clone, Default)]
pub struct Standing {
    id: u32,
    questions: Questions,
}

impl Standing {
    /// Whether nobody waits for its answer any more.
    pub fn is_over(&self) -> bool {
        !self.questions.held().contains(&self.id)
    }

    /// Whether every question that its module asked before is over.
    pub fn is_next(&self) -> bool {
        self.questions.held().first().is_none_or(|first| *first >= self.id)
    }
}

/// One question of a module to a person.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Ask {
    /// What kind of answer it wants.
    pub kind: AskKind,
    /// The heading.
    pub title: String,
    /// What it is about (confirm).
    pub message: Option<String>,
    /// What may be chosen (select).
    pub options: Vec<String>,
    /// What stands in the field before anything is typed (input, editor).
    pub placeholder: Option<String>,
    /// The module that asks.
    pub module: String,
    /// The event whose handler asks, or `command:<name>`.
    pub event: String,
    /// What that event said, as a hash: the same question about the same call is the same question.
    pub about: String,
    /// The session in which it happened.
    pub session: Option<String>,
    /// Whether it is its turn, and whether it was given up.
    #[serde(skip)]
    pub standing: Standing,
}

/// The kinds of dialogs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum AskKind {
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
