//! A program in a group of its own. Its streams, its end and whoever speaks for it meet in one
//! channel; the group is killed before its leader is reaped, and at the latest when it is dropped.

use std::io::{Read, Write};
use std::os::fd::AsFd;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions};
use serde_json::Value;

use super::pipe::Pipe;
use super::{OpError, descriptors, signals};
use crate::desk::Desk;
use crate::keeper::{Held, Keeper};

/// How long streams may be silent after the program's own end before somebody else holds them.
pub const DRAIN: Duration = Duration::from_millis(200);
const CHUNK: usize = 32 << 10;
/// How many chunks of a stream may be on their way at once.
pub const WINDOW: usize = 16;

/// One of the two streams that a program writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stream {
    /// Standard output.
    Out,
    /// Standard error.
    Err,
}

/// What happens to a program.
pub enum Word {
    /// It wrote something.
    Data(Stream, Vec<u8>),
    /// A stream has ended.
    Done(Stream),
    /// Something it wrote was used: there is room for more.
    Used(Stream),
    /// It has ended.
    Ended(Ending),
    /// It should be signalled.
    Signal(Signal),
    /// Its input took this many bytes, or will never again take any.
    Took(Result<usize, OpError>),
    /// Nobody waits for it any more.
    Gone,
    /// The same, but it may go on until then.
    Left(Instant),
}

/// How a program ended: its code, or the name of the signal.
#[derive(Debug, Clone, Default)]
pub struct Ending {
    /// The code.
    pub code: Option<i32>,
    /// The signal.
    pub signal: Option<String>,
}

/// The group's number while it is ours: taken away before the leader is reaped.
#[derive(Clone)]
pub struct Leash(Arc<Mutex<Option<Pid>>>, Keeper);

impl Leash {
    /// Signals all of the group.
    pub fn signal(&self, signal: Signal) {
        if let Some(pid) = *self.0.lock().unwrap_or_else(PoisonError::into_inner) {
            // It may have ended by itself in the meantime.
            let _ = rustix::process::kill_process_group(pid, signal);
        }
    }

    /// For whoever goes: what becomes of the program. One that may not go on is killed at once and
    /// here, because the process may be about to end and no other thread come to it.
    pub fn drop_it(&self) -> Word {
        let pid = *self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let group = pid.and_then(|pid| u32::try_from(pid.as_raw_pid()).ok());
        match group.and_then(|group| self.1.until(group)) {
            Some(until) => Word::Left(until),
            None => {
                // Those that left it first: once its leader has gone, another thread lets go of
                // the mark by which they are known.
                group.iter().for_each(|group| self.1.sweep(*group));
                self.signal(Signal::KILL);
                Word::Gone
            }
        }
    }

    fn let_go(&self) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
    }
}

/// A running program with all that it started.
pub struct Group {
    child: Child,
    held: Option<Held>,
    leash: Leash,
    outputs: [Option<Output>; 2],
}

/// A stream that it writes, and that a thread reads as far as there is room.
struct Output {
    room: Sender<()>,
    pipe: Option<Pipe>,
}

impl Group {
    /// Starts `args.file` with `args.args`; its input is handed out where it is a pipe.
    pub fn start(
        desk: &Desk,
        args: &Value,
        words: &Sender<Word>,
    ) -> std::io::Result<(Self, Option<ChildStdin>)> {
        let name = args["file"].as_str();
        let (mut child, held) = desk.keeper.start(&mut command(desk, args)?, name)?;
        let held = Some(held);
        let stdin = child.stdin.take();
        let out = child.stdout.take().map(|s| read(s, Stream::Out, words.clone()));
        let err = child.stderr.take().map(|s| read(s, Stream::Err, words.clone()));
        let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
        watch(pid, words.clone());
        let leash = Leash(Arc::new(Mutex::new(pid)), desk.keeper.clone());
        let group = Self { child, held, leash, outputs: [out, err] };
        Ok((group, stdin))
    }

    /// Its number.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Which streams it has.
    pub fn streams(&self) -> usize {
        self.outputs.iter().flatten().count()
    }

    /// What can signal it from elsewhere.
    pub fn leash(&self) -> Leash {
        self.leash.clone()
    }

    /// Signals all of it.
    pub fn signal(&self, signal: Signal) {
        self.leash.signal(signal);
    }

    /// Kills all of it, also what left it.
    pub fn root_out(&self) {
        self.signal(Signal::KILL);
        self.held.iter().for_each(Held::sweep);
    }

    /// Lets one more chunk of a stream be read.
    pub fn used(&self, stream: Stream) {
        if let Some(output) = &self.outputs[stream as usize] {
            let _ = output.room.send(());
        }
    }

    /// Whether it wrote, or ended, what has not been read yet.
    pub fn brings_more(&self) -> bool {
        let pipes = self.outputs.iter().flatten().filter_map(|output| output.pipe.as_ref());
        pipes.into_iter().any(Pipe::brings_more)
    }

