//! What the engine's natives share with the thread that runs it: effects, timers, open work, and
//! the channel on which work reports back. Knows nothing of JavaScript values; everything here is
//! JSON.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::fs::File;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use gambrel_model::lossy_json;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::clock::Tripwire;
use crate::keeper::Keeper;
use crate::ops::bytes::packed;
use crate::ops::{OpError, Sink};
use crate::settings::{Ask, Questions, ScriptSettings};
use crate::status::Statuses;

const MAX_EFFECTS: usize = 1_000;
const MAX_EFFECT_BYTES: usize = 1 << 20;
const MAX_POSTS: usize = 256;
const MAX_OPEN: usize = 128;

/// One report of work under way. `said` is `{"ok": …}` or `{"err": {…}}`.
pub struct Post {
    /// Whose.
    pub id: u32,
    /// What it says.
    pub said: Value,
    /// Whether it was the last one.
    pub last: bool,
}

/// What takes words for work under way (`kill`, bytes for stdin).
pub type Handle = Box<dyn Fn(Value) -> Result<Value, OpError> + Send>;

/// Where the call happens.
#[derive(Debug, Clone, Default)]
pub struct Surround {
    /// The folder.
    pub cwd: PathBuf,
    /// Set on top of this process's environment.
    pub env: Vec<(String, String)>,
    /// Taken out of it.
    pub unset: Vec<String>,
    /// What of the inside requests may reach.
    pub reachable: Vec<String>,
}

/// The desk of one module's engine.
pub struct Desk {
    /// The module's file.
    pub module: PathBuf,
    /// How modules are run.
    pub settings: ScriptSettings,
    /// Who ends the module's programs if we cannot.
    pub keeper: Keeper,
    /// When the code that runs must end.
    pub wire: Tripwire,
    posts: SyncSender<Post>,
    next: AtomicU32,
    papers: Mutex<Papers>,
}

#[derive(Default)]
struct Papers {
    effects: Vec<Value>,
    statuses: Statuses,
    effect_bytes: usize,
    dropped: usize,
    timers: BTreeSet<(Instant, u32)>,
    handles: HashMap<u32, Handle>,
    files: HashMap<u32, Arc<File>>,
    open: HashSet<u32>,
    questions: Questions,
    settled: Option<String>,
    lapped: bool,
    surround: Surround,
}

impl Desk {
    /// A desk, and where its work reports.
    pub fn new(module: PathBuf, settings: ScriptSettings) -> (Self, Receiver<Post>) {
        let (posts, received) = sync_channel(MAX_POSTS);
        let papers = Mutex::new(Papers::default());
        let keeper = Keeper::default();
        let (wire, next) = (Tripwire::new(), AtomicU32::new(1));
        (Self { module, settings, keeper, wire, posts, next, papers }, received)
    }

    /// Notes something that the module wants done.
    pub fn effect(&self, text: &str) {
        let mut papers = self.papers();
        if papers.effects.len() + papers.statuses.len() >= MAX_EFFECTS
            || papers.effect_bytes + text.len() > MAX_EFFECT_BYTES
        {
            papers.dropped += 1;
            return;
        }
        papers.effect_bytes += text.len();
        match lossy_json::from_text(text) {
            Ok(value) if papers.statuses.take(&value) => {}
            Ok(value) => papers.effects.push(value),
            Err(_) => papers.dropped += 1,
        }
    }

    /// Notes something that a person should know about the module.
    pub fn warn(&self, message: &str) {
        self.effect(&json!({"type": "warning", "message": message}).to_string());
    }

    /// All effects so far; the desk has none afterwards.
    pub fn take_effects(&self) -> Vec<Value> {
        let mut papers = self.papers();
        let mut effects = std::mem::take(&mut papers.effects);
        effects.extend(papers.statuses.give());
        papers.effect_bytes = 0;
        let dropped = std::mem::take(&mut papers.dropped);
        if dropped > 0 {
            let message = format!("{dropped} effects were too many or too large and were dropped");
            effects.push(json!({"type": "warning", "message": message}));
        }
        effects
    }

    /// Sets where the next calls happen.
    pub fn place(&self, surround: Surround) {
        self.papers().surround = surround;
    }

