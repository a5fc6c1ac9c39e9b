//! One running child: its pipes, its clock and what has been read from it. How it is brought to
//! an end is in `process/ending.rs`. It knows one attempt only, nothing of retries.

mod ending;
mod parting;

pub(crate) use ending::{Trace, leave};

use std::os::fd::{AsFd, OwnedFd};
use std::time::{Duration, Instant};

use gambrel_model::async_marker::AsyncMarker;
use gambrel_model::call::Call;
use gambrel_model::outcome::{Captured, End};
use rustix::event::{PollFd, PollFlags};
use rustix::fs::{OFlags, fcntl_setfl};
use rustix::io::{Errno, fcntl_dupfd_cloexec, write};
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::{Pid, PidfdFlags, WaitId, WaitIdOptions, pidfd_open, waitid};

use crate::capture::Capture;
use crate::command::{Command, Started};
use crate::guard::Guard;
use crate::limits::Deadlines;
use crate::orphans;
use crate::settings::{Settings, WATCH_AFTER};
use crate::tree::{self, Member, Snapshot};

/// For so long nothing but its exit is waited for.
const YOUNG: Duration = Duration::from_millis(2);

/// What all children of a batch share.
pub(crate) struct World<'a> {
    pub settings: &'a Settings,
    pub guard: &'a Guard,
    /// The time at which this turn of the loop began.
    pub now: Instant,
    /// When this batch began, in the kernel's ticks.
    pub since: u64,
    pub scratch: Vec<u8>,
    /// The process table of this turn, if somebody needed it.
    pub table: Option<Snapshot>,
}

/// Which descriptor of a child the kernel speaks of.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Slot {
    Stdin,
    Stdout,
    Stderr,
    Exit,
}

/// How an attempt ended.
pub(crate) struct Ended {
    pub end: End,
    pub stdout: Captured,
    pub stderr: Captured,
    /// What ended it before its own time was over.
    pub cut: Option<String>,
    pub remarks: Vec<String>,
    /// What still runs of it, and until when that may.
    pub left: Vec<Member>,
    pub linger: Instant,
}

/// A child between its start and its end.
pub(crate) struct Process<'a> {
    pid: Pid,
    /// `None` on kernels without; the exit is then looked for at every turn.
    pidfd: Option<OwnedFd>,
    feed: Option<Feed<'a>>,
    stdout: Capture<'a>,
    stderr: Capture<'a>,
    begun: Instant,
    /// Nothing of it is older, in the kernel's ticks.
    since: u64,
    limits: Deadlines,
    stage: Stage,
    exited: bool,
    watched: bool,
    /// At what age it is told to the watchdog.
    watch_after: Duration,
    /// Somebody else's child: it cannot be reaped here, and is known by its start.
    foreign: Option<Member>,
    /// In a PID namespace, and ended by the kernel when we end.
    isolated: bool,
    /// How it may ask not to be waited for, until it has said something else.
    parting: Option<&'a AsyncMarker>,
    slip: Option<&'a str>,
    cut: Option<String>,
    /// It has ended by itself, and what is left of it is killed.
    rest_killed: bool,
    known: Vec<Member>,
    remarks: Vec<String>,
    /// What was executed.
    pub command: Vec<String>,
    /// The mark in its environment.
    pub mark: String,
}

/// How far it is with coming to its end.
enum Stage {
    Running,
    /// Exited, but somebody holds its pipes.
    Draining(Instant),
    /// Late and told so.
    Terming {
        until: Instant,
        look: Instant,
    },
    /// Late and killed; what is left of it is looked for.
    Sweeping {
        until: Instant,
        look: Instant,
    },
}

/// What goes to its stdin.
struct Feed<'a> {
    fd: OwnedFd,
    rest: &'a [u8],
}

impl<'a> Process<'a> {
    /// Starts an attempt that ends within `limits`, or says why it could not start.
    pub fn start(call: &'a Call, limits: Deadlines, world: &World<'a>) -> Result<Self, String> {
        let mut command = Command::of(call, world.settings.direct)?;
        command.isolate = world.settings.isolate;
        // One that goes on alone outlives us; an isolated one never does.
        let may_go = call.async_marker.is_some() && !command.isolate;
        command.kill_with_parent = command.isolate || world.settings.kill_with_parent && !may_go;
        let pipes = |error: Errno| format!("no pipe for the hook: {error}");
        let (stdout, their_stdout) = output_pipe().map_err(pipes)?;
        let (stderr, their_stderr) = output_pipe().map_err(pipes)?;
        let (mut feed, their_stdin) = match &call.stdin {
            Some(bytes) => input_pipe(bytes).map(|(feed, fd)| (Some(feed), Some(fd))),
            None => Ok((None, None)),
        }
        .map_err(pipes)?;
        // What fits into the pipe is there before the child is: most hooks never make us wait.
        feed = feed.and_then(Feed::push);
        let streams = [
            their_stdin.as_ref().map(AsFd::as_fd),
            Some(their_stdout.as_fd()),
            Some(their_stderr.as_fd()),
        ];
        let since = tree::ticks_now();
        let remarks = expect_at_once(command.mark(), world);
        let birth = orphans::hold();
        let Started { pid, command, mark } = command.start(streams)?;
        orphans::enter(pid);
        drop(birth);
        Ok(Self {
            pid,
            pidfd: pidfd_open(pid, PidfdFlags::empty()).ok(),
            feed,
            stdout: Capture::new(stdout, world.settings).with_answer(),
            stderr: Capture::new(stderr, world.settings),
            begun: world.now,
            since,
            limits,
            stage: Stage::Running,
            exited: false,
            watched: false,
            watch_after: watch_after(world.settings),
            foreign: None,
            isolated: world.settings.isolate,
            parting: call.async_marker.as_ref(),
            slip: call.leak_record.as_deref(),
            cut: None,
            rest_killed: false,
            known: Vec::new(),
            remarks,
            command,
            mark,
        })
    }

