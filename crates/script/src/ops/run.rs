//! Programs that a module waits for on the spot (`spawnSync` and its kin). They cannot be
//! interrupted by the deadline, so there is always a limit, and what was started ends with it.

use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use rustix::process::Signal;
use serde_json::{Value, json};

use super::child::{self, DRAIN, Group, Stream, Word};
use super::{OpError, bytes, signals};
use crate::desk::Desk;

const DEFAULT_LIMIT: Duration = Duration::from_secs(60);
const MOST: Duration = Duration::from_secs(600);
const TERM_TO_KILL: Duration = Duration::from_millis(500);

/// Runs a program to its end: `{pid, status, signal, stdout, stderr, error}`.
pub fn run(desk: &Desk, args: Value) -> Result<Value, OpError> {
    let name = args["file"].as_str().unwrap_or_default();
    let (words, heard) = channel();
    let (group, stdin) = Group::start(desk, &args, &words)
        .map_err(|e| OpError::spawn(&e, &format!("spawnSync {name}"), name))?;
    let pid = group.id();
    let feeding = child::feed(stdin, words);
    if args["input"].is_string() {
        let _ = feeding.send(bytes::field(&args, "input"));
    }
    drop(feeding);
    let asked = args["maxBuffer"].as_u64().and_then(|n| usize::try_from(n).ok());
    let most = asked.unwrap_or(usize::MAX).min(desk.settings.memory / 4);
    // The engine's own deadline does not reach into a wait like this one.
    let mut watch = Watch::new(&args, most, group.streams(), desk.wire.until());
    watch.follow(&group, &heard);
    if watch.error.is_some() {
        group.root_out();
    }
    let end = group.reap();
    let [out, err] = watch.kept;
    Ok(json!({
        "pid": pid, "status": end.code, "signal": end.signal, "error": watch.error,
        "stdout": bytes::packed(&out), "stderr": bytes::packed(&err),
    }))
}

struct Watch {
    until: Instant,
    signal: Signal,
    most: usize,
    open: usize,
    kept: [Vec<u8>; 2],
    ended: bool,
    error: Option<&'static str>,
}

impl Watch {
    fn new(args: &Value, most: usize, open: usize, end: Option<Instant>) -> Self {
        let limit = args["timeout"].as_f64().filter(|ms| *ms > 0.0);
        let limit = limit.and_then(|ms| Duration::try_from_secs_f64(ms / 1000.0).ok());
        let own = limit.map(|limit| Instant::now() + limit.min(MOST));
        let until = own.into_iter().chain(end).min();
        let until = until.unwrap_or_else(|| Instant::now() + DEFAULT_LIMIT);
        let signal = args["killSignal"].as_str().and_then(signals::named).unwrap_or(Signal::TERM);
        Self { until, signal, most, open, kept: Default::default(), ended: false, error: None }
    }

    /// Until the program has ended and its streams with it, or it must.
    fn follow(&mut self, group: &Group, heard: &Receiver<Word>) {
        while !(self.ended && self.open == 0) {
            let left = self.until.saturating_duration_since(Instant::now());
            let pause = if self.ended { left.min(DRAIN) } else { left };
            match heard.recv_timeout(pause) {
                Ok(word) => self.hear(word, group),
                Err(RecvTimeoutError::Timeout) if self.ended && self.waits_for(group) => {}
                Err(RecvTimeoutError::Timeout) if self.ended || self.error.is_some() => return,
                Err(RecvTimeoutError::Timeout) => self.stop(group, "ETIMEDOUT"),
                Err(RecvTimeoutError::Disconnected) => return,
            }
        }
    }

    /// Whether it is only that our own threads have not come to its last words.
    fn waits_for(&self, group: &Group) -> bool {
        Instant::now() < self.until && group.brings_more()
    }

    fn hear(&mut self, word: Word, group: &Group) {
        match word {
            Word::Data(stream, data) => {
                group.used(stream);
                self.keep(stream, &data, group);
            }
            Word::Done(_) => self.open = self.open.saturating_sub(1),
            Word::Ended(_) => self.ended = true,
            Word::Used(_) | Word::Signal(_) | Word::Took(_) | Word::Gone | Word::Left(_) => {}
        }
    }

    fn keep(&mut self, stream: Stream, data: &[u8], group: &Group) {
        let kept = &mut self.kept[stream as usize];
        let room = self.most.saturating_sub(kept.len());
        kept.extend(data.iter().take(room));
        if data.len() > room && self.error.is_none() {
            self.stop(group, "ENOBUFS");
        }
    }

    fn stop(&mut self, group: &Group, why: &'static str) {
        self.error = Some(why);
        group.signal(self.signal);
        self.until = Instant::now() + TERM_TO_KILL;
    }
}
