//! Programs that run beside the module (`spawn`, `exec`). What they write comes as events, as fast
//! as the module takes it; they end by themselves, by a signal, at their timeout, or with the
//! engine that started them, unless its call had ended well: then at that call's limit.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use rustix::process::Signal;
use serde_json::{Value, json};

use super::child::{self, DRAIN, Ending, Group, Leash, Stream, WINDOW, Word};
use super::{OpError, Sink, bytes, signals};
use crate::desk::Desk;

const MAX_QUEUED: usize = 16 << 20;
const TERM_TO_KILL: Duration = Duration::from_secs(5);

/// Starts a program. Events: `{data, of}`, `{end}`, `{took}`, `{refused}`, `{exited}`; at last
/// `{code, signal, late}`.
pub fn spawn(desk: &Desk, args: Value, sink: Sink) {
    let name = args["file"].as_str().unwrap_or_default();
    let (words, heard) = channel();
    let (group, stdin) = match Group::start(desk, &args, &words) {
        Ok(started) => started,
        Err(error) => {
            return sink.end(Err(OpError::spawn(&error, &format!("spawn {name}"), name)));
        }
    };
    let queued = Arc::new(AtomicUsize::new(0));
    let reins = Reins {
        pid: group.id(),
        leash: group.leash(),
        input: Mutex::new(Some(child::feed(stdin, words.clone()))),
        queued: Arc::clone(&queued),
        words,
    };
    desk.keep(sink.id(), Box::new(move |said| reins.take(&said)));
    let limit = args["timeout"].as_f64().filter(|ms| *ms > 0.0);
    let limit = limit.and_then(|ms| Duration::try_from_secs_f64(ms / 1000.0).ok());
    let kill = args["killSignal"].as_str().and_then(signals::named).unwrap_or(Signal::TERM);
    let care = Care {
        until: limit.and_then(|limit| Instant::now().checked_add(limit)),
        kill,
        open: group.streams(),
        room: [WINDOW; 2],
        done: [false; 2],
        ended: false,
        late: false,
        queued,
    };
    let _ = std::thread::Builder::new().name("gambrel-spawn".into()).spawn(move || {
        let late = care.follow(&group, &heard, &sink);
        if late {
            group.root_out();
        }
        let Ending { code, signal } = group.reap();
        sink.end(Ok(json!({"code": code, "signal": signal, "late": late})));
    });
}

/// What the module holds; dropped with the engine, and the program with it unless it was left.
struct Reins {
    pid: u32,
    leash: Leash,
    input: Mutex<Option<Sender<Vec<u8>>>>,
    queued: Arc<AtomicUsize>,
    words: Sender<Word>,
}

impl Reins {
    fn take(&self, said: &Value) -> Result<Value, OpError> {
        match said["do"].as_str().unwrap_or_default() {
            "pid" => return Ok(json!(self.pid)),
            "write" => self.write(said)?,
            "end" => drop(self.input.lock().unwrap_or_else(PoisonError::into_inner).take()),
            "kill" => {
                let signal = said["signal"]
                    .as_str()
                    .and_then(signals::named)
                    .ok_or_else(|| OpError::new("Unknown signal").code("ERR_UNKNOWN_SIGNAL"))?;
                return Ok(json!(self.words.send(Word::Signal(signal)).is_ok()));
            }
            "used" => {
                let stream = if said["of"] == "stderr" { Stream::Err } else { Stream::Out };
                let _ = self.words.send(Word::Used(stream));
            }
            _ => {}
        }
        Ok(Value::Null)
    }

    fn write(&self, said: &Value) -> Result<(), OpError> {
        let data = bytes::field(said, "data");
        let broken = || OpError::new("write EPIPE").code("EPIPE");
        if self.queued.load(Ordering::Relaxed) + data.len() > MAX_QUEUED {
            return Err(OpError::new("too much input is waiting").code("ENOBUFS"));
        }
        let input = self.input.lock().unwrap_or_else(PoisonError::into_inner);
        self.queued.fetch_add(data.len(), Ordering::Relaxed);
        input.as_ref().ok_or_else(broken)?.send(data).map_err(|_| broken())
    }
}

