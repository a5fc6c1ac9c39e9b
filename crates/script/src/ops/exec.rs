//! `pi.exec`: a program and its arguments, no shell, no stdin, in a group of its own. It ends by
//! itself, by its timeout, by an abort, or with the engine that started it.

use std::io::Read;
use std::os::fd::AsFd;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions};
use serde_json::{Value, json};

use super::pipe::{End, Pipe};
use super::{OpError, Sink};
use crate::desk::Desk;
use crate::keeper::Keeper;

/// Of each stream. Bytes that JSON writes as six characters take twelve times as much memory.
const MAX_OUTPUT: usize = 4 << 20;
const TERM_TO_KILL: Duration = Duration::from_secs(5);
const DRAIN: Duration = Duration::from_millis(200);
/// So often one waits for our own threads to come to what a program wrote last.
const LOOKS: usize = 25;

enum Word {
    Ended,
    Kill,
    Gone,
    Left(Instant),
}

/// The group's number while it is ours: taken away before the leader is reaped.
type Group = Arc<Mutex<Option<Pid>>>;

/// Dropped with the engine: what still runs and was not left is killed at once, by whoever drops
/// it, because the process may be about to end and no other thread would come to it.
struct Leash(Sender<Word>, Group, Keeper);

impl Drop for Leash {
    fn drop(&mut self) {
        let pid = *self.1.lock().unwrap_or_else(PoisonError::into_inner);
        let group = pid.and_then(|pid| u32::try_from(pid.as_raw_pid()).ok());
        let word = match group.and_then(|group| self.2.until(group)) {
            Some(until) => Word::Left(until),
            None => {
                // Those that left it first: once its leader has gone, another thread lets go of
                // the mark by which they are known.
                group.iter().for_each(|group| self.2.sweep(*group));
                signal(&self.1, Signal::KILL);
                Word::Gone
            }
        };
        let _ = self.0.send(word);
    }
}

/// Starts a program; reports `{stdout, stderr, code, killed}`.
pub fn exec(desk: &Desk, args: Value, sink: Sink) {
    let name = args["command"].as_str().unwrap_or_default().to_owned();
    let spawned = desk.keeper.start(&mut command(desk, &args, &name), Some(&name));
    let (mut child, held) = match spawned {
        Ok(spawned) => spawned,
        Err(error) => return sink.end(Err(OpError::io(&error, &format!("spawn {name}"), &name))),
    };
    let (words, heard) = channel();
    let group: Group = Arc::new(Mutex::new(pid_of(&child)));
    let leash = Leash(words.clone(), Arc::clone(&group), desk.keeper.clone());
    let handle = move |_| {
        let _ = leash.0.send(Word::Kill);
        Ok(Value::Null)
    };
    desk.keep(sink.id(), Box::new(handle));
    let limit = args["timeout"].as_f64().filter(|ms| *ms > 0.0);
    let limit = limit.and_then(|ms| Duration::try_from_secs_f64(ms / 1000.0).ok());
    let out = drain(child.stdout.take());
    let err = drain(child.stderr.take());
    sink.run(move || {
        watch(&child, words);
        let ended_by_us = supervise(&group, &heard, limit);
        if ended_by_us {
            held.sweep();
        }
        group.lock().unwrap_or_else(PoisonError::into_inner).take();
        drop(held);
        let status = child.wait();
        // Whoever sent the signal: no code of its own is 0, and `killed` tells the two apart.
        let code = status.as_ref().map_or(1, |status| status.code().unwrap_or(0));
        let killed = ended_by_us || status.is_ok_and(|status| status.signal().is_some());
        Ok(json!({"stdout": out.text(), "stderr": err.text(), "code": code, "killed": killed}))
    });
}

fn command(desk: &Desk, args: &Value, name: &str) -> Command {
    let surround = desk.surround();
    let mut command = Command::new(name);
    let words = args["args"].as_array().into_iter().flatten();
    command.args(words.filter_map(Value::as_str));
    let cwd = args["cwd"].as_str().map(|c| surround.cwd.join(c)).unwrap_or(surround.cwd);
    if !cwd.as_os_str().is_empty() {
        command.current_dir(cwd);
    }
    for name in &surround.unset {
        command.env_remove(name);
    }
    command.envs(surround.env);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.process_group(0);
    command
}

