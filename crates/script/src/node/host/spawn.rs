//! Asynchronous programs (`spawn`, `exec`). Their output comes as events, as fast as the module
//! reads it. They end by themselves, by a signal, at their timeout, or with the engine. After a
//! successful call they may run until that call's limit.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use gambrel_process::group::ProcessGroup;
use rustix::process::Signal;
use serde_json::{Value, json};

use super::child::{self, ChildEvent, ChildGroup, DRAIN_TIMEOUT, MAX_UNREAD_CHUNKS, Stream};
use super::program::{ProgramExit, read_limit};
use super::{OpError, Sink, bytes, signals};
use crate::runtime::HostState;

const MAX_QUEUED_BYTES: usize = 16 << 20;
const KILL_GRACE: Duration = Duration::from_secs(5);

/// Starts a program. Events: `{data, of}`, `{end}`, `{took}`, `{refused}`, `{exited}`; at last
/// `{code, signal, late}`.
pub fn spawn_program(state: &HostState, args: Value, sink: Sink) {
    let name = args["file"].as_str().unwrap_or_default();
    let (sender, events) = channel();
    let (group, stdin) = match ChildGroup::start(state, &args, &sender) {
        Ok(started) => started,
        Err(error) => {
            return sink.end(Err(OpError::spawn_error(
                &error.os_error(),
                &format!("spawn {name}"),
                name,
            )));
        }
    };

    let queued = Arc::new(AtomicUsize::new(0));
    let control = ProgramControl {
        pid: group.group.id(),
        group: group.group.clone(),
        input: Mutex::new(Some(child::spawn_writer(stdin, sender.clone()))),
        queued: Arc::clone(&queued),
        sender,
    };

    state.set_handle(sink.id(), Box::new(move |message| control.handle_message(&message)));
    let limit = read_limit(&args);
    let kill_signal =
        args["killSignal"].as_str().and_then(signals::signal_by_name).unwrap_or(Signal::TERM);

    let watch = ProgramWatch {
        deadline: limit.and_then(|limit| Instant::now().checked_add(limit)),
        kill_signal,
        open_streams: group.stream_count(),
        free_chunks: [MAX_UNREAD_CHUNKS; 2],
        ended_streams: [false; 2],
        ended: false,
        timed_out: false,
        queued,
    };

    let _ = std::thread::Builder::new().name("gambrel-spawn".into()).spawn(move || {
        let timed_out = watch.wait_for_end(&group, &events, &sink);
        if timed_out {
            group.kill_all();
        }
        let ProgramExit { code, signal } = group.reap();
        sink.end(Ok(json!({"code": code, "signal": signal, "late": timed_out})));
    });
}

/// The module's side of a program. The engine drops it at its end; the program ends too, unless it
/// may outlive the call.
struct ProgramControl {
    pid: i32,
    group: ProcessGroup,
    input: Mutex<Option<Sender<Vec<u8>>>>,
    queued: Arc<AtomicUsize>,
    sender: Sender<ChildEvent>,
}

impl ProgramControl {
    fn handle_message(&self, message: &Value) -> Result<Value, OpError> {
        match message["do"].as_str().unwrap_or_default() {
            "pid" => return Ok(json!(self.pid)),
            "write" => self.queue_input(message)?,
            "end" => drop(self.input.lock().unwrap_or_else(PoisonError::into_inner).take()),
            "kill" => {
                let signal =
                    message["signal"].as_str().and_then(signals::signal_by_name).ok_or_else(
                        || OpError::new("Unknown signal").with_code("ERR_UNKNOWN_SIGNAL"),
                    )?;
                return Ok(json!(self.sender.send(ChildEvent::Signal(signal)).is_ok()));
            }
            "used" => {
                let stream = if message["of"] == "stderr" { Stream::Err } else { Stream::Out };
                let _ = self.sender.send(ChildEvent::ChunkRead(stream));
            }
            _ => {}
        }
        Ok(Value::Null)
    }

    fn queue_input(&self, message: &Value) -> Result<(), OpError> {
        let data = bytes::bytes_field(message, "data");
        let broken = || OpError::new("write EPIPE").with_code("EPIPE");
        if self.queued.load(Ordering::Relaxed) + data.len() > MAX_QUEUED_BYTES {
            return Err(OpError::new("too much input is queued").with_code("ENOBUFS"));
        }
        let input = self.input.lock().unwrap_or_else(PoisonError::into_inner);
        self.queued.fetch_add(data.len(), Ordering::Relaxed);
        input.as_ref().ok_or_else(broken)?.send(data).map_err(|_| broken())
    }
}

