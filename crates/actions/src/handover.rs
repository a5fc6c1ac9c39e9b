//! A hook that asks, while it is waited for, to go on alone: it is given to a supervisor together
//! with its pipes, and reaped by us whenever it ends. It knows no retries and no verdict.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::mpsc::channel;
use std::time::Duration;

use gambrel_model::call::Call;
use gambrel_model::outcome::{End, Outcome};
use rustix::process::{Pid, Signal};
use serde::{Deserialize, Serialize};

use crate::attempt::Attempt;
use crate::batch;
use crate::detach::{Answer, Order, Sent, Way};
use crate::guard::{self, Guard};
use crate::orphans;
use crate::process::Process;
use crate::running::Running;
use crate::settings::Settings;
use crate::shell::NAME;
use crate::{spawn, tree};

/// The first descriptor that a supervisor has beyond its own three.
const FIRST: i32 = 3;
/// How many there are: the hook's stdin, stdout and stderr, our ends of them.
pub(crate) const PIPES: usize = 3;

/// What somebody must know of a running process that it did not start.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Left {
    pub pid: i32,
    /// When it started, so that no other of that number passes for it.
    pub start: u64,
    pub since: u64,
    pub mark: String,
    pub command: Vec<String>,
    /// Which of its pipes are open.
    pub open: [bool; PIPES],
    /// How much of stdout and stderr was read before.
    pub lengths: [usize; 2],
    /// What was read.
    #[serde(skip)]
    pub read: [Vec<u8>; 2],
}

/// A process with everything that its next owner needs.
pub(crate) struct Leaving {
    pub left: Left,
    pub pipes: [Option<OwnedFd>; PIPES],
    /// What is still to be written to its stdin.
    pub rest: Vec<u8>,
}

/// Gives it away; nobody waits for it from here on.
pub(crate) fn send(
    leaving: Leaving,
    call: &Call,
    errand: Option<&(dyn Fn() -> String + Sync)>,
    settings: &Settings,
) -> io::Result<Sent> {
    let Leaving { left, pipes, rest } = leaving;
    let Some(program) = &settings.supervisor else {
        let call = Call { stdin: Some(rest), ..call.clone() };
        return to_thread(call, left, pipes, settings.clone());
    };
    let pipes = pipes.each_ref().map(|pipe| pipe.as_ref().map(AsFd::as_fd));
    let order = Order {
        action: NAME.to_owned(),
        call: Call { stdin: None, ..call.clone() },
        errand: errand.map(|errand| errand()),
        stdin_length: Some(rest.len()),
        left: Some(left),
        isolate: settings.isolate,
    };
    Sent::to_supervisor(program, &order, &rest, &pipes)
}

/// Runs it to its end in a host that has no supervisor.
fn to_thread(
    call: Call,
    left: Left,
    pipes: [Option<OwnedFd>; PIPES],
    settings: Settings,
) -> io::Result<Sent> {
    let (sender, answers) = channel();
    let work = move || {
        adopt(&call, left, pipes, &settings, &mut |start| {
            // Only the first word is listened to.
            let _ = sender.send(Answer::of(start));
        });
    };
    std::thread::Builder::new().name("left hook".to_owned()).spawn(work)?;
    Ok(Sent::by(Way::Thread(answers)))
}

/// The pipes that a supervisor was started with.
pub(crate) fn inherited(left: &Left) -> [Option<OwnedFd>; PIPES] {
    let mut number = FIRST - 1;
    left.open.map(|open| {
        number += 1;
        open.then(|| spawn::inherited(number))
    })
}

/// Watches over it to its end, as if it had been started here.
pub(crate) fn adopt(
    call: &Call,
    left: Left,
    pipes: [Option<OwnedFd>; PIPES],
    settings: &Settings,
    on_start: batch::OnStart<'_>,
) -> Outcome {
    let guard = Guard::default();
    let command = left.command.clone();
    let process = match Process::adopted(call, left, pipes, settings) {
        Ok(process) => process,
        Err(reason) => {
            on_start(Err(&reason));
            return Outcome::from_end(End::FailedToStart(reason));
        }
    };
    let _running = Running::enter(settings, &process.mark);
    on_start(Ok(&command));
    let job = Attempt::adopted(call, process);
    let mut outcomes = batch::drive(vec![job], settings, &guard, &mut |_| {});
    let lost = || Outcome::from_end(End::FailedToStart("it was left running and lost".to_owned()));
    let mut outcome = outcomes.pop().unwrap_or_else(lost);
    if outcome.end == End::TimedOut {
        let cut = format!("left running, and not done after {}", seconds(call.limits.timeout));
        outcome.cut_short_by.get_or_insert(cut);
    }
    outcome
}

fn seconds(time: Duration) -> String {
    format!("{} s", time.as_secs_f64())
}

/// Hears whether somebody has taken it: if nobody has, it is ended here.
pub(crate) fn settle(pid: Pid, sent: Sent) -> Outcome {
    let here = sent.is_here();
    let outcome = sent.confirm();
    if matches!(outcome.end, End::FailedToStart(_)) {
        tree::signal_group(pid, Signal::KILL);
        spawn::reap(pid);
        orphans::strike(pid);
    } else if !here {
        guard::keep(pid);
        orphans::strike(pid);
    }
    outcome
}
