//! A program in its own process group. One channel carries its output, its end and requests to it.
//! The group is killed before its leader is reaped, at the latest on drop.

use std::io::{Read, Write};
use std::os::fd::AsFd;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions};
use serde_json::Value;

use super::pipe::WatchedPipe;
use super::{OpError, descriptors, signals};
use crate::node::{GuardedGroup, ProcessGuard};
use crate::runtime::HostState;

/// How long a stream may be silent after the program's end before it counts as kept open by a
/// descendant.
pub const DRAIN_TIMEOUT: Duration = Duration::from_millis(200);
const CHUNK_BYTES: usize = 32 << 10;
/// How many chunks of a stream may be unread at once.
pub const MAX_UNREAD_CHUNKS: usize = 16;

/// One of the two streams that a program writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stream {
    /// Standard output.
    Out,
    /// Standard error.
    Err,
}

/// An event of a program, or a request to it.
pub enum ChildEvent {
    /// It wrote output.
    Data(Stream, Vec<u8>),
    /// A stream has ended.
    StreamEnded(Stream),
    /// The module read a chunk, so another may follow.
    ChunkRead(Stream),
    /// It has ended.
    Exited(ProgramExit),
    /// The module sends it a signal.
    Signal(Signal),
    /// Its input took this many bytes, or failed for good.
    InputWritten(Result<usize, OpError>),
    /// The engine has ended.
    EngineEnded,
    /// The engine has ended, but the program may run until then.
    LeftRunning(Instant),
}

/// How a program ended: its code, or the name of the signal.
#[derive(Debug, Clone, Default)]
pub struct ProgramExit {
    /// The exit code.
    pub code: Option<i32>,
    /// The name of the signal.
    pub signal: Option<String>,
}

/// The group's id. Removed before the leader is reaped, because the number may be reused.
#[derive(Clone)]
pub struct ChildHandle(Arc<Mutex<Option<Pid>>>, ProcessGuard);

impl ChildHandle {
    /// Signals the whole group.
    pub fn signal(&self, signal: Signal) {
        if let Some(pid) = *self.0.lock().unwrap_or_else(PoisonError::into_inner) {
            // The group may have ended already.
            let _ = rustix::process::kill_process_group(pid, signal);
        }
    }

    /// Ends the program, unless it may outlive the call. Kills it on this thread, because this
    /// process may be about to exit.
    pub fn end_unless_left(&self) -> ChildEvent {
        let pid = *self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let group = pid.and_then(|pid| u32::try_from(pid.as_raw_pid()).ok());
        match group.and_then(|group| self.1.leftover_deadline(group)) {
            Some(until) => ChildEvent::LeftRunning(until),
            None => {
                // Processes outside the group first: after the leader's end another thread forgets
                // their tag.
                group.iter().for_each(|group| self.1.sweep_group(*group));
                self.signal(Signal::KILL);
                ChildEvent::EngineEnded
            }
        }
    }

    fn forget_group(&self) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
    }
}

/// A running program with its descendants.
pub struct ChildGroup {
    child: Child,
    guarded: Option<GuardedGroup>,
    handle: ChildHandle,
    outputs: [Option<Output>; 2],
}

/// An output stream. A thread reads it as long as the module keeps up.
struct Output {
    permits: Sender<()>,
    pipe: Option<WatchedPipe>,
}

impl ChildGroup {
    /// Starts `args.file` with `args.args`. Also returns its input if that is a pipe.
    pub fn start(
        state: &HostState,
        args: &Value,
        sender: &Sender<ChildEvent>,
    ) -> std::io::Result<(Self, Option<ChildStdin>)> {
        let name = args["file"].as_str();

        let (mut child, guarded) =
            state.guard.spawn_guarded(&mut build_command(state, args)?, name)?;
        let guarded = Some(guarded);

        let stdin = child.stdin.take();
        let out = child.stdout.take().map(|s| spawn_reader(s, Stream::Out, sender.clone()));
        let err = child.stderr.take().map(|s| spawn_reader(s, Stream::Err, sender.clone()));
        let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
        watch_exit(pid, sender.clone());

        let handle = ChildHandle(Arc::new(Mutex::new(pid)), state.guard.clone());
        let group = Self { child, guarded, handle, outputs: [out, err] };
        Ok((group, stdin))
    }

    /// The process id.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// The number of its output streams.
    pub fn stream_count(&self) -> usize {
        self.outputs.iter().flatten().count()
    }

    /// A handle that can signal the group from another thread.
    pub fn handle(&self) -> ChildHandle {
        self.handle.clone()
    }

    /// Signals the whole group.
    pub fn signal(&self, signal: Signal) {
        self.handle.signal(signal);
    }

    /// Kills the group and the processes that left it.
    pub fn kill_all(&self) {
        self.signal(Signal::KILL);
        self.guarded.iter().for_each(GuardedGroup::sweep_group);
    }

    /// Allows the reader to read one more chunk.
    pub fn allow_chunk(&self, stream: Stream) {
        if let Some(output) = &self.outputs[stream as usize] {
            let _ = output.permits.send(());
        }
    }

    /// Whether a stream has data, or its end, that is not read yet.
    pub fn has_unread(&self) -> bool {
        let pipes = self.outputs.iter().flatten().filter_map(|output| output.pipe.as_ref());
        pipes.into_iter().any(WatchedPipe::has_unread)
    }

