//! An MCP server started for one call: in its own session, with the environment of hooks. All its
//! processes are killed when the call is over.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use gambrel_model::call::Call;
use gambrel_model::outcome::Captured;
use rustix::process::Signal;
use tokio::net::unix::pipe::{Receiver, Sender};
use tokio::task::{JoinHandle, spawn_blocking};
use tokio::time::{sleep, timeout, timeout_at};

use super::action::SHUTDOWN_TIMEOUT;
use crate::command::prepare_command;
use crate::error::{ActionError, ActionResult};
use gambrel_process::deadlines::Deadlines;
use gambrel_process::error::StartError;
use gambrel_process::group::ProcessGroup;
use gambrel_process::owner::{ProcessOwner, StreamEnd};
use gambrel_process::settings::SWEEP_TIMEOUT;

/// The most bytes kept of its stderr, from the end.
const MAX_STDERR_BYTES: usize = 2048;
/// Between two checks whether it has ended.
const POLL_INTERVAL: Duration = Duration::from_millis(5);

/// A running server. Dropping it kills all its processes.
pub(super) struct McpServer {
    group: ProcessGroup,
    stderr: Arc<Mutex<Captured>>,
    stderr_task: JoinHandle<()>,
}

impl McpServer {
    /// Starts the server. Returns it with its stdout and stdin.
    pub fn start(
        call: &Call,
        owner: &ProcessOwner,
        isolate: bool,
    ) -> ActionResult<(Self, (Receiver, Sender))> {
        let mut command = prepare_command(call, true)?;
        command.isolate = isolate;
        command.kill_with_parent = isolate;
        let pipes = [StreamEnd::Pipe, StreamEnd::Pipe, StreamEnd::Pipe];
        let (group, [stdin, stdout, stderr]) = owner.start(command, pipes, None)?;

        let no_pipe = |error| ActionError::Start(StartError::NoPipe(error));
        let stdin = open_pipe(stdin, Sender::from_owned_fd).map_err(no_pipe)?;
        let stdout = open_pipe(stdout, Receiver::from_owned_fd).map_err(no_pipe)?;
        let stderr = open_pipe(stderr, Receiver::from_owned_fd).map_err(no_pipe)?;
        let stderr_tail = Arc::default();
        let stderr_task = tokio::spawn(keep_stderr_tail(stderr, Arc::clone(&stderr_tail)));
        Ok((Self { group, stderr: stderr_tail, stderr_task }, (stdout, stdin)))
    }

    /// The executed command.
    pub fn command(&self) -> Vec<String> {
        self.group.command().to_vec()
    }

    /// Ends the server and all its processes. Returns its stderr and remarks.
    pub async fn shut_down(mut self, deadlines: Deadlines, late: bool) -> (Captured, Vec<String>) {
        let mut remarks = Vec::new();
        let exit_deadline = deadlines.cap_at_kill(Instant::now() + SHUTDOWN_TIMEOUT);
        if late || !self.is_gone_by(exit_deadline).await {
            self.group.signal_tree(Signal::TERM);
            self.group.signal_tree(Signal::CONT);
            if !self.is_gone_by(deadlines.grace_end(Instant::now())).await {
                remarks.push("the server had to be killed".to_owned());
            }
        }

        let sweep = deadlines.cap_at_answer(Instant::now() + SWEEP_TIMEOUT);
        let group = self.group.clone();
        // A process blocked in the kernel cannot be waited for, and must not hold up the answer.
        let reap = spawn_blocking(move || {
            group.kill_tree();
            group.reap();
        });
        if timeout_at(sweep.into(), reap).await.is_err() && self.group.has_members() {
            remarks.push("leak: processes of the server cannot be killed".to_owned());
        }
        // Its last output is still in the pipe.
        let _ = timeout(POLL_INTERVAL, &mut self.stderr_task).await;
        (self.stderr.lock().unwrap_or_else(PoisonError::into_inner).clone(), remarks)
    }

    async fn is_gone_by(&self, until: Instant) -> bool {
        loop {
            if self.group.has_exited() && !self.group.has_members() {
                return true;
            }
            if Instant::now() >= until {
                return false;
            }
            sleep(POLL_INTERVAL.min(until.saturating_duration_since(Instant::now()))).await;
        }
    }
}

impl Drop for McpServer {
    /// Kills the server, however its call ended.
    fn drop(&mut self) {
        self.stderr_task.abort();
        if !self.group.is_swept() {
            self.group.kill_tree();
        }
    }
}

fn open_pipe<T>(end: Option<OwnedFd>, open: impl Fn(OwnedFd) -> io::Result<T>) -> io::Result<T> {
    open(end.ok_or(io::ErrorKind::BrokenPipe)?)
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
