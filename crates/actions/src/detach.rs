//! Detached calls: each goes to a supervisor process that outlives this one, or to a thread in
//! hosts without a supervisor. The sender waits only for the report of the hook's start.

use std::io::{self, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use gambrel_model::action::Job;
use gambrel_model::call::Call;
use gambrel_model::outcome::{End, Outcome};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::{Errno, read, write};
use serde::{Deserialize, Serialize};

use crate::batch::OnStart;
use crate::error::ActionError;
use gambrel_process::process::{RunningChild, open_pipe, set_nonblocking};
use gambrel_process::settings::{SUPERVISE_WORD, Settings};
use gambrel_process::watchdog_client::spawn_helper;

/// How long a supervisor may take to report the hook's start.
const START_TIMEOUT: Duration = Duration::from_secs(2);

/// The first line that a supervisor reads. The hook's stdin follows it.
#[derive(Serialize, Deserialize)]
pub(crate) struct SupervisorRequest {
    /// The name of the action that runs the call.
    pub action: String,
    pub call: Call,
    #[serde(rename = "errand")]
    pub record: Option<String>,
    pub stdin_length: Option<usize>,
    /// A hook that already runs. The supervisor inherits its pipes; the output read so far follows
    /// the stdin.
    #[serde(default, rename = "left")]
    pub child: Option<RunningChild>,
    /// Whether the sender isolates its hooks, see [`Settings::isolate`].
    #[serde(default)]
    pub isolate: bool,
}

/// The supervisor's only answer.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum SupervisorAnswer {
    /// The hook runs, with this command.
    Started(Vec<String>),
    /// The hook does not run, and why.
    #[serde(rename = "unstarted")]
    FailedToStart(String),
}

/// A call that was sent and has not yet reported its start.
pub(crate) struct PendingStart {
    sent_at: Instant,
    via: StartVia,
}

/// How a call was sent.
pub(crate) enum StartVia {
    Supervisor(OwnedFd),
    Thread(Receiver<SupervisorAnswer>),
    Failed(String),
}

