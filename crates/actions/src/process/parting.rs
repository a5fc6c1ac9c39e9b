//! A child that asks to go on alone, on the side that lets it go and on the side that takes it.
//! Who that is and how it gets there is not known here.

use std::io;
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use gambrel_model::async_marker::AsyncRequest;
use gambrel_model::call::Call;
use gambrel_model::outcome::Captured;
use rustix::io::fcntl_dupfd_cloexec;
use rustix::process::{Pid, PidfdFlags, pidfd_open};

use super::{Feed, Process, Stage, World};
use crate::capture::Capture;
use crate::handover::{Leaving, Left, PIPES};
use crate::limits::Deadlines;
use crate::settings::Settings;
use crate::tree::{self, Member};

/// Copies of its pipes are beyond every number that a supervisor's streams take.
const BEYOND: i32 = 3 + PIPES as i32;

impl<'a> Process<'a> {
    /// Whether it asks to be left, and for how long it may run then. It is asked once.
    pub fn goes(&mut self) -> Option<Option<Duration>> {
        let parting = self.parting?;
        let printed = self.stdout.whole().filter(|_| matches!(self.stage, Stage::Running));
        let parted = printed.map_or(AsyncRequest::No, |printed| parting.read_marker(printed));
        // One that is over already has nothing left to go on with.
        if parted != AsyncRequest::Incomplete || self.exited {
            self.parting = None;
        }
        match parted {
            AsyncRequest::Yes(time) if !self.exited => Some(time),
            _ => None,
        }
    }

    /// What is left of a time that began with it.
    pub fn time_left(&self, time: Duration, now: Instant) -> Duration {
        time.saturating_sub(now.saturating_duration_since(self.begun))
    }

    /// What its next owner needs, with copies of its pipes.
    pub fn leaving(&self) -> io::Result<Leaving> {
        if self.isolated {
            let why = "isolate ends every hook with gambrel, so it is waited for";
            return Err(io::Error::other(why));
        }
        let gone = || io::Error::other("it is gone");
        let copy = |fd: Option<&OwnedFd>| -> io::Result<Option<OwnedFd>> {
            Ok(fd.map(|fd| fcntl_dupfd_cloexec(fd, BEYOND)).transpose()?)
        };
        let pipes = [
            copy(self.feed.as_ref().map(|feed| &feed.fd))?,
            copy(self.stdout.fd())?,
            copy(self.stderr.fd())?,
        ];
        let read = |stream: &Capture<'_>| stream.whole().unwrap_or_default().to_vec();
        let read = [read(&self.stdout), read(&self.stderr)];
        let left = Left {
            pid: self.id(),
            start: tree::start_time(self.id()).ok_or_else(gone)?,
            since: self.since,
            mark: self.mark.clone(),
            command: self.command.clone(),
            open: pipes.each_ref().map(Option::is_some),
            lengths: read.each_ref().map(Vec::len),
            read,
        };
        let rest = self.feed.as_ref().map(|feed| feed.rest.to_vec()).unwrap_or_default();
        Ok(Leaving { left, pipes, rest })
    }

    /// It is somebody else's now: its end with ours is no longer wanted, nor are its pipes.
    pub fn forget(&mut self, world: &World<'a>) {
        if let Some(program) = world.settings.supervisor.as_deref().filter(|_| self.watched) {
            world.guard.done(program, &self.mark);
        }
        self.feed = None;
        self.stdout.close();
        self.stderr.close();
    }

    /// Its number.
    pub fn pid(&self) -> Pid {
        self.pid
    }

    /// What it has printed so far.
    pub fn printed(&self) -> Captured {
        let bytes = self.stdout.whole().unwrap_or_default().to_vec();
        Captured { total: bytes.len() as u64, bytes, ..Captured::default() }
    }

    /// Takes over what runs already, under the pace of `call`.
    pub fn adopted(
        call: &'a Call,
        left: Left,
        pipes: [Option<OwnedFd>; PIPES],
        settings: &'a Settings,
    ) -> Result<Self, String> {
        let member = Member { pid: left.pid, start: left.start };
        let pid =
            Pid::from_raw(left.pid).filter(|_| tree::start_time(left.pid) == Some(left.start));
        let pid = pid.ok_or("it was gone before it could be left running")?;
        let [feed, stdout, stderr] = pipes;
        let [read_stdout, read_stderr] = left.read;
        let rest = call.stdin.as_deref().unwrap_or_default();
        let begun = Instant::now();
        Ok(Self {
            pid,
            pidfd: pidfd_open(pid, PidfdFlags::empty()).ok(),
            feed: feed.and_then(|fd| Feed { fd, rest }.push()),
            stdout: Capture::resume(stdout, read_stdout, settings).with_answer(),
            stderr: Capture::resume(stderr, read_stderr, settings),
            begun,
            since: left.since,
            limits: Deadlines::of(&call.limits, begun, None),
            stage: Stage::Running,
            exited: false,
            watched: false,
            watch_after: super::watch_after(settings),
            foreign: Some(member),
            isolated: false,
            parting: None,
            slip: call.leak_record.as_deref(),
            cut: None,
            rest_killed: false,
            known: Vec::new(),
            remarks: Vec::new(),
            command: left.command,
            mark: left.mark,
        })
    }
}
