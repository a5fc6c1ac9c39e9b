//! `pi.exec`: runs a program without shell and stdin, in its own process group. It ends by itself,
//! by its timeout, by an abort, or with the engine that started it.

use std::io::Read;
use std::os::fd::AsFd;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions};
use serde_json::{Value, json};

use super::pipe::{PipeEnd, WatchedPipe};
use super::{OpError, Sink};
use crate::node::ProcessGuard;
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

/// The group's id. Removed before the leader is reaped, because the number may be reused.
type ExecGroup = Arc<Mutex<Option<Pid>>>;

/// The engine drops this at its end. The drop kills the program unless it may outlive the call. It
/// does so on the dropping thread, because this process may be about to exit.
struct ExecHandle(Sender<ExecEvent>, ExecGroup, ProcessGuard);

impl Drop for ExecHandle {
    fn drop(&mut self) {
        let pid = *self.1.lock().unwrap_or_else(PoisonError::into_inner);
        let group = pid.and_then(|pid| u32::try_from(pid.as_raw_pid()).ok());
        let event = match group.and_then(|group| self.2.leftover_deadline(group)) {
            Some(until) => ExecEvent::LeftRunning(until),
            None => {
                // Processes outside the group first: after the leader's end another thread forgets
                // their tag.
                group.iter().for_each(|group| self.2.sweep_group(*group));
                signal_group(&self.1, Signal::KILL);
                ExecEvent::EngineEnded
            }
        };
        let _ = self.0.send(event);
    }
}

/// Starts a program; reports `{stdout, stderr, code, killed}`.
pub fn exec_program(state: &HostState, args: Value, sink: Sink) {
    let name = args["command"].as_str().unwrap_or_default().to_owned();
    let spawned = state.guard.spawn_guarded(&mut build_command(state, &args, &name), Some(&name));
    let (mut child, guarded) = match spawned {
        Ok(spawned) => spawned,
        Err(error) => {
            return sink.end(Err(OpError::io_error(&error, &format!("spawn {name}"), &name)));
        }
    };

    let (sender, events) = channel();
    let group: ExecGroup = Arc::new(Mutex::new(pid_of(&child)));
    let exec_handle = ExecHandle(sender.clone(), Arc::clone(&group), state.guard.clone());
    let handle = move |_| {
        let _ = exec_handle.0.send(ExecEvent::Kill);
        Ok(Value::Null)
    };
    state.set_handle(sink.id(), Box::new(handle));

    let limit = args["timeout"].as_f64().filter(|ms| *ms > 0.0);
    let limit = limit.and_then(|ms| Duration::try_from_secs_f64(ms / 1000.0).ok());
    let out = drain_stream(child.stdout.take());
    let err = drain_stream(child.stderr.take());

    sink.run_in_thread(move || {
        watch_exit(&child, sender);
        let ended_by_us = supervise_program(&group, &events, limit);
        if ended_by_us {
            guarded.sweep_group();
        }
        group.lock().unwrap_or_else(PoisonError::into_inner).take();
        drop(guarded);

        let status = child.wait();
        // A killed program has code 0; `killed` distinguishes it from a success.
        let code = status.as_ref().map_or(1, |status| status.code().unwrap_or(0));
        let killed = ended_by_us || status.is_ok_and(|status| status.signal().is_some());
        Ok(json!({"stdout": out.collect_text(), "stderr": err.collect_text(), "code": code, "killed": killed}))
    });
}

fn build_command(state: &HostState, args: &Value, name: &str) -> Command {
    let call_env = state.call_env();
    let mut command = Command::new(name);
    let words = args["args"].as_array().into_iter().flatten();
    command.args(words.filter_map(Value::as_str));
    let cwd = args["cwd"].as_str().map(|c| call_env.cwd.join(c)).unwrap_or(call_env.cwd);
    if !cwd.as_os_str().is_empty() {
        command.current_dir(cwd);
    }

    for name in &call_env.unset {
        command.env_remove(name);
    }
    command.envs(call_env.env);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.process_group(0);
    command
}

/// Waits without reaping, so that the group's number is not reused before the last signal.
fn watch_exit(child: &Child, sender: Sender<ExecEvent>) {
    let Some(pid) = pid_of(child) else { return };
    let _ = std::thread::Builder::new().name("gambrel-exec".into()).spawn(move || {
        let how = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
        let interrupted = |e: rustix::io::Errno| e == rustix::io::Errno::INTR;
        while rustix::process::waitid(WaitId::Pid(pid), how).is_err_and(interrupted) {}
        let _ = sender.send(ExecEvent::Exited);
    });
}

/// Waits for the program and enforces its limits. True if gambrel ended it.
fn supervise_program(
    group: &ExecGroup,
    events: &Receiver<ExecEvent>,
    limit: Option<Duration>,
) -> bool {
    let first = match limit {
        Some(limit) => events.recv_timeout(limit).unwrap_or(ExecEvent::Kill),
        None => events.recv().unwrap_or(ExecEvent::EngineEnded),
    };

    match first {
        ExecEvent::Exited => return false,
        ExecEvent::EngineEnded => signal_group(group, Signal::KILL),
        ExecEvent::LeftRunning(until) => {
            let left = until.saturating_duration_since(Instant::now());
            if matches!(events.recv_timeout(left), Ok(ExecEvent::Exited)) {
                return false;
            }
            signal_group(group, Signal::KILL);
        }
        ExecEvent::Kill => {
            signal_group(group, Signal::TERM);
            let until = Instant::now() + KILL_GRACE;
            loop {
                let left = until.saturating_duration_since(Instant::now());
                match events.recv_timeout(left) {
                    Ok(ExecEvent::Exited) => break,
                    Ok(ExecEvent::Kill) => {}
                    Ok(ExecEvent::EngineEnded | ExecEvent::LeftRunning(_)) | Err(_) => break,
                }
            }
            signal_group(group, Signal::KILL);
        }
    }
    true
}

fn signal_group(group: &ExecGroup, signal: Signal) {
    if let Some(pid) = *group.lock().unwrap_or_else(PoisonError::into_inner) {
        // The group may have ended already.
        let _ = rustix::process::kill_process_group(pid, signal);
    }
}

fn pid_of(child: &Child) -> Option<Pid> {
    i32::try_from(child.id()).ok().and_then(Pid::from_raw)
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

fn drain_stream(stream: Option<impl Read + AsFd + Send + 'static>) -> CollectedOutput {
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