impl Drop for ProgramControl {
    fn drop(&mut self) {
        let deadline = self.group.end_unless_left();
        let event = deadline.map_or(ChildEvent::EngineEnded, ChildEvent::LeftRunning);
        let _ = self.sender.send(event);
    }
}

struct ProgramWatch {
    deadline: Option<Instant>,
    kill_signal: Signal,
    open_streams: usize,
    free_chunks: [usize; 2],
    ended_streams: [bool; 2],
    ended: bool,
    timed_out: bool,
    queued: Arc<AtomicUsize>,
}

impl ProgramWatch {
    /// Waits until the program and its streams have ended, or until the limit. True if it timed
    /// out.
    fn wait_for_end(
        mut self,
        group: &ChildGroup,
        events: &Receiver<ChildEvent>,
        sink: &Sink,
    ) -> bool {
        while !(self.ended && self.open_streams == 0) {
            match self.next_event(events) {
                Ok(ChildEvent::EngineEnded) | Err(RecvTimeoutError::Disconnected) => break,
                Ok(ChildEvent::LeftRunning(until)) => {
                    if !self.ended {
                        self.lift_output_limit(group);
                        group.run_until(events, until);
                    }
                    break;
                }
                Ok(event) => {
                    if !self.handle_event(event, group, sink) {
                        break;
                    }
                }
                // The reader threads have not read all output yet.
                Err(RecvTimeoutError::Timeout) if self.ended && self.has_unread_output(group) => {}
                Err(RecvTimeoutError::Timeout) if self.ended || self.timed_out => break,
                Err(RecvTimeoutError::Timeout) => {
                    self.timed_out = true;
                    group.signal(self.kill_signal);
                    self.deadline = Instant::now().checked_add(KILL_GRACE);
                }
            }
        }
        self.timed_out
    }

    fn has_unread_output(&self, group: &ChildGroup) -> bool {
        self.deadline.is_none_or(|until| Instant::now() < until) && group.has_unread()
    }

    /// Lifts the limit on unread output: the module no longer reads.
    fn lift_output_limit(&self, group: &ChildGroup) {
        for (stream, free_chunks) in [Stream::Out, Stream::Err].into_iter().zip(self.free_chunks) {
            (free_chunks..MAX_UNREAD_CHUNKS).for_each(|_| group.allow_chunk(stream));
        }
    }

    fn next_event(&self, events: &Receiver<ChildEvent>) -> Result<ChildEvent, RecvTimeoutError> {
        let left = self.deadline.map(|at| at.saturating_duration_since(Instant::now()));
        // A stream is silent if the module reads it and no data comes.
        let read = |at: &usize| self.ended_streams[*at] || self.free_chunks[*at] > 0;

        let silent = (self.ended && (0..2).all(|at| read(&at))).then_some(DRAIN_TIMEOUT);

        match [left, silent].into_iter().flatten().min() {
            Some(pause) => events.recv_timeout(pause),
            None => events.recv().map_err(|_| RecvTimeoutError::Disconnected),
        }
    }

    /// Handles one event of the program. False if the module is gone.
    fn handle_event(&mut self, event: ChildEvent, group: &ChildGroup, sink: &Sink) -> bool {
        match event {
            ChildEvent::Data(stream, data) => {
                let free_chunks = &mut self.free_chunks[stream as usize];
                *free_chunks = free_chunks.saturating_sub(1);
                sink.send_event(
                    json!({"data": bytes::pack_bytes(&data), "of": stream_name(stream)}),
                )
            }
            ChildEvent::StreamEnded(stream) => {
                self.open_streams = self.open_streams.saturating_sub(1);
                self.ended_streams[stream as usize] = true;
                sink.send_event(json!({"end": stream_name(stream)}))
            }
            ChildEvent::ChunkRead(stream) => {
                self.free_chunks[stream as usize] += 1;
                group.allow_chunk(stream);
                true
            }
            ChildEvent::InputWritten(Ok(took)) => {
                self.queued.fetch_sub(took, Ordering::Relaxed);
                sink.send_event(json!({"took": took}))
            }
            ChildEvent::InputWritten(Err(error)) => {
                sink.send_event(json!({"refused": error.into_json()}))
            }
            ChildEvent::Signal(signal) => {
                group.signal(signal);
                true
            }
            ChildEvent::Exited(ProgramExit { code, signal }) => {
                self.ended = true;
                sink.send_event(json!({"exited": {"code": code, "signal": signal}}))
            }
            ChildEvent::EngineEnded | ChildEvent::LeftRunning(_) => false,
        }
    }
}

fn stream_name(stream: Stream) -> &'static str {
    match stream {
        Stream::Out => "stdout",
        Stream::Err => "stderr",
    }
}
