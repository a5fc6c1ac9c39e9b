//! Hand-off of a running child to the supervisor (`{"async": true}`): sending and receiving side.

use std::io;
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use gambrel_model::async_marker::AsyncRequest;
use gambrel_model::call::Call;
use gambrel_model::outcome::Captured;
use rustix::io::fcntl_dupfd_cloexec;
use rustix::process::{Pid, PidfdFlags, pidfd_open};

use super::{LoopContext, Process, ProcessPhase, StdinFeed};
use crate::capture::Capture;
use crate::deadlines::Deadlines;
use crate::handoff::{Handoff, PIPE_COUNT, RunningChild};
use crate::process_table::{self, ProcessId};
use crate::settings::Settings;

/// Copies of its pipes get numbers above those of the supervisor's streams.
const MIN_COPY_FD: i32 = 3 + PIPE_COUNT as i32;

impl<'a> Process<'a> {
    /// Whether its output asks to continue in the background, and for how long. Answers once.
    pub fn read_async_request(&mut self) -> Option<Option<Duration>> {
        let async_marker = self.async_marker?;
        let printed =
            self.stdout.kept_whole().filter(|_| matches!(self.phase, ProcessPhase::Running));
        let request = printed.map_or(AsyncRequest::No, |printed| async_marker.read_marker(printed));
        // A process that has exited cannot continue.
        if request != AsyncRequest::Incomplete || self.exited {
            self.async_marker = None;
        }
        match request {
            AsyncRequest::Yes(time) if !self.exited => Some(time),
            _ => None,
        }
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
        if let Some(program) = context.settings.supervisor.as_deref().filter(|_| self.watched) {
            context.watchdog.release_hook(program, &self.tag);
        }
        self.stdin = None;
        self.stdout.close();
        self.stderr.close();
    }

    /// Its process id.
    pub fn pid(&self) -> Pid {
        self.pid
    }

    /// Its stdout so far.
    pub fn stdout_so_far(&self) -> Captured {
        let bytes = self.stdout.kept_whole().unwrap_or_default().to_vec();
        Captured { total: bytes.len() as u64, bytes, ..Captured::default() }
    }

    /// Takes over a running process, under the limits of `call`.
    pub fn adopt(
        call: &'a Call,
        child: RunningChild,
        pipes: [Option<OwnedFd>; PIPE_COUNT],
        settings: &'a Settings,
    ) -> Result<Self, String> {
        let member = ProcessId { pid: child.pid, start: child.start };
        let pid = Pid::from_raw(child.pid)
            .filter(|_| process_table::start_time(child.pid) == Some(child.start));
        let pid = pid.ok_or("the process ended before it could be handed over")?;
        let [stdin, stdout, stderr] = pipes;
        let [read_stdout, read_stderr] = child.read;
        let unwritten = call.stdin.as_deref().unwrap_or_default();
        let started_at = Instant::now();

        Ok(Self {
            pid,
            pidfd: pidfd_open(pid, PidfdFlags::empty()).ok(),
            stdin: stdin.and_then(|fd| StdinFeed { fd, unwritten }.write_some()),
            stdout: Capture::resume(stdout, read_stdout, settings).with_answer(),
            stderr: Capture::resume(stderr, read_stderr, settings),
            started_at,
            since: child.since,
            deadlines: Deadlines::from_limits(&call.limits, started_at, None),
            phase: ProcessPhase::Running,
            exited: false,
            watched: false,
            watchdog_delay: super::watchdog_delay(settings),
            foreign: Some(member),
            isolated: false,
            async_marker: None,
            leak_record: call.leak_record.as_deref(),
            cut_short_by: None,
            rest_killed: false,
            known_members: Vec::new(),
            remarks: Vec::new(),
            command: child.command,
            tag: child.tag,
        })
    }
}
