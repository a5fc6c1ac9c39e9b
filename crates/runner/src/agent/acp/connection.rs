//! The connection to an agent of the Agent Client Protocol: its process, and messages over its
//! stdin and stdout. One thread reads, one writes; both end with the process. It must not know what
//! a prompt or a permission is.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::fd::OwnedFd;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, SyncSender, TrySendError};
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use gambrel_model::text::truncate_chars;
use gambrel_model::{Call, Program, Shell};
use gambrel_process::group::ProcessGroup;
use gambrel_process::process::ProcessEnd;
use rustix::process::Signal;
use serde_json::Value;

use super::error::{AcpError, AcpResult};
use super::wire::{AgentLine, build_notification, build_request, parse_line, refuse_method};
use crate::context::RunContext;

/// The most bytes of one message.
const MAX_MESSAGE_BYTES: u64 = 8 << 20;
/// How many lines are read before the run has handled them.
const MAX_UNHANDLED_LINES: usize = 8;
/// How many messages wait for an agent that does not read.
const MAX_UNSENT_MESSAGES: usize = 1024;
/// How many lines may be something else than a message.
const MAX_NOISE_LINES: u32 = 1000;
/// How many bytes of stderr are kept, from the end.
const MAX_STDERR_BYTES: usize = 4096;
/// The most characters of an agent's last words in an error.
const MAX_LAST_WORDS: usize = 300;
/// How long an agent may take to end after its stdin was closed.
const EXIT_GRACE: Duration = Duration::from_millis(500);
/// How long it may take after SIGTERM.
const TERM_GRACE: Duration = Duration::from_secs(2);
/// How long its end, and the end of its stderr, may take to be known after its stdout was closed.
const CLOSED_GRACE: Duration = Duration::from_secs(5);
const EXIT_CHECK_INTERVAL: Duration = Duration::from_millis(5);

/// What reaches the run's thread.
pub enum AcpInput<T> {
    /// A line of the agent.
    Line(Vec<u8>),
    /// A line of the agent that is too long.
    LongLine,
    /// The agent has closed its stdout.
    Closed,
    /// The result of work that the run gave to another thread.
    Done(T),
}

/// What was received.
pub enum Received<T> {
    /// A line of the agent.
    Line(AgentLine),
    /// The result of work that the run gave to another thread.
    Done(T),
    /// Nothing in this time.
    Nothing,
}

/// A connection to an agent. Dropping it ends the agent and all its processes.
pub struct AcpConnection<T> {
    group: ProcessGroup,
    outgoing: Option<SyncSender<Vec<u8>>>,
    incoming: Receiver<AcpInput<T>>,
    sender: Sender<AcpInput<T>>,
    /// One for each line that was read and not handled.
    unhandled: Receiver<()>,
    /// Lines that came while the run did not take any.
    held: VecDeque<Vec<u8>>,
    stderr: Arc<Mutex<Vec<u8>>>,
    stderr_thread: JoinHandle<()>,
    next_id: u64,
    noise_lines: u32,
}

