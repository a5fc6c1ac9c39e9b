//! An MCP server started for one call: in its own session, with the environment of hooks. All its
//! processes are killed when the call is over.

use std::io;
use std::os::fd::AsFd;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use gambrel_model::call::Call;
use gambrel_model::outcome::Captured;
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, waitid};
use tokio::net::unix::pipe::{Receiver, Sender};
use tokio::task::JoinHandle;
use tokio::time::sleep;

use super::action::SHUTDOWN_TIMEOUT;
use crate::command::prepare_command;
use crate::error::ActionError;
use gambrel_process::command::StartedProcess;
use gambrel_process::deadlines::Deadlines;
use gambrel_process::error::StartError;
use gambrel_process::orphans;
use gambrel_process::posix_spawn;
use gambrel_process::process::move_above_stdio;
use gambrel_process::process_table::{self, ProcessId, ProcessSet, ProcessTable};
use gambrel_process::settings::SWEEP_TIMEOUT;
use gambrel_process::watchdog_client::WatchdogClient;

/// The most bytes kept of its stderr, from the end.
const MAX_STDERR_BYTES: usize = 2048;
/// Between two checks whether it has ended.
const POLL_INTERVAL: Duration = Duration::from_millis(5);

/// A running server.
pub(super) struct McpServer {
    pid: Pid,
    since: u64,
    tag: String,
    stderr: Arc<Mutex<Captured>>,
    stderr_task: JoinHandle<()>,
    reaped: bool,
    /// The executed command.
    pub command: Vec<String>,
}

impl McpServer {
    /// Starts the server. Returns it with its stdout and stdin.
    pub fn start(call: &Call, isolate: bool) -> Result<(Self, (Receiver, Sender)), ActionError> {
        let mut command = prepare_command(call, true)?;
        command.isolate = isolate;
        command.kill_with_parent = isolate;
        let no_pipe = |error: io::Error| ActionError::Start(StartError::NoPipe(error));
        let pipe = || {
            pipe_with(PipeFlags::CLOEXEC).map(|(a, b)| (move_above_stdio(a), move_above_stdio(b)))
        };
        let (their_stdin, stdin) = pipe().map_err(|error| no_pipe(error.into()))?;
        let (stdout, their_stdout) = pipe().map_err(|error| no_pipe(error.into()))?;
        let (stderr, their_stderr) = pipe().map_err(|error| no_pipe(error.into()))?;
        let stdin = Sender::from_owned_fd(stdin).map_err(no_pipe)?;
        let stdout = Receiver::from_owned_fd(stdout).map_err(no_pipe)?;
        let stderr = Receiver::from_owned_fd(stderr).map_err(no_pipe)?;

        let streams =
            [Some(their_stdin.as_fd()), Some(their_stdout.as_fd()), Some(their_stderr.as_fd())];
        let since = process_table::ticks_now();
        let spawn_lock = orphans::lock_spawns();
        let StartedProcess { pid, command, tag } = command.start(streams)?;
        orphans::add_leader(pid, since);
        drop(spawn_lock);

        let stderr_tail = Arc::default();
        let stderr_task = tokio::spawn(keep_stderr_tail(stderr, Arc::clone(&stderr_tail)));
        let this =
            Self { pid, since, tag, stderr: stderr_tail, stderr_task, reaped: false, command };
        Ok((this, (stdout, stdin)))
    }

    /// Has it killed if this process dies. Returns the server's tag.
    pub fn register_with_watchdog(&self, watchdog: &WatchdogClient) -> Option<String> {
        let leader = self.raw_pid();
        let start = process_table::start_time(leader)?;
        // Without a watchdog it still sees EOF on its stdin.
        watchdog.watch_process(ProcessId { pid: leader, start }, &self.tag).ok()?;
        Some(self.tag.clone())
    }