    /// Lets it go on without its module; what it writes is taken, so that it is not held up.
    pub fn outlive(&self, heard: &Receiver<Word>, until: Instant) {
        loop {
            let left = until.saturating_duration_since(Instant::now());
            match heard.recv_timeout(left) {
                Ok(Word::Data(stream, _)) => self.used(stream),
                Ok(Word::Ended(_)) => return,
                Err(_) => return self.root_out(),
                Ok(_) => {}
            }
        }
    }

    /// Kills what is left of the group, then takes the leader's end.
    pub fn reap(mut self) -> Ending {
        self.signal(Signal::KILL);
        self.leash.let_go();
        drop(self.held.take());
        match self.child.wait() {
            Ok(status) => {
                Ending { code: status.code(), signal: status.signal().map(signals::name) }
            }
            Err(_) => Ending::default(),
        }
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        // After `reap` there is nothing left to signal, and the end is known.
        self.signal(Signal::KILL);
        self.leash.let_go();
        drop(self.held.take());
        let _ = self.child.wait();
    }
}

/// Waits without reaping, so that the group's number stays ours until the last signal is sent.
fn watch(pid: Option<Pid>, words: Sender<Word>) {
    let Some(pid) = pid else { return };
    named(move || {
        let how = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
        let interrupted = |e: rustix::io::Errno| e == rustix::io::Errno::INTR;
        let mut told = rustix::process::waitid(WaitId::Pid(pid), how);
        while told.as_ref().is_err_and(|e| interrupted(*e)) {
            told = rustix::process::waitid(WaitId::Pid(pid), how);
        }
        let status = told.ok().flatten();
        let _ = words.send(Word::Ended(Ending {
            code: status.as_ref().and_then(|s| s.exit_status()),
            signal: status.as_ref().and_then(|s| s.terminating_signal()).map(signals::name),
        }));
    });
}

fn command(desk: &Desk, args: &Value) -> std::io::Result<Command> {
    let surround = desk.surround();
    let mut command = Command::new(args["file"].as_str().unwrap_or_default());
    command.args(args["args"].as_array().into_iter().flatten().filter_map(Value::as_str));
    if let Some(name) = args["argv0"].as_str() {
        command.arg0(name);
    }
    let cwd = args["cwd"].as_str().map(|c| surround.cwd.join(c)).unwrap_or(surround.cwd);
    if !cwd.as_os_str().is_empty() {
        command.current_dir(cwd);
    }
    if let Some(env) = args["env"].as_object() {
        command.env_clear();
        command.envs(env.iter().filter_map(|(k, v)| Some((k, v.as_str()?))));
    }
    let stdio = |at: usize| stdio(desk, &args["stdio"][at]);
    command.stdin(stdio(0)?).stdout(stdio(1)?).stderr(stdio(2)?);
    command.process_group(0);
    Ok(command)
}

/// A word, or the number of a file that the module has opened.
fn stdio(desk: &Desk, wanted: &Value) -> std::io::Result<Stdio> {
    match wanted.as_str() {
        Some("ignore") => Ok(Stdio::null()),
        Some(_) => Ok(Stdio::piped()),
        None => descriptors::lent(desk, wanted).map(Stdio::from),
    }
}

/// Reads a stream to its end, as far as there is room.
fn read(
    mut stream: impl Read + AsFd + Send + 'static,
    which: Stream,
    words: Sender<Word>,
) -> Output {
    let (room, granted) = channel();
    let (pipe, end) = Pipe::of(&stream);
    for _ in 0..WINDOW {
        let _ = room.send(());
    }
    named(move || {
        let mut chunk = vec![0; CHUNK];
        while granted.recv().is_ok() {
            match stream.read(&mut chunk) {
                Ok(0) => break,
                Ok(read) => {
                    let bytes = chunk.get(..read).unwrap_or_default().to_vec();
                    if words.send(Word::Data(which, bytes)).is_err() {
                        return;
                    }
                }
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(_) => break,
            }
        }
        end.seen();
        let _ = words.send(Word::Done(which));
    });
    Output { room, pipe }
}

/// Writes to a program's input whatever comes in; the input ends with the sender.
pub fn feed(stdin: Option<ChildStdin>, words: Sender<Word>) -> Sender<Vec<u8>> {
    let (more, fed): (_, Receiver<Vec<u8>>) = channel();
    if let Some(mut stdin) = stdin {
        named(move || {
            while let Ok(bytes) = fed.recv() {
                let took = stdin.write_all(&bytes).and_then(|()| stdin.flush());
                let failed = took.is_err();
                let took = took.map_err(|e| OpError::call(&e, "write"));
                if words.send(Word::Took(took.map(|()| bytes.len()))).is_err() || failed {
                    return;
                }
            }
        });
    }
    more
}

fn named(work: impl FnOnce() + Send + 'static) {
    // Without a thread the channel closes early, and the program is killed for it.
    let _ = std::thread::Builder::new().name("gambrel-child".into()).spawn(work);
}