impl<T: Send + 'static> AcpConnection<T> {
    /// Starts the agent.
    pub fn start(
        context: &RunContext<'_>,
        command: &str,
        env: Vec<(String, String)>,
    ) -> AcpResult<Self> {
        let call = Call {
            program: Program::Shell { shell: Shell::BashOrSh, text: command.to_owned() },
            env,
            cwd: context.project.clone(),
            ..Call::default()
        };
        let (group, ends) = (context.start_agent)(&call).map_err(AcpError::NotStarted)?;
        let [Some(stdin), Some(stdout), Some(stderr)] = ends else {
            return Err(AcpError::NoPipes);
        };
        let (outgoing, unsent) = mpsc::sync_channel(MAX_UNSENT_MESSAGES);
        let (sender, incoming) = mpsc::channel();
        let (count, unhandled) = mpsc::sync_channel(MAX_UNHANDLED_LINES);
        let last_words = Arc::default();
        let (lines, kept) = (sender.clone(), Arc::clone(&last_words));
        // They end when the agent's processes are gone, or with this process.
        std::thread::spawn(move || write_messages(stdin, &unsent));
        std::thread::spawn(move || read_lines(stdout, &lines, &count));
        let stderr_thread = std::thread::spawn(move || keep_stderr(stderr, &kept));
        Ok(Self {
            group,
            outgoing: Some(outgoing),
            incoming,
            sender,
            unhandled,
            held: VecDeque::new(),
            stderr: last_words,
            stderr_thread,
            next_id: 0,
            noise_lines: 0,
        })
    }

    /// Whether the agent runs.
    pub fn is_alive(&self) -> bool {
        !self.group.has_exited()
    }

    /// Where other threads send the results of their work.
    pub fn results(&self) -> Sender<AcpInput<T>> {
        self.sender.clone()
    }

    /// Sends a request and returns its id.
    pub fn send_request(&mut self, method: &str, params: &Value) -> AcpResult<u64> {
        self.next_id += 1;
        self.send(&build_request(self.next_id, method, params))?;
        Ok(self.next_id)
    }

    /// Sends a notification.
    pub fn notify(&self, method: &str, params: &Value) -> AcpResult {
        self.send(&build_notification(method, params))
    }

    /// Sends a message. An agent that does not read is an error, not a wait.
    pub fn send(&self, message: &Value) -> AcpResult {
        let mut bytes = message.to_string().into_bytes();
        bytes.push(b'\n');
        let Some(outgoing) = &self.outgoing else { return Err(self.describe_end()) };
        outgoing.try_send(bytes).map_err(|error| match error {
            TrySendError::Full(_) => AcpError::Deaf,
            TrySendError::Disconnected(_) => self.describe_end(),
        })
    }

    /// Waits for the next line or result.
    pub fn receive(&mut self, timeout: Duration) -> AcpResult<Received<T>> {
        if let Some(line) = self.held.pop_front() {
            return self.handle_line(&line);
        }
        match self.receive_input(timeout)? {
            Some(AcpInput::Line(line)) => self.handle_line(&line),
            Some(AcpInput::Done(result)) => Ok(Received::Done(result)),
            _ => Ok(Received::Nothing),
        }
    }

    /// Waits for the next result only. The agent waits too, once a few of its lines are held.
    pub fn receive_result(&mut self, timeout: Duration) -> AcpResult<Received<T>> {
        match self.receive_input(timeout)? {
            Some(AcpInput::Line(line)) => {
                self.held.push_back(line);
                Ok(Received::Nothing)
            }
            Some(AcpInput::Done(result)) => Ok(Received::Done(result)),
            _ => Ok(Received::Nothing),
        }
    }

    fn receive_input(&self, timeout: Duration) -> AcpResult<Option<AcpInput<T>>> {
        match self.incoming.recv_timeout(timeout) {
            Ok(AcpInput::Closed) | Err(RecvTimeoutError::Disconnected) => Err(self.describe_end()),
            Ok(AcpInput::LongLine) => Err(AcpError::LongMessage(MAX_MESSAGE_BYTES >> 20)),
            Ok(input) => Ok(Some(input)),
            Err(RecvTimeoutError::Timeout) => Ok(None),
        }
    }

    fn handle_line(&mut self, line: &[u8]) -> AcpResult<Received<T>> {
        let _handled = self.unhandled.try_recv();
        let line = parse_line(line)?;
        if let AgentLine::Noise(text) = &line {
            self.noise_lines += 1;
            if self.noise_lines > MAX_NOISE_LINES {
                return Err(AcpError::Noise(text.clone()));
            }
        }
        Ok(Received::Line(line))
    }

    /// Sends a request and waits for its answer. Requests of the agent are refused meanwhile.
    pub fn call(
        &mut self,
        method: &'static str,
        params: &Value,
        timeout: Duration,
        is_interrupted: &dyn Fn() -> bool,
    ) -> AcpResult<Value> {
        let own = self.send_request(method, params)?;
        let end = Instant::now() + timeout;
        loop {
            if is_interrupted() {
                return Err(AcpError::Interrupted);
            }
            if Instant::now() >= end {
                return Err(AcpError::Late { method, seconds: timeout.as_secs() });
            }
            match self.receive(super::INTERRUPT_CHECK_INTERVAL)? {
                Received::Line(AgentLine::Response { id, result }) if id == own => {
                    return result.map_err(|error| AcpError::Refused { method, error });
                }
                Received::Line(AgentLine::Request { id, method, .. }) => {
                    self.send(&refuse_method(&id, &method))?;
                }
                _ => {}
            }
        }
    }

    /// How the agent ended, for an error.
    fn describe_end(&self) -> AcpError {
        if !wait_until(CLOSED_GRACE, || self.group.has_exited()) {
            let how = "it closed its output".to_owned();
            return AcpError::Ended { how, words: self.last_words() };
        }
        let how = match self.group.wait_for_exit() {
            Some(ProcessEnd::Exited(code)) => format!("it exited with code {code}"),
            Some(ProcessEnd::Signalled(signal)) => format!("signal {signal} ended it"),
            _ => "it ended".to_owned(),
        };
        // Its last words are in the pipe, which a process that it left may hold.
        self.group.kill_tree();
        wait_until(CLOSED_GRACE, || self.stderr_thread.is_finished());
        AcpError::Ended { how, words: self.last_words() }
    }

    /// The last line of what the agent wrote to stderr.
    fn last_words(&self) -> String {
        let stderr = self.stderr.lock().unwrap_or_else(PoisonError::into_inner);
        let text = String::from_utf8_lossy(&stderr);
        let line = text.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or_default();
        truncate_chars(line.trim(), MAX_LAST_WORDS, "…")
    }
}