    /// A hook of a moment is heard once, when it has exited: being woken for every word and every
    /// pipe that closes costs as much again as its start. What it prints waits in the pipe.
    fn is_young(&self, now: Instant) -> bool {
        let running = matches!(self.stage, Stage::Running) && !self.exited;
        running && self.feed.is_none() && self.pidfd.is_some() && now < self.begun + YOUNG
    }

    /// The descriptors to wait for.
    pub fn interests<'p>(&'p self, now: Instant, mut add: impl FnMut(Slot, PollFd<'p>)) {
        if let Some(fd) = self.pidfd.as_ref().filter(|_| self.is_young(now)) {
            return add(Slot::Exit, PollFd::new(fd, PollFlags::IN));
        }
        if let Some(feed) = &self.feed {
            add(Slot::Stdin, PollFd::new(&feed.fd, PollFlags::OUT));
        }
        if let Some(fd) = self.stdout.fd() {
            add(Slot::Stdout, PollFd::new(fd, PollFlags::IN));
        }
        if let Some(fd) = self.stderr.fd() {
            add(Slot::Stderr, PollFd::new(fd, PollFlags::IN));
        }
        if let Some(fd) = self.pidfd.as_ref().filter(|_| !self.exited) {
            add(Slot::Exit, PollFd::new(fd, PollFlags::IN));
        }
    }

    /// Takes or gives what a descriptor is ready for.
    pub fn ready(&mut self, slot: Slot, flags: PollFlags, scratch: &mut Vec<u8>) {
        match slot {
            Slot::Stdin => self.feed = self.feed.take().and_then(Feed::push),
            Slot::Stdout => pull(&mut self.stdout, flags, scratch),
            Slot::Stderr => pull(&mut self.stderr, flags, scratch),
            Slot::Exit => self.exited = true,
        }
    }

    /// Looks for the exit on kernels that do not tell it.
    fn peek(&mut self) {
        if self.pidfd.is_none() && !self.exited {
            let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT | WaitIdOptions::NOHANG;
            self.exited = match self.foreign {
                Some(member) => !tree::lives(member),
                None => !matches!(waitid(WaitId::Pid(self.pid), options), Ok(None)),
            };
        }
    }
}

impl World<'_> {
    /// The process table, read at most once in a turn.
    pub fn table(&mut self) -> &Snapshot {
        self.table.get_or_insert_with(Snapshot::take)
    }
}

impl Feed<'_> {
    /// Writes what the pipe takes; `None` when all is written or nobody reads.
    fn push(mut self) -> Option<Self> {
        while !self.rest.is_empty() {
            match write(&self.fd, self.rest) {
                Ok(count) => self.rest = self.rest.get(count..).unwrap_or_default(),
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => return Some(self),
                Err(_) => return None,
            }
        }
        None
    }
}

fn pull(stream: &mut Capture<'_>, flags: PollFlags, scratch: &mut Vec<u8>) {
    if flags.contains(PollFlags::IN) {
        stream.pull(scratch, flags.contains(PollFlags::HUP));
    } else {
        stream.close();
    }
}

/// At what age a hook is told to the watchdog.
fn watch_after(settings: &Settings) -> Duration {
    if settings.watch_at_once { Duration::ZERO } else { WATCH_AFTER }
}

/// Tells the watchdog of a hook that is about to start, where that is wanted; what went wrong.
fn expect_at_once(mark: &str, world: &World<'_>) -> Vec<String> {
    let program = world.settings.supervisor.as_deref().filter(|_| world.settings.watch_at_once);
    let told = program.map_or(Ok(()), |program| world.guard.expect(program, mark));
    told.err().map(|reason| format!("watchdog: {reason}")).into_iter().collect()
}

/// A pipe that we read without blocking.
fn output_pipe() -> Result<(OwnedFd, OwnedFd), Errno> {
    let (ours, theirs) = pipe_with(PipeFlags::CLOEXEC)?;
    let (ours, theirs) = (lift(ours), lift(theirs));
    unblock(&ours);
    Ok((ours, theirs))
}

/// A pipe that we write without blocking.
fn input_pipe(bytes: &[u8]) -> Result<(Feed<'_>, OwnedFd), Errno> {
    let (theirs, ours) = pipe_with(PipeFlags::CLOEXEC)?;
    let (theirs, ours) = (lift(theirs), lift(ours));
    unblock(&ours);
    Ok((Feed { fd: ours, rest: bytes }, theirs))
}

/// A host that closed its own stdio makes pipes get those numbers, and they would be overwritten
/// while the child's streams are put in place.
pub(crate) fn lift(fd: OwnedFd) -> OwnedFd {
    use std::os::fd::AsRawFd;
    if fd.as_raw_fd() >= 3 { fd } else { fcntl_dupfd_cloexec(&fd, 3).unwrap_or(fd) }
}

/// Only our end: blocking belongs to the description, and the child's end is another one.
pub(crate) fn unblock(fd: &OwnedFd) {
    let _ = fcntl_setfl(fd, OFlags::NONBLOCK);
}