impl Drop for Reins {
    fn drop(&mut self) {
        let _ = self.words.send(self.leash.drop_it());
    }
}

struct Care {
    until: Option<Instant>,
    kill: Signal,
    open: usize,
    room: [usize; 2],
    done: [bool; 2],
    ended: bool,
    late: bool,
    queued: Arc<AtomicUsize>,
}

impl Care {
    /// Until the program and its streams have ended, or it must; true if it was late.
    fn follow(mut self, group: &Group, heard: &Receiver<Word>, sink: &Sink) -> bool {
        while !(self.ended && self.open == 0) {
            match self.next(heard) {
                Ok(Word::Gone) | Err(RecvTimeoutError::Disconnected) => break,
                Ok(Word::Left(until)) => {
                    if !self.ended {
                        self.resume(group);
                        group.outlive(heard, until);
                    }
                    break;
                }
                Ok(word) => {
                    if !self.hear(word, group, sink) {
                        break;
                    }
                }
                // Our own threads have not come to its last words.
                Err(RecvTimeoutError::Timeout) if self.ended && self.waits_for(group) => {}
                Err(RecvTimeoutError::Timeout) if self.ended || self.late => break,
                Err(RecvTimeoutError::Timeout) => {
                    self.late = true;
                    group.signal(self.kill);
                    self.until = Instant::now().checked_add(TERM_TO_KILL);
                }
            }
        }
        self.late
    }

    fn waits_for(&self, group: &Group) -> bool {
        self.until.is_none_or(|until| Instant::now() < until) && group.brings_more()
    }

    /// Whoever held its output back has gone.
    fn resume(&self, group: &Group) {
        for (stream, room) in [Stream::Out, Stream::Err].into_iter().zip(self.room) {
            (room..WINDOW).for_each(|_| group.used(stream));
        }
    }

    fn next(&self, heard: &Receiver<Word>) -> Result<Word, RecvTimeoutError> {
        let left = self.until.map(|at| at.saturating_duration_since(Instant::now()));
        // A stream that the module lets wait is not silent; one that is read and says nothing is.
        let read = |at: &usize| self.done[*at] || self.room[*at] > 0;
        let silent = (self.ended && (0..2).all(|at| read(&at))).then_some(DRAIN);
        match [left, silent].into_iter().flatten().min() {
            Some(pause) => heard.recv_timeout(pause),
            None => heard.recv().map_err(|_| RecvTimeoutError::Disconnected),
        }
    }

    /// False once nobody listens.
    fn hear(&mut self, word: Word, group: &Group, sink: &Sink) -> bool {
        match word {
            Word::Data(stream, data) => {
                let room = &mut self.room[stream as usize];
                *room = room.saturating_sub(1);
                sink.event(json!({"data": bytes::packed(&data), "of": name(stream)}))
            }
            Word::Done(stream) => {
                self.open = self.open.saturating_sub(1);
                self.done[stream as usize] = true;
                sink.event(json!({"end": name(stream)}))
            }
            Word::Used(stream) => {
                self.room[stream as usize] += 1;
                group.used(stream);
                true
            }
            Word::Took(Ok(took)) => {
                self.queued.fetch_sub(took, Ordering::Relaxed);
                sink.event(json!({"took": took}))
            }
            Word::Took(Err(error)) => sink.event(json!({"refused": error.into_json()})),
            Word::Signal(signal) => {
                group.signal(signal);
                true
            }
            Word::Ended(Ending { code, signal }) => {
                self.ended = true;
                sink.event(json!({"exited": {"code": code, "signal": signal}}))
            }
            Word::Gone | Word::Left(_) => false,
        }
    }
}

fn name(stream: Stream) -> &'static str {
    match stream {
        Stream::Out => "stdout",
        Stream::Err => "stderr",
    }
}
