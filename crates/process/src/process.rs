//! One running process: its pipes, its deadlines and the output read so far. `process/ending.rs`
//! ends it. It covers one attempt; retries are elsewhere.

mod ending;
mod handoff;

pub use ending::{LeftoverTrace, hand_to_watchdog};
pub use handoff::{Handoff, PIPE_COUNT, RunningChild};

use std::os::fd::{AsFd, OwnedFd};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags};
use rustix::fs::{OFlags, fcntl_setfl};
use rustix::io::{Errno, fcntl_dupfd_cloexec, write};
use rustix::pipe::{PipeFlags, fcntl_setpipe_size, pipe_with};
use rustix::process::{Pid, PidfdFlags, WaitId, WaitIdOptions, WaitIdStatus, pidfd_open, waitid};

use crate::capture::{Capture, CapturedOutput};
use crate::command::{ProcessCommand, StartedProcess};
use crate::deadlines::Deadlines;
use crate::error::StartError;
use crate::orphans;
use crate::process_table::{self, ProcessId, ProcessTable};
use crate::settings::Settings;
use crate::tee::TeeFile;
use crate::watchdog_client::WatchdogClient;

/// During this time after its start only its exit is polled.
const BUSY_WAIT_WINDOW: Duration = Duration::from_millis(2);
/// What a pipe holds unless it is made larger.
const DEFAULT_PIPE_BYTES: usize = 64 << 10;
/// What a pipe holds for a large event. A user who is not root may have pipes of this size.
const LARGE_PIPE_BYTES: usize = 1 << 20;

/// Shared by all processes of a batch.
pub struct LoopContext<'a> {
    /// How processes run.
    pub settings: &'a Settings,
    /// Kills processes that outlive this one.
    pub watchdog: &'a WatchdogClient,
    /// The time at which this turn of the loop began.
    pub now: Instant,
    /// When this batch began, in the kernel's ticks.
    pub since: u64,
    /// The buffer of reads.
    pub scratch: Vec<u8>,
    /// The process table of this turn, once it was read.
    pub table: Option<ProcessTable>,
}

/// The descriptor of a process that an event belongs to.
#[derive(Debug, Clone, Copy)]
pub enum PollSource {
    /// Its stdin takes more bytes.
    Stdin,
    /// Its stdout has bytes.
    Stdout,
    /// Its stderr has bytes.
    Stderr,
    /// It has exited.
    Exit,
}

/// How a process ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProcessEnd {
    /// By itself, with this code.
    Exited(i32),
    /// By a signal that another process sent.
    Signalled(i32),
    /// Killed at its deadline.
    TimedOut,
    /// By itself, as the child of a process that is gone.
    Unobserved,
    /// Its exit code was lost, for this reason.
    CodeLost(&'static str),
}

impl ProcessEnd {
    /// The end of a process that this one waited for.
    pub(crate) fn from_status(status: &WaitIdStatus) -> Option<Self> {
        let by_signal = || status.terminating_signal().map(Self::Signalled);
        status.exit_status().map(Self::Exited).or_else(by_signal)
    }
}

/// Why a process ended before its own timeout.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CutReason {
    /// The budget was over after this time.
    Budget(Duration),
    /// A signal asked this process to end.
    Interrupted,
}

/// A process to start.
pub struct ProcessRequest<'a> {
    /// The command.
    pub command: ProcessCommand<'a>,
    /// Its stdin; `None` is an empty stdin.
    pub stdin: Option<&'a [u8]>,
    /// Whether it may outlive this process.
    pub may_detach: bool,
    /// Identifies it in the record of a leak.
    pub leak_record: Option<&'a str>,
    /// The file to which its stdout is appended while it runs.
    pub tee_stdout: Option<TeeFile<'a>>,
    /// Whether the watchdog knows its tag before it starts.
    pub watch_at_once: bool,
}

/// The result of a process.
pub struct EndedProcess {
    /// How it ended.
    pub end: ProcessEnd,
    /// Its stdout.
    pub stdout: CapturedOutput,
    /// Its stderr.
    pub stderr: CapturedOutput,
    /// Why it ended before its own timeout, if it did.
    pub cut_short_by: Option<CutReason>,
    /// Remarks for the user.
    pub remarks: Vec<String>,
    /// Processes of it that still run, and their deadline.
    pub leftovers: Vec<ProcessId>,
    /// Until when they may run.
    pub leftover_deadline: Instant,
}

