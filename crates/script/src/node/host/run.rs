//! Synchronous programs (`spawnSync`, `execSync`). The deadline cannot interrupt the wait, so it
//! always has a limit, and the program and its descendants end there.

use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use rustix::process::Signal;
use serde_json::{Value, json};

use super::child::{self, ChildEvent, ChildGroup, DRAIN_TIMEOUT, Stream};
use super::{OpError, bytes, signals};
use crate::runtime::HostState;

const DEFAULT_TIMEOUT: Duration = Duration::from_secs(60);
const MAX_TIMEOUT: Duration = Duration::from_secs(600);
const KILL_GRACE: Duration = Duration::from_millis(500);

/// Runs a program to its end: `{pid, status, signal, stdout, stderr, error}`.
pub fn run_program(state: &HostState, args: Value) -> Result<Value, OpError> {
    let name = args["file"].as_str().unwrap_or_default();
    let (sender, events) = channel();
    let (group, stdin) = ChildGroup::start(state, &args, &sender)
        .map_err(|e| OpError::spawn_error(&e.os_error(), &format!("spawnSync {name}"), name))?;

    let pid = group.group.id();
    let input = child::spawn_writer(stdin, sender);
    if args["input"].is_string() {
        let _ = input.send(bytes::bytes_field(&args, "input"));
    }
    drop(input);

    let requested_bytes = args["maxBuffer"].as_u64().and_then(|n| usize::try_from(n).ok());
    let max_bytes = requested_bytes.unwrap_or(usize::MAX).min(state.settings.memory_bytes / 4);
    // The tripwire cannot interrupt this wait, so pass the deadline on.
    let mut program =
        SyncProgram::new(&args, max_bytes, group.stream_count(), state.tripwire.deadline());
    program.wait_for_end(&group, &events);
    if program.error.is_some() {
        group.kill_all();
    }

    let exit = group.reap();
    let [out, err] = program.output;
    Ok(json!({
        "pid": pid, "status": exit.code, "signal": exit.signal, "error": program.error,
        "stdout": bytes::pack_bytes(&out), "stderr": bytes::pack_bytes(&err),
    }))
}

struct SyncProgram {
    deadline: Instant,
    signal: Signal,
    max_bytes: usize,
    open_streams: usize,
    output: [Vec<u8>; 2],
    ended: bool,
    error: Option<&'static str>,
}

impl SyncProgram {
    fn new(args: &Value, max_bytes: usize, open_streams: usize, end: Option<Instant>) -> Self {
        let limit = args["timeout"].as_f64().filter(|ms| *ms > 0.0);
        let limit = limit.and_then(|ms| Duration::try_from_secs_f64(ms / 1000.0).ok());
        let own = limit.map(|limit| Instant::now() + limit.min(MAX_TIMEOUT));

        let deadline = own.into_iter().chain(end).min();
        let deadline = deadline.unwrap_or_else(|| Instant::now() + DEFAULT_TIMEOUT);
        let signal =
            args["killSignal"].as_str().and_then(signals::signal_by_name).unwrap_or(Signal::TERM);
        Self {
            deadline,
            signal,
            max_bytes,
            open_streams,
            output: Default::default(),
            ended: false,
            error: None,
        }
    }

    /// Waits until the program and its streams have ended, or until the limit.
    fn wait_for_end(&mut self, group: &ChildGroup, events: &Receiver<ChildEvent>) {
        while !(self.ended && self.open_streams == 0) {
            let left = self.deadline.saturating_duration_since(Instant::now());
            let pause = if self.ended { left.min(DRAIN_TIMEOUT) } else { left };
            match events.recv_timeout(pause) {
                Ok(event) => self.handle_event(event, group),
                Err(RecvTimeoutError::Timeout) if self.ended && self.has_unread_output(group) => {}
                Err(RecvTimeoutError::Timeout) if self.ended || self.error.is_some() => return,
                Err(RecvTimeoutError::Timeout) => self.stop_program(group, "ETIMEDOUT"),
                Err(RecvTimeoutError::Disconnected) => return,
            }
        }
    }

    /// Whether the reader threads have not read all output yet.
    fn has_unread_output(&self, group: &ChildGroup) -> bool {
        Instant::now() < self.deadline && group.has_unread()
    }

    fn handle_event(&mut self, event: ChildEvent, group: &ChildGroup) {
        match event {
            ChildEvent::Data(stream, data) => {
                group.allow_chunk(stream);
                self.store_output(stream, &data, group);
            }
            ChildEvent::StreamEnded(_) => self.open_streams = self.open_streams.saturating_sub(1),
            ChildEvent::Exited(_) => self.ended = true,
            ChildEvent::ChunkRead(_)
            | ChildEvent::Signal(_)
            | ChildEvent::InputWritten(_)
            | ChildEvent::EngineEnded
            | ChildEvent::LeftRunning(_) => {}
        }
    }

    fn store_output(&mut self, stream: Stream, data: &[u8], group: &ChildGroup) {
        let output = &mut self.output[stream as usize];
        let space = self.max_bytes.saturating_sub(output.len());
        output.extend(data.iter().take(space));
        if data.len() > space && self.error.is_none() {
            self.stop_program(group, "ENOBUFS");
        }
    }

    fn stop_program(&mut self, group: &ChildGroup, why: &'static str) {
        self.error = Some(why);
        group.signal(self.signal);
        self.deadline = Instant::now() + KILL_GRACE;
    }
}
