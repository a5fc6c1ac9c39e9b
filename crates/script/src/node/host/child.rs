//! A program in its own process group. One channel carries its output, its end and requests to it.
//! The group is killed before its leader is reaped, at the latest on drop.

use std::fs::File;
use std::io::{Read, Write};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

use gambrel_process::environ::EnvironRequest;
use gambrel_process::error::StartError;
use gambrel_process::group::ProcessGroup;
use gambrel_process::owner::StreamEnd;
use rustix::process::Signal;
use serde_json::Value;

use super::pipe::WatchedPipe;
use super::program::{ProgramExit, ProgramRequest, pipe_file, start_program};
use super::{OpError, descriptors};
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

/// A running program with its descendants.
pub struct ChildGroup {
    /// The process and its descendants.
    pub group: ProcessGroup,
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
    ) -> Result<(Self, Option<File>), StartError> {
        let stdio = |at: usize| open_stdio(state, &args["stdio"][at]).map_err(StartError::NoPipe);
        let streams = [stdio(0)?, stdio(1)?, stdio(2)?];
        let (group, [stdin, stdout, stderr]) = start_child(state, args, streams)?;

        let reader =
            |pipe, which| pipe_file(pipe).map(|stream| spawn_reader(stream, which, sender.clone()));
        let outputs = [reader(stdout, Stream::Out), reader(stderr, Stream::Err)];
        watch_exit(group.clone(), sender.clone());
        Ok((Self { group, outputs }, pipe_file(stdin)))
    }

    /// The number of its output streams.
    pub fn stream_count(&self) -> usize {
        self.outputs.iter().flatten().count()
    }

    /// Signals the whole group.
    pub fn signal(&self, signal: Signal) {
        self.group.signal(signal);
    }

    /// Kills the group and the processes that left it.
    pub fn kill_all(&self) {
        self.group.kill_tree();
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
    pub fn reap(self) -> ProgramExit {
        self.signal(Signal::KILL);
        self.group.reap().into()
    }
}

impl Drop for ChildGroup {
    fn drop(&mut self) {
        // After `reap` this does nothing.
        self.signal(Signal::KILL);
        self.group.reap();
    }
}

/// Waits without reaping, so that the group's number is not reused before the last signal.
fn watch_exit(group: ProcessGroup, sender: Sender<ChildEvent>) {
    spawn_thread(move || {
        let _ = sender.send(ChildEvent::Exited(group.wait_for_exit().into()));
    });
}

fn start_child(
    state: &HostState,
    args: &Value,
    streams: [StreamEnd; 3],
) -> Result<(ProcessGroup, [Option<std::os::fd::OwnedFd>; 3]), StartError> {
    let file = args["file"].as_str().unwrap_or_default();
    let call_env = state.call_env();
    let cwd = args["cwd"].as_str().map(|c| call_env.cwd.join(c)).unwrap_or(call_env.cwd);
    let own_env = args["env"].as_object();
    let set: Vec<(String, String)> = own_env
        .into_iter()
        .flatten()
        .filter_map(|(k, v)| Some((k.clone(), v.as_str()?.to_owned())))
        .collect();
    let inherit = own_env.map(|_| [].as_slice());
    let request = ProgramRequest {
        file,
        argv0: args["argv0"].as_str().unwrap_or(file),
        args: args["args"].as_array().into_iter().flatten().filter_map(Value::as_str).collect(),
        cwd: &cwd,
        environ: EnvironRequest { set: &set, inherit, ..EnvironRequest::default() },
    };
    start_program(state, &request, streams, Some(file))
}

/// A keyword, or the id of a file that the module has opened.
fn open_stdio(state: &HostState, wanted: &Value) -> std::io::Result<StreamEnd> {
    match wanted.as_str() {
        Some("ignore") => Ok(StreamEnd::Null),
        Some(_) => Ok(StreamEnd::Pipe),
        None => descriptors::inherit_file(state, wanted).map(|file| StreamEnd::File(file.into())),
    }
}

/// Reads a stream to its end on a thread, one chunk for each permit.
fn spawn_reader(mut stream: File, which: Stream, sender: Sender<ChildEvent>) -> Output {
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
pub fn spawn_writer(stdin: Option<File>, sender: Sender<ChildEvent>) -> Sender<Vec<u8>> {
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
