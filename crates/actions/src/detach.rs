//! Calls that nobody waits for: handed to a supervisor process that outlives us, or to a thread
//! in hosts that have none. We only wait to hear that the hook has started.

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
use rustix::pipe::{PipeFlags, pipe_with};
use serde::{Deserialize, Serialize};

use crate::guard::spawn_helper;
use crate::handover::Left;
use crate::process::{lift, unblock};
use crate::settings::{SUPERVISE_WORD, Settings};

/// How long a supervisor may take to tell us that the hook has started.
const PATIENCE: Duration = Duration::from_secs(2);

/// The first line that a supervisor reads; what the hook reads follows it as it is.
#[derive(Serialize, Deserialize)]
pub(crate) struct Order {
    /// The word of the action that runs it.
    pub action: String,
    pub call: Call,
    pub errand: Option<String>,
    pub stdin_length: Option<usize>,
    /// Of a hook that runs already: its pipes come with the supervisor's start, what was read of
    /// them after its stdin.
    #[serde(default)]
    pub left: Option<Left>,
    /// Whether the sender isolates its hooks, see [`Settings::isolate`].
    #[serde(default)]
    pub isolate: bool,
}

/// What a supervisor answers once.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Answer {
    /// The hook runs.
    Started(Vec<String>),
    /// It does not, and why.
    Unstarted(String),
}

/// A call on its way.
pub(crate) struct Sent {
    begun: Instant,
    way: Way,
}

/// Who has it.
pub(crate) enum Way {
    Supervisor(OwnedFd),
    Thread(Receiver<Answer>),
    Failed(String),
}

/// Runs a call to its end in a host without a supervisor, with word of its start.
pub(crate) type Here = Box<dyn FnOnce(Call, &mut dyn FnMut(Result<&[String], &str>)) + Send>;

/// Sends a call of an action away.
pub(crate) fn send(job: &Job<'_>, action: &str, settings: &Settings, here: Here) -> Sent {
    let Some(program) = &settings.supervisor else {
        return Sent::by(to_thread(job.call, here));
    };
    let stdin = job.call.stdin.as_deref();
    let order = Order {
        action: action.to_owned(),
        call: Call { stdin: None, ..job.call.clone() },
        errand: job.record.map(|errand| errand()),
        stdin_length: stdin.map(<[u8]>::len),
        left: None,
        isolate: settings.isolate,
    };
    Sent::to_supervisor(program, &order, stdin.unwrap_or_default(), &[]).unwrap_or_else(|error| {
        Sent::by(Way::Failed(format!("no supervisor: {}: {error}", program.display())))
    })
}

impl Sent {
    /// Just now.
    pub fn by(way: Way) -> Self {
        Self { begun: Instant::now(), way }
    }

    /// To a supervisor, which is started for it with `pipes` beside its own streams.
    pub fn to_supervisor(
        program: &Path,
        order: &Order,
        stdin: &[u8],
        pipes: &[Option<BorrowedFd<'_>>],
    ) -> io::Result<Self> {
        let begun = Instant::now();
        let (their_input, input) = pipe_with(PipeFlags::CLOEXEC)?;
        let (answers, their_output) = pipe_with(PipeFlags::CLOEXEC)?;
        let (their_input, input) = (lift(their_input), lift(input));
        let (answers, their_output) = (lift(answers), lift(their_output));
        let mut streams = vec![Some(their_input.as_fd()), Some(their_output.as_fd()), None];
        streams.extend_from_slice(pipes);
        spawn_helper(program, SUPERVISE_WORD, &streams)?;
        drop(their_input);
        let mut line = serde_json::to_vec(order)?;
        line.push(b'\n');
        unblock(&input);
        let until = begun + PATIENCE;
        let read = order.left.iter().flat_map(|left| &left.read).map(Vec::as_slice);
        for part in [&line, stdin].into_iter().chain(read) {
            push(&input, part, until)?;
        }
        Ok(Self { begun, way: Way::Supervisor(answers) })
    }

    /// Whether it stays in this process.
    pub fn is_here(&self) -> bool {
        matches!(self.way, Way::Thread(_))
    }

    /// Waits for word of its start, never longer than the patience since it was sent.
    pub fn confirm(self) -> Outcome {
        let until = self.begun + PATIENCE;
        let left = until.saturating_duration_since(Instant::now());
        let (answer, remark) = match self.way {
            Way::Failed(reason) => (Some(Answer::Unstarted(reason)), None),
            Way::Supervisor(pipe) => (receive(&pipe, until), None),
            Way::Thread(answers) => (
                answers.recv_timeout(left).ok(),
                Some("detach: no supervisor here; it ends with this process, unrecorded"),
            ),
        };
        let silent = answer.is_none().then_some("detach: no word of its start yet");
        let (end, command) = match answer {
            Some(Answer::Unstarted(reason)) => (End::FailedToStart(reason), Vec::new()),
            Some(Answer::Started(command)) => (End::Detached, command),
            None => (End::Detached, Vec::new()),
        };
        let remarks = remark.into_iter().chain(silent).map(str::to_owned).collect();
        Outcome { elapsed: self.begun.elapsed(), command, remarks, ..Outcome::from_end(end) }
    }
}

fn to_thread(call: &Call, here: Here) -> Way {
    let mut call = call.clone();
    call.limits.blocking = true;
    let (sender, answers) = channel();
    let work = move || {
        here(call, &mut |start| {
            // Only the first word is listened to.
            let _ = sender.send(Answer::of(start));
        });
    };
    match std::thread::Builder::new().name("detached hook".to_owned()).spawn(work) {
        Ok(_) => Way::Thread(answers),
        Err(error) => Way::Failed(format!("no thread for it: {error}")),
    }
}

impl Answer {
    /// Of the start of an attempt.
    pub fn of(start: Result<&[String], &str>) -> Self {
        match start {
            Ok(command) => Self::Started(command.to_vec()),
            Err(reason) => Self::Unstarted(reason.to_owned()),
        }
    }

    /// Writes it as the one line that the sender waits for.
    pub fn write(&self, mut output: impl Write) -> io::Result<()> {
        let mut line = serde_json::to_vec(self)?;
        line.push(b'\n');
        output.write_all(&line)
    }
}

fn push(pipe: &OwnedFd, mut bytes: &[u8], until: Instant) -> io::Result<()> {
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

fn receive(pipe: &OwnedFd, until: Instant) -> Option<Answer> {
    let mut line = Vec::with_capacity(1024);
    unblock(pipe);
    while await_ready(pipe, PollFlags::IN, until) {
        line.reserve(1024);
        match read(pipe, rustix::buffer::spare_capacity(&mut line)) {
            Ok(0) => {
                let gone = "the supervisor ended without starting it".to_owned();
                return serde_json::from_slice(&line).ok().or(Some(Answer::Unstarted(gone)));
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