/// A process between its start and its end.
pub struct Process<'a> {
    pid: Pid,
    /// `None` on kernels without it; then every turn checks for the exit.
    pidfd: Option<OwnedFd>,
    stdin: Option<StdinFeed<'a>>,
    stdout: Capture<'a>,
    stderr: Capture<'a>,
    started_at: Instant,
    /// No descendant is older, in the kernel's ticks.
    since: u64,
    deadlines: Deadlines,
    phase: ProcessPhase,
    exited: bool,
    watched: bool,
    /// Whether the watchdog knew its tag before it started.
    watch_at_once: bool,
    /// Set for a child of another process: this process cannot reap it and knows it by its start
    /// time.
    foreign: Option<ProcessId>,
    /// In a PID namespace: the kernel kills it when this process ends.
    isolated: bool,
    leak_record: Option<&'a str>,
    cut_short_by: Option<CutReason>,
    /// It has ended by itself, and its remaining processes are being killed.
    rest_killed: bool,
    known_members: Vec<ProcessId>,
    remarks: Vec<String>,
    /// The executed command.
    pub command: Vec<String>,
    /// The tag in its environment.
    pub tag: String,
}

/// How far its end has come.
enum ProcessPhase {
    Running,
    /// Exited, but another process holds its pipes.
    Draining(Instant),
    /// Past its deadline, and sent SIGTERM.
    Terminating {
        until: Instant,
        next_check: Instant,
    },
    /// Past its deadline, and killed; its remaining processes are being found.
    Sweeping {
        until: Instant,
        next_check: Instant,
    },
}

/// The bytes still to be written to its stdin.
struct StdinFeed<'a> {
    fd: OwnedFd,
    unwritten: &'a [u8],
}

impl<'a> Process<'a> {
    /// Starts a process that ends within `deadlines`.
    pub fn start(
        request: ProcessRequest<'a>,
        deadlines: Deadlines,
        context: &LoopContext<'a>,
    ) -> Result<Self, StartError> {
        let mut command = request.command;
        command.isolate = context.settings.isolate;
        // A process that may detach outlives this one; an isolated process never does.
        let may_detach = request.may_detach && !command.isolate;
        command.kill_with_parent =
            command.isolate || context.settings.kill_with_parent && !may_detach;

        let no_pipe = |error: Errno| StartError::NoPipe(error.into());
        let (pipes, [stdin_end, stdout_end, stderr_end]) =
            open_pipes(request.stdin).map_err(no_pipe)?;
        let streams =
            [&stdin_end, &stdout_end, &stderr_end].map(|end| end.as_ref().map(AsFd::as_fd));

        let since = process_table::ticks_now();
        let watch_at_once = request.watch_at_once || context.settings.watch_at_once;
        let remarks = register_before_start(command.tag(), watch_at_once, context);
        let spawn_lock = orphans::lock_spawns();
        let StartedProcess { pid, command, tag } = command.start(streams)?;
        orphans::add_leader(pid, since);
        drop(spawn_lock);

        let mut stdout = Capture::new(pipes.stdout, context.settings).with_answer();
        request.tee_stdout.into_iter().for_each(|target| stdout.add_tee(target));
        Ok(Self {
            pid,
            pidfd: pidfd_open(pid, PidfdFlags::empty()).ok(),
            stdin: pipes.stdin,
            stdout,
            stderr: Capture::new(pipes.stderr, context.settings),
            started_at: context.now,
            since,
            deadlines,
            phase: ProcessPhase::Running,
            exited: false,
            watched: false,
            watch_at_once,
            foreign: None,
            isolated: context.settings.isolate,
            leak_record: request.leak_record,
            cut_short_by: None,
            rest_killed: false,
            known_members: Vec::new(),
            remarks,
            command,
            tag,
        })
    }

    /// Whether only its exit is polled: a short process is then read once, after its exit. Waking for
    /// every write and every closed pipe would cost as much as its start.
    fn polls_exit_only(&self, now: Instant) -> bool {
        let running = matches!(self.phase, ProcessPhase::Running) && !self.exited;
        running
            && self.stdin.is_none()
            && self.pidfd.is_some()
            && now < self.started_at + BUSY_WAIT_WINDOW
    }

    /// Adds the descriptors to wait for.
    pub fn add_poll_fds<'p>(&'p self, now: Instant, mut add: impl FnMut(PollSource, PollFd<'p>)) {
        if let Some(fd) = self.pidfd.as_ref().filter(|_| self.polls_exit_only(now)) {
            return add(PollSource::Exit, PollFd::new(fd, PollFlags::IN));
        }
        if let Some(stdin) = &self.stdin {
            add(PollSource::Stdin, PollFd::new(&stdin.fd, PollFlags::OUT));
        }
        if let Some(fd) = self.stdout.fd() {
            add(PollSource::Stdout, PollFd::new(fd, PollFlags::IN));
        }
        if let Some(fd) = self.stderr.fd() {
            add(PollSource::Stderr, PollFd::new(fd, PollFlags::IN));
        }
        if let Some(fd) = self.pidfd.as_ref().filter(|_| !self.exited) {
            add(PollSource::Exit, PollFd::new(fd, PollFlags::IN));
        }
    }

