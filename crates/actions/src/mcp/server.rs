//! A server that is started for one call: in a session of its own, with the environment that hooks
//! get, and gone with all that belongs to it when the call is over. It knows nothing of MCP.

use std::io;
use std::os::fd::AsFd;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use gambrel_model::call::Call;
use gambrel_model::outcome::Captured;
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, waitid};
use tokio::net::unix::pipe::{Receiver, Sender};
use tokio::task::JoinHandle;
use tokio::time::sleep;

use super::action::FAREWELL;
use crate::command::{Command, Started};
use crate::guard::Guard;
use crate::limits::Deadlines;
use crate::orphans;
use crate::process::lift;
use crate::settings::SWEEP;
use crate::spawn;
use crate::tree::{self, Kin, Member, Snapshot};

/// How much of its stderr is kept: the end of it.
const TAIL: usize = 2048;
/// Between two looks whether it is gone.
const LOOK: Duration = Duration::from_millis(5);

/// A running server.
pub(super) struct Server {
    pid: Pid,
    since: u64,
    mark: String,
    tail: Arc<Mutex<Captured>>,
    listener: JoinHandle<()>,
    reaped: bool,
    /// What was started.
    pub command: Vec<String>,
}

impl Server {
    /// Starts it; what it says, and where it listens.
    pub fn start(call: &Call, isolate: bool) -> Result<(Self, (Receiver, Sender)), String> {
        let mut command = Command::of(call, true)?;
        command.isolate = isolate;
        command.kill_with_parent = isolate;
        let pipes = |error: io::Error| format!("no pipe for the server: {error}");
        let pipe = || pipe_with(PipeFlags::CLOEXEC).map(|(a, b)| (lift(a), lift(b)));
        let (their_stdin, stdin) = pipe().map_err(|error| pipes(error.into()))?;
        let (stdout, their_stdout) = pipe().map_err(|error| pipes(error.into()))?;
        let (stderr, their_stderr) = pipe().map_err(|error| pipes(error.into()))?;
        let stdin = Sender::from_owned_fd(stdin).map_err(pipes)?;
        let stdout = Receiver::from_owned_fd(stdout).map_err(pipes)?;
        let stderr = Receiver::from_owned_fd(stderr).map_err(pipes)?;
        let streams =
            [Some(their_stdin.as_fd()), Some(their_stdout.as_fd()), Some(their_stderr.as_fd())];
        let since = tree::ticks_now();
        let birth = orphans::hold();
        let Started { pid, command, mark } = command.start(streams)?;
        orphans::enter(pid);
        drop(birth);
        let tail = Arc::default();
        let listener = tokio::spawn(keep_tail(stderr, Arc::clone(&tail)));
        let this = Self { pid, since, mark, tail, listener, reaped: false, command };
        Ok((this, (stdout, stdin)))
    }

    /// Has it killed should we die; what to tell once it has ended.
    pub fn watch<'p>(
        &self,
        guard: &Guard,
        program: Option<&'p Path>,
    ) -> Option<(&'p Path, String)> {
        let (program, leader) = (program?, self.id());
        let start = tree::start_time(leader)?;
        // Without a watchdog it still sees the end of its stdin.
        guard.watch(program, Member { pid: leader, start }, &self.mark).ok()?;
        Some((program, self.mark.clone()))
    }

    /// Ends it and everything of it; what it wrote to stderr, and what is to be said.
    pub async fn end(mut self, limits: Deadlines, late: bool) -> (Captured, Vec<String>) {
        let mut remarks = Vec::new();
        let farewell = limits.before_kill(Instant::now() + FAREWELL);
        if late || !self.is_gone_by(farewell).await {
            self.signal(Signal::TERM);
            self.signal(Signal::CONT);
            let grace = limits.grace_end(Instant::now());
            if !self.is_gone_by(grace).await {
                remarks.push("the server had to be killed".to_owned());
                let sweep = limits.before_answer(Instant::now() + SWEEP);
                self.signal(Signal::KILL);
                while !self.is_gone_by(Instant::now()).await && Instant::now() < sweep {
                    self.signal(Signal::KILL);
                    sleep(LOOK).await;
                }
            }
        }
        let alive = self.members();
        if !alive.is_empty() {
            remarks.push(format!("leak: {} processes of the server cannot be killed", alive.len()));
        }
        self.reap();
        // What it wrote last is in the pipe.
        let _ = tokio::time::timeout(LOOK, &mut self.listener).await;
        (self.kept().clone(), remarks)
    }

    fn id(&self) -> i32 {
        self.pid.as_raw_nonzero().get()
    }

    fn kept(&self) -> MutexGuard<'_, Captured> {
        self.tail.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn members(&self) -> Vec<Member> {
        let session = Some(self.id());
        let (mark, since) = (self.mark.clone(), self.since);
        let kin = Kin { session, mark, since, ..Kin::default() };
        Snapshot::take().members(&kin)
    }

    /// Before anything is reaped: until then the group's number is ours.
    fn signal(&self, signal: Signal) {
        tree::signal_group(self.pid, signal);
        tree::signal_all(&self.members(), signal);
    }

    async fn is_gone_by(&self, until: Instant) -> bool {
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT | WaitIdOptions::NOHANG;
        loop {
            let exited = !matches!(waitid(WaitId::Pid(self.pid), options), Ok(None));
            if exited && self.members().is_empty() {
                return true;
            }
            if Instant::now() >= until {
                return false;
            }
            sleep(LOOK.min(until.saturating_duration_since(Instant::now()))).await;
        }
    }

    fn reap(&mut self) {
        self.reaped = true;
        // One that sits in the kernel cannot be waited for; it is init's once we are gone.
        let _ = waitid(WaitId::Pid(self.pid), WaitIdOptions::EXITED | WaitIdOptions::NOHANG);
        orphans::strike(self.pid);
    }
}

impl Drop for Server {
    /// However its call ended, it does not stay.
    fn drop(&mut self) {
        self.listener.abort();
        if !self.reaped {
            self.signal(Signal::KILL);
            spawn::reap(self.pid);
            orphans::strike(self.pid);
        }
    }
}

/// Reads to the end, so that it never waits for us, and keeps the last of it.
async fn keep_tail(stderr: Receiver, tail: Arc<Mutex<Captured>>) {
    let mut chunk = [0; 4096];
    while stderr.readable().await.is_ok() {
        match stderr.try_read(&mut chunk) {
            Ok(0) => return,
            Ok(count) => {
                let mut tail = tail.lock().unwrap_or_else(PoisonError::into_inner);
                tail.total += count as u64;
                tail.tail.extend_from_slice(chunk.get(..count).unwrap_or_default());
                let over = tail.tail.len().saturating_sub(TAIL);
                tail.tail.drain(..over);
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(_) => return,
        }
    }
}
