//! Hand-off of a running child to the supervisor (`{"async": true}`): sending and receiving side.

use std::io;
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use rustix::io::fcntl_dupfd_cloexec;
use rustix::process::{Pid, PidfdFlags, pidfd_open};
use serde::{Deserialize, Serialize};

use super::{LoopContext, Process, ProcessPhase, StdinFeed};
use crate::capture::{Capture, CapturedOutput};
use crate::deadlines::{Deadlines, TimeLimits};
use crate::process_table::{self, ProcessId};
use crate::settings::Settings;
use crate::tee::TeeFile;

/// Pipes handed over: this process's ends of the hook's stdin, stdout and stderr.
pub const PIPE_COUNT: usize = 3;

/// Describes a running process to a process that did not start it.
#[derive(Debug, Serialize, Deserialize)]
pub struct RunningChild {
    /// Its process id.
    pub pid: i32,
    /// Its start time, so that a later process with the same number is not taken for it.
    pub start: u64,
    /// No descendant is older, in the kernel's ticks.
    pub since: u64,
    /// The tag in its environment.
    #[serde(rename = "mark")]
    pub tag: String,
    /// The executed command.
    pub command: Vec<String>,
    /// Which pipes are open.
    pub open: [bool; PIPE_COUNT],
    /// How many bytes of stdout and stderr were already read.
    pub lengths: [usize; 2],
    /// The bytes already read.
    #[serde(skip)]
    pub read: [Vec<u8>; 2],
}

/// A running process, with everything the supervisor needs.
pub struct Handoff {
    /// The process.
    pub child: RunningChild,
    /// This process's ends of its pipes.
    pub pipes: [Option<OwnedFd>; PIPE_COUNT],
    /// Bytes still to be written to its stdin.
    pub stdin_rest: Vec<u8>,
}

/// Copies of its pipes get numbers above those of the supervisor's streams.
const MIN_COPY_FD: i32 = 3 + PIPE_COUNT as i32;

impl<'a> Process<'a> {
    /// Its stdout so far, if it still runs and all of that is kept.
    pub fn printed_so_far(&self) -> Option<&[u8]> {
        self.stdout.kept_whole().filter(|_| matches!(self.phase, ProcessPhase::Running))
    }

    /// Whether it has exited.
    pub fn has_exited(&self) -> bool {
        self.exited
    }

    /// The remaining part of a time that began with its start.
    pub fn time_left(&self, time: Duration, now: Instant) -> Duration {
        time.saturating_sub(now.saturating_duration_since(self.started_at))
    }

    /// Describes this process for the supervisor, with copies of its pipes.
    pub fn prepare_handoff(&self) -> io::Result<Handoff> {
        if self.isolated {
            let why = "`isolate` ends every hook with gambrel, so gambrel waits for it";
            return Err(io::Error::other(why));
        }

        let gone = || io::Error::other("the process is gone");
        let copy = |fd: Option<&OwnedFd>| -> io::Result<Option<OwnedFd>> {
            Ok(fd.map(|fd| fcntl_dupfd_cloexec(fd, MIN_COPY_FD)).transpose()?)
        };
        let pipes = [
            copy(self.stdin.as_ref().map(|feed| &feed.fd))?,
            copy(self.stdout.fd())?,
            copy(self.stderr.fd())?,
        ];

        let read = |stream: &Capture<'_>| stream.kept_whole().unwrap_or_default().to_vec();
        let read = [read(&self.stdout), read(&self.stderr)];
        let child = RunningChild {
            pid: self.raw_pid(),
            start: process_table::start_time(self.raw_pid()).ok_or_else(gone)?,
            since: self.since,
            tag: self.tag.clone(),
            command: self.command.clone(),
            open: pipes.each_ref().map(Option::is_some),
            lengths: read.each_ref().map(Vec::len),
            read,
        };

        let stdin_rest =
            self.stdin.as_ref().map(|feed| feed.unwritten.to_vec()).unwrap_or_default();
        Ok(Handoff { child, pipes, stdin_rest })
    }

    /// Gives up this process's pipes and its watchdog entry: the supervisor has its own.
    pub fn release(&mut self, context: &LoopContext<'a>) {
        if self.watched {
            context.watchdog.release_tag(&self.tag);
        }
        self.stdin = None;
        self.stdout.close_tee();
        self.stdout.close();
        self.stderr.close();
    }

    /// Its process id.
    pub fn pid(&self) -> Pid {
        self.pid
    }

    /// Appends its further stdout to a file, too.
    pub fn with_tee(mut self, target: Option<TeeFile<'_>>) -> Self {
        target.into_iter().for_each(|target| self.stdout.add_tee(target));
        self
    }

    /// Names it in the record of a leak.
    pub fn with_leak_record(mut self, leak_record: Option<&'a str>) -> Self {
        self.leak_record = leak_record;
        self
    }

    /// Its stdout so far.
    pub fn stdout_so_far(&self) -> CapturedOutput {
        let bytes = self.stdout.kept_whole().unwrap_or_default().to_vec();
        CapturedOutput { total: bytes.len() as u64, bytes, ..CapturedOutput::default() }
    }

    /// Takes over a running process, with the rest of its stdin; `None` if it has ended.
    pub fn adopt(
        child: RunningChild,
        pipes: [Option<OwnedFd>; PIPE_COUNT],
        unwritten: &'a [u8],
        limits: &TimeLimits,
        settings: &'a Settings,
    ) -> Option<Self> {
        let member = ProcessId { pid: child.pid, start: child.start };
        let is_same = process_table::start_time(child.pid) == Some(child.start);
        let pid = Pid::from_raw(child.pid).filter(|_| is_same)?;
        let [stdin, stdout, stderr] = pipes;
        let [read_stdout, read_stderr] = child.read;
        let started_at = Instant::now();

        Some(Self {
            pid,
            pidfd: pidfd_open(pid, PidfdFlags::empty()).ok(),
            stdin: stdin.and_then(|fd| StdinFeed { fd, unwritten }.write_some()),
            stdout: Capture::resume(stdout, read_stdout, settings).with_answer(),
            stderr: Capture::resume(stderr, read_stderr, settings),
            started_at,
            since: child.since,
            deadlines: Deadlines::from_limits(limits, started_at, None),
            phase: ProcessPhase::Running,
            exited: false,
            watched: false,
            watch_at_once: settings.watch_at_once,
            foreign: Some(member),
            isolated: false,
            leak_record: None,
            cut_short_by: None,
            rest_killed: false,
            known_members: Vec::new(),
            remarks: Vec::new(),
            command: child.command,
            tag: child.tag,
        })
    }
}