impl<T> Drop for AcpConnection<T> {
    /// Ends the agent: an agent ends when its stdin is closed; what does not is killed.
    fn drop(&mut self) {
        self.outgoing = None;
        if !wait_until(EXIT_GRACE, || self.group.has_exited()) {
            self.group.signal_tree(Signal::TERM);
            wait_until(TERM_GRACE, || self.group.has_exited());
        }
        self.group.kill_tree();
        self.group.reap();
    }
}

/// Waits until something holds. False if the time is over.
fn wait_until(grace: Duration, holds: impl Fn() -> bool) -> bool {
    let end = Instant::now() + grace;
    while !holds() {
        if Instant::now() >= end {
            return false;
        }
        std::thread::sleep(EXIT_CHECK_INTERVAL);
    }
    true
}

fn write_messages(stdin: OwnedFd, messages: &Receiver<Vec<u8>>) {
    let mut stdin = File::from(stdin);
    while let Ok(message) = messages.recv() {
        if stdin.write_all(&message).is_err() {
            return;
        }
    }
}

/// Reads lines. It waits while too many of them are not handled, so that the agent waits too.
fn read_lines<T>(stdout: OwnedFd, lines: &Sender<AcpInput<T>>, unhandled: &SyncSender<()>) {
    let mut reader = BufReader::new(File::from(stdout));
    loop {
        let mut line = Vec::new();
        let read = reader.by_ref().take(MAX_MESSAGE_BYTES).read_until(b'\n', &mut line);
        let input = match read {
            Ok(0) | Err(_) => AcpInput::Closed,
            Ok(_) if line.len() as u64 >= MAX_MESSAGE_BYTES && !line.ends_with(b"\n") => {
                AcpInput::LongLine
            }
            Ok(_) if line.trim_ascii().is_empty() => continue,
            Ok(_) => AcpInput::Line(line),
        };
        let is_last = !matches!(input, AcpInput::Line(_));
        let is_gone = !is_last && unhandled.send(()).is_err();
        if is_gone || lines.send(input).is_err() || is_last {
            return;
        }
    }
}

/// Reads stderr to its end, so that the agent never blocks, and keeps the last bytes.
fn keep_stderr(stderr: OwnedFd, kept: &Mutex<Vec<u8>>) {
    let mut stderr = File::from(stderr);
    let mut chunk = [0; MAX_STDERR_BYTES];
    while let Ok(count) = stderr.read(&mut chunk) {
        if count == 0 {
            return;
        }
        let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.extend_from_slice(chunk.get(..count).unwrap_or_default());
        let over = kept.len().saturating_sub(MAX_STDERR_BYTES);
        kept.drain(..over);
    }
}