/// Runs a call to its end in a host without a supervisor, and reports its start.
pub(crate) type RunInThread = Box<dyn FnOnce(Call, OnStart<'_>) + Send>;

/// Sends a call to a supervisor or a thread.
pub(crate) fn send_call(
    job: &Job<'_>,
    action: &str,
    settings: &Settings,
    run_in_thread: RunInThread,
) -> PendingStart {
    let Some(program) = &settings.supervisor else {
        let mut call = job.call.clone();
        call.limits.blocking = true;
        let via = StartVia::thread(|on_start| run_in_thread(call, on_start));
        let failed = |error| StartVia::Failed(format!("no thread for the hook: {error}"));
        return PendingStart::new(via.unwrap_or_else(failed));
    };
    let stdin = job.call.stdin.as_ref().map(|bytes| bytes.as_slice());
    let request = SupervisorRequest {
        action: action.to_owned(),
        call: Call { stdin: None, ..job.call.clone() },
        record: job.record.map(|record| record()),
        stdin_length: stdin.map(<[u8]>::len),
        child: None,
        isolate: settings.isolate,
    };
    PendingStart::start_supervisor(program, &request, stdin.unwrap_or_default(), &[])
        .unwrap_or_else(|error| {
            PendingStart::new(StartVia::Failed(format!(
                "the supervisor `{}` could not start: {error}",
                program.display()
            )))
        })
}

impl PendingStart {
    /// Records that a call was sent now.
    pub fn new(via: StartVia) -> Self {
        Self { sent_at: Instant::now(), via }
    }

    /// Starts a supervisor for a request, with `pipes` beside its own streams.
    pub fn start_supervisor(
        program: &Path,
        request: &SupervisorRequest,
        stdin: &[u8],
        pipes: &[Option<BorrowedFd<'_>>],
    ) -> io::Result<Self> {
        let sent_at = Instant::now();

        let (their_input, input) = open_pipe()?;
        let (answers, their_output) = open_pipe()?;

        let mut streams = vec![Some(their_input.as_fd()), Some(their_output.as_fd()), None];
        streams.extend_from_slice(pipes);
        spawn_helper(program, SUPERVISE_WORD, &streams)?;
        drop(their_input);

        let mut line = serde_json::to_vec(request)?;
        line.push(b'\n');
        set_nonblocking(&input);
        let until = sent_at + START_TIMEOUT;
        let read_before = request.child.iter().flat_map(|child| &child.read).map(Vec::as_slice);
        for part in [&line, stdin].into_iter().chain(read_before) {
            write_until(&input, part, until)?;
        }
        Ok(Self { sent_at, via: StartVia::Supervisor(answers) })
    }

    /// Whether the call runs in this process.
    pub fn is_in_process(&self) -> bool {
        matches!(self.via, StartVia::Thread(_))
    }

    /// Waits for the report of the start, at most the start timeout after it was sent.
    pub fn confirm_start(self) -> Outcome {
        let until = self.sent_at + START_TIMEOUT;
        let left = until.saturating_duration_since(Instant::now());

        let (answer, remark) = match self.via {
            StartVia::Failed(reason) => (Some(SupervisorAnswer::FailedToStart(reason)), None),
            StartVia::Supervisor(pipe) => (receive_answer(&pipe, until), None),
            StartVia::Thread(answers) => (
                answers.recv_timeout(left).ok(),
                Some(
                    "detach: no supervisor here; the hook ends with this process and is not recorded",
                ),
            ),
        };
        let unreported =
            answer.is_none().then_some("detach: the supervisor has not reported the start yet");
        let (end, command) = match answer {
            Some(SupervisorAnswer::FailedToStart(reason)) => {
                (End::FailedToStart(reason), Vec::new())
            }
            Some(SupervisorAnswer::Started(command)) => (End::Detached, command),
            None => (End::Detached, Vec::new()),
        };

        let remarks = remark.into_iter().chain(unreported).map(str::to_owned).collect();
        Outcome { elapsed: self.sent_at.elapsed(), command, remarks, ..Outcome::from_end(end) }
    }
}

impl StartVia {
    /// Runs a hook on a thread of this process.
    pub fn thread(work: impl FnOnce(OnStart<'_>) + Send + 'static) -> io::Result<Self> {
        let (sender, answers) = channel();
        let work = move || {
            work(&mut |start| {
                // Only the first report counts.
                let _ = sender.send(SupervisorAnswer::from_start(start));
            });
        };
        std::thread::Builder::new().name("detached hook".to_owned()).spawn(work)?;
        Ok(Self::Thread(answers))
    }
}

impl SupervisorAnswer {
    /// From the report of a start.
    pub fn from_start(start: Result<&[String], &ActionError>) -> Self {
        match start {
            Ok(command) => Self::Started(command.to_vec()),
            Err(reason) => Self::FailedToStart(reason.to_string()),
        }
    }

    /// Writes it as one line.
    pub fn write_line(&self, mut output: impl Write) -> io::Result<()> {
        let mut line = serde_json::to_vec(self)?;
        line.push(b'\n');
        output.write_all(&line)
    }
}

fn write_until(pipe: &OwnedFd, mut bytes: &[u8], until: Instant) -> io::Result<()> {
    while !bytes.is_empty() {
        match write(pipe, bytes) {
            Ok(count) => bytes = bytes.get(count..).unwrap_or_default(),
            Err(Errno::INTR) => {}
            Err(Errno::AGAIN) if await_ready(pipe, PollFlags::OUT, until) => {}
            Err(Errno::AGAIN) => return Err(io::ErrorKind::TimedOut.into()),
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

fn receive_answer(pipe: &OwnedFd, until: Instant) -> Option<SupervisorAnswer> {
    let mut line = Vec::with_capacity(1024);
    set_nonblocking(pipe);
    while await_ready(pipe, PollFlags::IN, until) {
        line.reserve(1024);
        match read(pipe, rustix::buffer::spare_capacity(&mut line)) {
            Ok(0) => {
                let reason = "the supervisor ended without starting the hook".to_owned();
                return serde_json::from_slice(&line)
                    .ok()
                    .or(Some(SupervisorAnswer::FailedToStart(reason)));
            }
            Ok(_) if line.ends_with(b"\n") => return serde_json::from_slice(&line).ok(),
            Ok(_) | Err(Errno::INTR | Errno::AGAIN) => {}
            Err(_) => return None,
        }
    }
    None
}

fn await_ready(pipe: &OwnedFd, flags: PollFlags, until: Instant) -> bool {
    loop {
        let left = until.saturating_duration_since(Instant::now());
        let timeout = Timespec {
            tv_sec: i64::try_from(left.as_secs()).unwrap_or(i64::MAX),
            tv_nsec: left.subsec_nanos().into(),
        };
        match poll(&mut [PollFd::new(pipe, flags)], Some(&timeout)) {
            Ok(count) => return count > 0,
            Err(Errno::INTR) => {}
            Err(_) => return false,
        }
    }
}