    /// Where the call happens.
    pub fn surround(&self) -> Surround {
        self.papers().surround.clone()
    }

    /// Notes how the call under way has ended.
    pub fn settle(&self, text: String) {
        self.papers().settled = Some(text);
    }

    /// How the call under way has ended, if it has.
    pub fn take_settled(&self) -> Option<String> {
        self.papers().settled.take()
    }

    /// Notes that another handler has its turn.
    pub fn lap(&self) {
        self.papers().lapped = true;
        self.settings.pulse.beat();
    }

    /// Whether another handler has its turn since this was last asked.
    pub fn take_lap(&self) -> bool {
        std::mem::take(&mut self.papers().lapped)
    }

    /// Opens a line on which work reports.
    pub fn open(&self) -> Sink {
        let id = self.number();
        self.papers().open.insert(id);
        Sink::new(id, self.posts.clone())
    }

    /// Keeps what takes words for open work.
    pub fn keep(&self, id: u32, handle: Handle) {
        self.papers().handles.insert(id, handle);
    }

    /// Keeps an open file where programs that are given it find it.
    pub fn shelve(&self, id: u32, file: Arc<File>) {
        self.papers().files.insert(id, file);
    }

    /// An open file.
    pub fn file(&self, id: u32) -> Option<Arc<File>> {
        self.papers().files.get(&id).cloned()
    }

    /// Says something to open work.
    pub fn send(&self, id: u32, value: Value) -> Result<Value, OpError> {
        match self.papers().handles.get(&id) {
            Some(handle) => handle(value),
            None => Err(OpError::new("the work has ended").code("ERR_CLOSED")),
        }
    }

    /// Forgets a timer or open work; what owns something ends with its handle.
    pub fn close(&self, id: u32) {
        let mut papers = self.papers();
        papers.timers.retain(|(_, timer)| *timer != id);
        papers.open.remove(&id);
        papers.questions.close(id);
        let owned = (papers.handles.remove(&id), papers.files.remove(&id));
        drop(papers);
        drop(owned);
    }

    /// Sets a timer.
    pub fn timer(&self, pause: Duration) -> u32 {
        let id = self.number();
        self.papers().timers.insert((Instant::now() + pause, id));
        id
    }

    /// The first timer that is due.
    pub fn due(&self) -> Option<u32> {
        let mut papers = self.papers();
        let first = *papers.timers.first()?;
        (first.0 <= Instant::now() && papers.timers.remove(&first)).then_some(first.1)
    }

    /// When the next timer is due.
    pub fn next_due(&self) -> Option<Instant> {
        self.papers().timers.first().map(|(at, _)| *at)
    }

    /// Asks a person, on a thread of its own: the asker may block for as long as it likes.
    pub fn ask(&self, mut ask: Ask) -> u32 {
        ask.module = self.module.display().to_string();
        ask.about = packed(&Sha256::digest(&ask.about));
        let sink = self.open();
        let id = sink.id();
        ask.standing = self.papers().questions.open(id);
        let asker = self.settings.ask.clone();
        sink.run(move || Ok(asker.and_then(|asker| asker(&ask)).unwrap_or(Value::Null)));
        id
    }

    /// Whether a person is being asked.
    pub fn asking(&self) -> bool {
        self.papers().questions.any()
    }

    /// Whoever asked, or had the last word, is not waited for any more.
    pub fn let_be(&self) {
        self.papers().questions.close_all();
        self.take_settled();
        self.wire.rearm();
    }

    /// Whether there is no room for more work at once.
    pub fn crowded(&self) -> bool {
        self.papers().open.len() > MAX_OPEN
    }

    /// Whether anything is under way that could report.
    pub fn expects(&self) -> bool {
        let papers = self.papers();
        !papers.open.is_empty() || !papers.timers.is_empty()
    }

    fn number(&self) -> u32 {
        self.next.fetch_add(1, Ordering::Relaxed)
    }

    fn papers(&self) -> MutexGuard<'_, Papers> {
        self.papers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Desk {
    fn drop(&mut self) {
        // Nobody is left who could hear an answer.
        self.papers().questions.close_all();
    }
}