    /// Lets the program run without its module until the deadline. Discards its output, so that it
    /// does not block.
    pub fn run_until(&self, events: &Receiver<ChildEvent>, deadline: Instant) {
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            match events.recv_timeout(left) {
                Ok(ChildEvent::Data(stream, _)) => self.allow_chunk(stream),
                Ok(ChildEvent::Exited(_)) => return,
                Err(_) => return self.kill_all(),
                Ok(_) => {}
            }
        }
    }

    /// Kills the rest of the group, then reaps the leader.
    pub fn reap(mut self) -> ProgramExit {
        self.signal(Signal::KILL);
        self.handle.forget_group();
        drop(self.guarded.take());
        match self.child.wait() {
            Ok(status) => ProgramExit {
                code: status.code(),
                signal: status.signal().map(signals::signal_name),
            },
            Err(_) => ProgramExit::default(),
        }
    }
}

impl Drop for ChildGroup {
    fn drop(&mut self) {
        // After `reap` the group's id is gone, so nothing is signalled.
        self.signal(Signal::KILL);
        self.handle.forget_group();
        drop(self.guarded.take());
        let _ = self.child.wait();
    }
}

/// Waits without reaping, so that the group's number is not reused before the last signal.
fn watch_exit(pid: Option<Pid>, sender: Sender<ChildEvent>) {
    let Some(pid) = pid else { return };
    spawn_thread(move || {
        let how = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
        let interrupted = |e: rustix::io::Errno| e == rustix::io::Errno::INTR;
        let mut waited = rustix::process::waitid(WaitId::Pid(pid), how);
        while waited.as_ref().is_err_and(|e| interrupted(*e)) {
            waited = rustix::process::waitid(WaitId::Pid(pid), how);
        }

        let status = waited.ok().flatten();
        let _ = sender.send(ChildEvent::Exited(ProgramExit {
            code: status.as_ref().and_then(|s| s.exit_status()),
            signal: status.as_ref().and_then(|s| s.terminating_signal()).map(signals::signal_name),
        }));
    });
}

fn build_command(state: &HostState, args: &Value) -> std::io::Result<Command> {
    let call_env = state.call_env();
    let mut command = Command::new(args["file"].as_str().unwrap_or_default());
    command.args(args["args"].as_array().into_iter().flatten().filter_map(Value::as_str));
    if let Some(name) = args["argv0"].as_str() {
        command.arg0(name);
    }

    let cwd = args["cwd"].as_str().map(|c| call_env.cwd.join(c)).unwrap_or(call_env.cwd);
    if !cwd.as_os_str().is_empty() {
        command.current_dir(cwd);
    }
    if let Some(env) = args["env"].as_object() {
        command.env_clear();
        command.envs(env.iter().filter_map(|(k, v)| Some((k, v.as_str()?))));
    }

    let stdio = |at: usize| open_stdio(state, &args["stdio"][at]);
    command.stdin(stdio(0)?).stdout(stdio(1)?).stderr(stdio(2)?);
    command.process_group(0);
    Ok(command)
}

/// A keyword, or the id of a file that the module has opened.
fn open_stdio(state: &HostState, wanted: &Value) -> std::io::Result<Stdio> {
    match wanted.as_str() {
        Some("ignore") => Ok(Stdio::null()),
        Some(_) => Ok(Stdio::piped()),
        None => descriptors::inherit_file(state, wanted).map(Stdio::from),
    }
}

/// Reads a stream to its end on a thread, one chunk for each permit.
fn spawn_reader(
    mut stream: impl Read + AsFd + Send + 'static,
    which: Stream,
    sender: Sender<ChildEvent>,
) -> Output {
    let (permits, granted) = channel();
    let (pipe, end) = WatchedPipe::watch_stream(&stream);

    for _ in 0..MAX_UNREAD_CHUNKS {
        let _ = permits.send(());
    }
    spawn_thread(move || {
        let mut chunk = vec![0; CHUNK_BYTES];
        while granted.recv().is_ok() {
            match stream.read(&mut chunk) {
                Ok(0) => break,
                Ok(read) => {
                    let bytes = chunk.get(..read).unwrap_or_default().to_vec();
                    if sender.send(ChildEvent::Data(which, bytes)).is_err() {
                        return;
                    }
                }
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(_) => break,
            }
        }
        end.mark_read();
        let _ = sender.send(ChildEvent::StreamEnded(which));
    });
    Output { permits, pipe }
}

/// Writes the received bytes to a program's input on a thread. The input ends with the sender.
pub fn spawn_writer(stdin: Option<ChildStdin>, sender: Sender<ChildEvent>) -> Sender<Vec<u8>> {
    let (more, fed): (_, Receiver<Vec<u8>>) = channel();
    if let Some(mut stdin) = stdin {
        spawn_thread(move || {
            while let Ok(bytes) = fed.recv() {
                let written = stdin.write_all(&bytes).and_then(|()| stdin.flush());
                let failed = written.is_err();
                let written = written.map_err(|e| OpError::call_error(&e, "write"));
                if sender.send(ChildEvent::InputWritten(written.map(|()| bytes.len()))).is_err()
                    || failed
                {
                    return;
                }
            }
        });
    }
    more
}

fn spawn_thread(work: impl FnOnce() + Send + 'static) {
    // Without a thread the channel closes early, and the program is killed.
    let _ = std::thread::Builder::new().name("gambrel-child".into()).spawn(work);
}