    /// Ends the server and all its processes. Returns its stderr and remarks.
    pub async fn shut_down(mut self, deadlines: Deadlines, late: bool) -> (Captured, Vec<String>) {
        let mut remarks = Vec::new();
        let exit_deadline = deadlines.cap_at_kill(Instant::now() + SHUTDOWN_TIMEOUT);
        if late || !self.is_gone_by(exit_deadline).await {
            self.signal_processes(Signal::TERM);
            self.signal_processes(Signal::CONT);
            let grace = deadlines.grace_end(Instant::now());
            if !self.is_gone_by(grace).await {
                remarks.push("the server had to be killed".to_owned());
                let sweep = deadlines.cap_at_answer(Instant::now() + SWEEP_TIMEOUT);
                self.signal_processes(Signal::KILL);
                while !self.is_gone_by(Instant::now()).await && Instant::now() < sweep {
                    self.signal_processes(Signal::KILL);
                    sleep(POLL_INTERVAL).await;
                }
            }
        }

        let alive = self.find_members();
        if !alive.is_empty() {
            remarks.push(format!("leak: {} processes of the server cannot be killed", alive.len()));
        }
        self.reap_server();
        // Its last output is still in the pipe.
        let _ = tokio::time::timeout(POLL_INTERVAL, &mut self.stderr_task).await;
        (self.lock_stderr().clone(), remarks)
    }

    fn raw_pid(&self) -> i32 {
        self.pid.as_raw_nonzero().get()
    }

    fn lock_stderr(&self) -> MutexGuard<'_, Captured> {
        self.stderr.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn find_members(&self) -> Vec<ProcessId> {
        let session = Some(self.raw_pid());
        let (tag, since) = (self.tag.clone(), self.since);
        let processes = ProcessSet { session, tag, since, ..ProcessSet::default() };
        ProcessTable::read_proc().find_members(&processes)
    }

    /// Signals the group and all its processes. Called before anything is reaped: until then the
    /// group's number belongs to the server.
    fn signal_processes(&self, signal: Signal) {
        process_table::signal_group(self.pid, signal);
        process_table::signal_all(&self.find_members(), signal);
    }

    async fn is_gone_by(&self, until: Instant) -> bool {
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT | WaitIdOptions::NOHANG;
        loop {
            let exited = !matches!(waitid(WaitId::Pid(self.pid), options), Ok(None));
            if exited && self.find_members().is_empty() {
                return true;
            }
            if Instant::now() >= until {
                return false;
            }
            sleep(POLL_INTERVAL.min(until.saturating_duration_since(Instant::now()))).await;
        }
    }

    fn reap_server(&mut self) {
        self.reaped = true;
        // A process blocked in the kernel cannot be waited for; init reaps it after this process
        // ends.
        let _ = waitid(WaitId::Pid(self.pid), WaitIdOptions::EXITED | WaitIdOptions::NOHANG);
        orphans::remove_leader(self.pid);
    }
}

impl Drop for McpServer {
    /// Kills the server, however its call ended.
    fn drop(&mut self) {
        self.stderr_task.abort();
        if !self.reaped {
            self.signal_processes(Signal::KILL);
            posix_spawn::wait_for_exit(self.pid);
            orphans::remove_leader(self.pid);
        }
    }
}

/// Reads stderr to its end, so that the server never blocks, and keeps the last bytes.
async fn keep_stderr_tail(stderr: Receiver, tail: Arc<Mutex<Captured>>) {
    let mut chunk = [0; 4096];
    while stderr.readable().await.is_ok() {
        match stderr.try_read(&mut chunk) {
            Ok(0) => return,
            Ok(count) => {
                let mut tail = tail.lock().unwrap_or_else(PoisonError::into_inner);
                tail.total += count as u64;
                tail.tail.extend_from_slice(chunk.get(..count).unwrap_or_default());
                let over = tail.tail.len().saturating_sub(MAX_STDERR_BYTES);
                tail.tail.drain(..over);
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(_) => return,
        }
    }
}