    /// Reads or writes a descriptor that is ready.
    pub fn handle_ready(&mut self, source: PollSource, flags: PollFlags, scratch: &mut Vec<u8>) {
        match source {
            PollSource::Stdin => self.stdin = self.stdin.take().and_then(StdinFeed::write_some),
            PollSource::Stdout => read_stream(&mut self.stdout, flags, scratch),
            PollSource::Stderr => read_stream(&mut self.stderr, flags, scratch),
            PollSource::Exit => self.exited = true,
        }
    }

    /// Checks for the exit on kernels without a pidfd.
    fn check_exit(&mut self) {
        if self.pidfd.is_none() && !self.exited {
            let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT | WaitIdOptions::NOHANG;
            self.exited = match self.foreign {
                Some(member) => !process_table::is_alive(member),
                None => !matches!(waitid(WaitId::Pid(self.pid), options), Ok(None)),
            };
        }
    }
}

impl LoopContext<'_> {
    /// The process table, read at most once in a turn.
    pub fn process_table(&mut self) -> &ProcessTable {
        self.table.get_or_insert_with(ProcessTable::read_proc)
    }
}

impl StdinFeed<'_> {
    /// Writes as much as the pipe takes; `None` when all is written or the pipe is closed.
    fn write_some(mut self) -> Option<Self> {
        while !self.unwritten.is_empty() {
            match write(&self.fd, self.unwritten) {
                Ok(count) => self.unwritten = self.unwritten.get(count..).unwrap_or_default(),
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => return Some(self),
                Err(_) => return None,
            }
        }
        None
    }
}

fn read_stream(stream: &mut Capture<'_>, flags: PollFlags, scratch: &mut Vec<u8>) {
    if flags.contains(PollFlags::IN) {
        stream.read_available(scratch, flags.contains(PollFlags::HUP));
    } else {
        stream.close();
    }
}

/// Registers a process with the watchdog before its start, if that is asked for. Returns
/// remarks.
fn register_before_start(tag: &str, watch_at_once: bool, context: &LoopContext<'_>) -> Vec<String> {
    if !watch_at_once || !context.watchdog.is_available() {
        return Vec::new();
    }
    let registered = context.watchdog.expect_tag(tag);
    registered.err().map(|reason| format!("watchdog: {reason}")).into_iter().collect()
}

/// This process's ends of a process's pipes.
struct ProcessPipes<'a> {
    stdin: Option<StdinFeed<'a>>,
    stdout: OwnedFd,
    stderr: OwnedFd,
}

/// Opens the pipes of a process and returns the ends of both sides. Fills stdin before the start: most
/// processes then need no further write.
fn open_pipes(bytes: Option<&[u8]>) -> Result<(ProcessPipes<'_>, [Option<OwnedFd>; 3]), Errno> {
    let (stdout, stdout_end) = output_pipe()?;
    let (stderr, stderr_end) = output_pipe()?;
    let (stdin, stdin_end) = bytes.map(input_pipe).transpose()?.unzip();

    let stdin = stdin.and_then(StdinFeed::write_some);
    let pipes = ProcessPipes { stdin, stdout, stderr };
    Ok((pipes, [stdin_end, Some(stdout_end), Some(stderr_end)]))
}

/// A pipe that this process reads without blocking.
fn output_pipe() -> Result<(OwnedFd, OwnedFd), Errno> {
    let (ours, theirs) = open_pipe()?;
    set_nonblocking(&ours);
    Ok((ours, theirs))
}

/// A pipe that this process writes without blocking.
fn input_pipe(bytes: &[u8]) -> Result<(StdinFeed<'_>, OwnedFd), Errno> {
    let (theirs, ours) = open_pipe()?;
    set_nonblocking(&ours);
    if bytes.len() > DEFAULT_PIPE_BYTES {
        // The kernel may refuse; the bytes then pass in more turns.
        let _refused = fcntl_setpipe_size(&ours, LARGE_PIPE_BYTES);
    }
    Ok((StdinFeed { fd: ours, unwritten: bytes }, theirs))
}

/// A pipe that no started program inherits: the end to read and the end to write.
pub fn open_pipe() -> Result<(OwnedFd, OwnedFd), Errno> {
    let (read, write) = pipe_with(PipeFlags::CLOEXEC)?;
    Ok((move_above_stdio(read), move_above_stdio(write)))
}

/// Moves a descriptor above 2. In a host that closed its own stdio, a pipe may get one of those
/// numbers, and the child's streams would overwrite it.
pub fn move_above_stdio(fd: OwnedFd) -> OwnedFd {
    use std::os::fd::AsRawFd;
    if fd.as_raw_fd() >= 3 { fd } else { fcntl_dupfd_cloexec(&fd, 3).unwrap_or(fd) }
}

/// Sets O_NONBLOCK. This affects one end only: the child's end has its own file description.
pub fn set_nonblocking(fd: &OwnedFd) {
    let _ = fcntl_setfl(fd, OFlags::NONBLOCK);
}
