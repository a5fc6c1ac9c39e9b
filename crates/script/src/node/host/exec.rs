//! `pi.exec`: runs a program without shell and stdin, in its own process group. It ends by itself,
//! by its timeout, by an abort, or with the engine that started it.

use std::fs::File;
use std::io::Read;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use gambrel_process::environ::EnvironRequest;
use gambrel_process::error::StartError;
use gambrel_process::group::ProcessGroup;
use gambrel_process::owner::{ParentEnds, StreamEnd};
use rustix::process::Signal;
use serde_json::{Value, json};

use super::pipe::{PipeEnd, WatchedPipe};
use super::program::{ProgramExit, ProgramRequest, pipe_file, read_limit, start_program};
use super::{OpError, Sink};
use crate::runtime::HostState;

/// The limit of each stream. JSON may write a byte as six characters, which take twelve bytes.
const MAX_OUTPUT_BYTES: usize = 4 << 20;
const KILL_GRACE: Duration = Duration::from_secs(5);
const DRAIN_TIMEOUT: Duration = Duration::from_millis(200);
/// How often to wait for the reader threads to read the last output.
const MAX_DRAIN_WAITS: usize = 25;

enum ExecEvent {
    Exited,
    Kill,
    EngineEnded,
    LeftRunning(Instant),
}

/// The engine drops this at its end. The drop kills the program unless it may outlive the call.
struct ExecHandle(Sender<ExecEvent>, ProcessGroup);

impl Drop for ExecHandle {
    fn drop(&mut self) {
        let deadline = self.1.end_unless_left();
        let _ = self.0.send(deadline.map_or(ExecEvent::EngineEnded, ExecEvent::LeftRunning));
    }
}

/// Starts a program; reports `{stdout, stderr, code, killed}`.
pub fn exec_program(state: &HostState, args: Value, sink: Sink) {
    let name = args["command"].as_str().unwrap_or_default().to_owned();
    let (group, [_, stdout, stderr]) = match start_exec(state, &args, &name) {
        Ok(started) => started,
        Err(error) => {
            let error = error.os_error();
            return sink.end(Err(OpError::io_error(&error, &format!("spawn {name}"), &name)));
        }
    };

    let (sender, events) = channel();
    let exec_handle = ExecHandle(sender.clone(), group.clone());
    let handle = move |_| {
        let _ = exec_handle.0.send(ExecEvent::Kill);
        Ok(Value::Null)
    };
    state.set_handle(sink.id(), Box::new(handle));

    let limit = read_limit(&args);
    let out = drain_stream(pipe_file(stdout));
    let err = drain_stream(pipe_file(stderr));

    sink.run_in_thread(move || {
        watch_exit(group.clone(), sender);
        let ended_by_us = supervise_program(&group, &events, limit);
        if ended_by_us {
            group.kill_tree();
        }
        // A killed program has code 0; `killed` distinguishes it from a success.
        let exit = ProgramExit::from(group.reap());
        let killed = ended_by_us || exit.signal.is_some();
        let code = exit.code.unwrap_or_default();
        Ok(json!({"stdout": out.collect_text(), "stderr": err.collect_text(), "code": code, "killed": killed}))
    });
}

fn start_exec(
    state: &HostState,
    args: &Value,
    name: &str,
) -> Result<(ProcessGroup, ParentEnds), StartError> {
    let call_env = state.call_env();
    let cwd = args["cwd"].as_str().map(|c| call_env.cwd.join(c)).unwrap_or(call_env.cwd);
    let environ =
        EnvironRequest { set: &call_env.env, remove: &call_env.unset, ..EnvironRequest::default() };
    let words = args["args"].as_array().into_iter().flatten();
    let request = ProgramRequest {
        file: name,
        argv0: name,
        args: words.filter_map(Value::as_str).collect(),
        cwd: &cwd,
        environ,
    };
    let streams = [StreamEnd::Null, StreamEnd::Pipe, StreamEnd::Pipe];
    start_program(state, &request, streams, Some(name))
}

/// Waits without reaping, so that the group's number is not reused before the last signal.
fn watch_exit(group: ProcessGroup, sender: Sender<ExecEvent>) {
    let _ = std::thread::Builder::new().name("gambrel-exec".into()).spawn(move || {
        group.wait_for_exit();
        let _ = sender.send(ExecEvent::Exited);
    });
}

/// Waits for the program and enforces its limits. True if gambrel ended it.
fn supervise_program(
    group: &ProcessGroup,
    events: &Receiver<ExecEvent>,
    limit: Option<Duration>,
) -> bool {
    let first = match limit {
        Some(limit) => events.recv_timeout(limit).unwrap_or(ExecEvent::Kill),
        None => events.recv().unwrap_or(ExecEvent::EngineEnded),
    };

    match first {
        ExecEvent::Exited => return false,
        ExecEvent::EngineEnded => group.signal(Signal::KILL),
        ExecEvent::LeftRunning(until) => {
            let left = until.saturating_duration_since(Instant::now());
            if matches!(events.recv_timeout(left), Ok(ExecEvent::Exited)) {
                return false;
            }
            group.signal(Signal::KILL);
        }
        ExecEvent::Kill => {
            group.signal(Signal::TERM);
            let until = Instant::now() + KILL_GRACE;
            loop {
                let left = until.saturating_duration_since(Instant::now());
                match events.recv_timeout(left) {
                    Ok(ExecEvent::Exited) => break,
                    Ok(ExecEvent::Kill) => {}
                    Ok(ExecEvent::EngineEnded | ExecEvent::LeftRunning(_)) | Err(_) => break,
                }
            }
            group.signal(Signal::KILL);
        }
    }
    true
}

/// A stream that a thread reads to its end. Keeps a limited number of bytes.
struct CollectedOutput {
    bytes: Arc<Mutex<Vec<u8>>>,
    done: Receiver<()>,
    pipe: Option<WatchedPipe>,
}

impl CollectedOutput {
    /// The output so far. A descendant may keep the stream open, so the wait for its end is short.
    fn collect_text(&self) -> String {
        let late = |waited| matches!(waited, Err(RecvTimeoutError::Timeout));
        let brings_more = || self.pipe.as_ref().is_some_and(WatchedPipe::has_unread);
        // A descendant may go on writing, so the number of waits is limited.
        let _ = (0..MAX_DRAIN_WAITS)
            .all(|_| late(self.done.recv_timeout(DRAIN_TIMEOUT)) && brings_more());
        let bytes = self.bytes.lock().unwrap_or_else(PoisonError::into_inner);
        String::from_utf8_lossy(&bytes).into_owned()
    }
}

fn drain_stream(stream: Option<File>) -> CollectedOutput {
    let (pipe, end) = stream.as_ref().map(WatchedPipe::watch_stream).unzip();
    let bytes = Arc::new(Mutex::new(Vec::new()));

    let (finished, done) = channel();

    let kept = Arc::clone(&bytes);
    let _ = std::thread::Builder::new().name("gambrel-exec-read".into()).spawn(move || {
        let Some(mut stream) = stream else { return };
        let mut chunk = [0; 16 << 10];
        while let Ok(read @ 1..) = stream.read(&mut chunk) {
            let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
            let space = MAX_OUTPUT_BYTES.saturating_sub(kept.len()).min(read);
            kept.extend_from_slice(chunk.get(..space).unwrap_or_default());
        }
        end.iter().for_each(PipeEnd::mark_read);
        let _ = finished.send(());
    });
    CollectedOutput { bytes, done, pipe: pipe.flatten() }
}