/// Waits without reaping, so that the group's number stays ours until the last signal is sent.
fn watch(child: &Child, words: Sender<Word>) {
    let Some(pid) = pid_of(child) else { return };
    let _ = std::thread::Builder::new().name("gambrel-exec".into()).spawn(move || {
        let how = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
        let interrupted = |e: rustix::io::Errno| e == rustix::io::Errno::INTR;
        while rustix::process::waitid(WaitId::Pid(pid), how).is_err_and(interrupted) {}
        let _ = words.send(Word::Ended);
    });
}

/// True if the program was ended by us.
fn supervise(group: &Group, heard: &Receiver<Word>, limit: Option<Duration>) -> bool {
    let first = match limit {
        Some(limit) => heard.recv_timeout(limit).unwrap_or(Word::Kill),
        None => heard.recv().unwrap_or(Word::Gone),
    };
    match first {
        Word::Ended => return false,
        Word::Gone => signal(group, Signal::KILL),
        Word::Left(until) => {
            let left = until.saturating_duration_since(Instant::now());
            if matches!(heard.recv_timeout(left), Ok(Word::Ended)) {
                return false;
            }
            signal(group, Signal::KILL);
        }
        Word::Kill => {
            signal(group, Signal::TERM);
            let until = Instant::now() + TERM_TO_KILL;
            loop {
                let left = until.saturating_duration_since(Instant::now());
                match heard.recv_timeout(left) {
                    Ok(Word::Ended) => break,
                    Ok(Word::Kill) => {}
                    Ok(Word::Gone | Word::Left(_)) | Err(_) => break,
                }
            }
            signal(group, Signal::KILL);
        }
    }
    true
}

fn signal(group: &Group, signal: Signal) {
    if let Some(pid) = *group.lock().unwrap_or_else(PoisonError::into_inner) {
        // The group may have ended by itself in the meantime.
        let _ = rustix::process::kill_process_group(pid, signal);
    }
}

fn pid_of(child: &Child) -> Option<Pid> {
    i32::try_from(child.id()).ok().and_then(Pid::from_raw)
}

/// A stream that is read to its end on a thread of its own, kept up to a cap.
struct Drained {
    bytes: Arc<Mutex<Vec<u8>>>,
    done: Receiver<()>,
    pipe: Option<Pipe>,
}

impl Drained {
    /// A grandchild may hold the stream open: after a short wait what is there is taken.
    fn text(&self) -> String {
        let late = |waited| matches!(waited, Err(RecvTimeoutError::Timeout));
        let brings_more = || self.pipe.as_ref().is_some_and(Pipe::brings_more);
        // One that goes on writing has no last words.
        let _ = (0..LOOKS).all(|_| late(self.done.recv_timeout(DRAIN)) && brings_more());
        let bytes = self.bytes.lock().unwrap_or_else(PoisonError::into_inner);
        String::from_utf8_lossy(&bytes).into_owned()
    }
}

fn drain(stream: Option<impl Read + AsFd + Send + 'static>) -> Drained {
    let (pipe, end) = stream.as_ref().map(Pipe::of).unzip();
    let bytes = Arc::new(Mutex::new(Vec::new()));
    let (finished, done) = channel();
    let kept = Arc::clone(&bytes);
    let _ = std::thread::Builder::new().name("gambrel-exec-read".into()).spawn(move || {
        let Some(mut stream) = stream else { return };
        let mut chunk = [0; 16 << 10];
        while let Ok(read @ 1..) = stream.read(&mut chunk) {
            let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
            let room = MAX_OUTPUT.saturating_sub(kept.len()).min(read);
            kept.extend_from_slice(chunk.get(..room).unwrap_or_default());
        }
        end.iter().for_each(End::seen);
        let _ = finished.send(());
    });
    Drained { bytes, done, pipe: pipe.flatten() }
}
