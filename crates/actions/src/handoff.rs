//! Hand-off of a running hook that asked to continue in the background (`{"async": true}`). A
//! supervisor takes the process and its pipes; this process only reaps it.

use std::io;
use std::os::fd::{AsFd, OwnedFd};

use gambrel_model::call::Call;
use gambrel_model::outcome::{CutShort, End, Outcome};
use rustix::process::{Pid, Signal};

use crate::attempt::Attempt;
use crate::batch;
use crate::detach::{PendingStart, StartVia, SupervisorRequest};
use crate::error::ActionError;
use crate::outcome::{tee_file, time_limits};
use crate::shell::NAME;
use gambrel_process::orphans;
use gambrel_process::process::{Handoff, PIPE_COUNT, Process, RunningChild};
use gambrel_process::running_file::RunningEntry;
use gambrel_process::settings::Settings;
use gambrel_process::watchdog_client::{self, WatchdogClient};
use gambrel_process::{posix_spawn, process_table};

/// The first descriptor after a supervisor's own three.
const FIRST_PIPE_FD: i32 = 3;
/// Hands a running process to a supervisor, or to a thread in hosts without one.
pub(crate) fn hand_off(
    handoff: Handoff,
    call: &Call,
    record: Option<&(dyn Fn() -> String + Sync)>,
    settings: &Settings,
) -> io::Result<PendingStart> {
    let Handoff { child, pipes, stdin_rest } = handoff;
    let Some(program) = &settings.supervisor else {
        let call = Call { stdin: Some(stdin_rest.into()), ..call.clone() };
        let settings = settings.clone();
        let via = StartVia::thread(move |on_start| {
            run_adopted(&call, child, pipes, &settings, on_start);
        })?;
        return Ok(PendingStart::new(via));
    };

    let pipes = pipes.each_ref().map(|pipe| pipe.as_ref().map(AsFd::as_fd));
    let request = SupervisorRequest {
        action: NAME.to_owned(),
        call: Call { stdin: None, ..call.clone() },
        record: record.map(|record| record()),
        stdin_length: Some(stdin_rest.len()),
        child: Some(child),
        isolate: settings.isolate,
    };
    PendingStart::start_supervisor(program, &request, &stdin_rest, &pipes)
}

/// The pipes that this supervisor inherited.
pub(crate) fn take_inherited_pipes(child: &RunningChild) -> [Option<OwnedFd>; PIPE_COUNT] {
    let mut number = FIRST_PIPE_FD - 1;
    child.open.map(|open| {
        number += 1;
        open.then(|| posix_spawn::take_inherited_fd(number))
    })
}

/// Runs it to its end, as if this process had started it.
pub(crate) fn run_adopted(
    call: &Call,
    left: RunningChild,
    pipes: [Option<OwnedFd>; PIPE_COUNT],
    settings: &Settings,
    on_start: batch::OnStart<'_>,
) -> Outcome {
    let watchdog = WatchdogClient::new(settings.supervisor.clone());
    let command = left.command.clone();
    let unwritten = call.stdin.as_ref().map_or(&[][..], |bytes| bytes.as_slice());
    let limits = time_limits(&call.limits);
    let Some(process) = Process::adopt(left, pipes, unwritten, &limits, settings) else {
        let reason = ActionError::EndedBeforeHandoff;
        on_start(Err(&reason));
        return Outcome::failed_to_start(reason);
    };
    let process = process.with_leak_record(call.leak_record.as_deref()).with_tee(tee_file(call));
    let _running = RunningEntry::register_process(settings, &process.tag);
    on_start(Ok(&command));

    let attempt = Attempt::from_adopted(call, process);
    let mut outcomes = batch::drive_attempts(vec![attempt], settings, &watchdog, &mut |_| {});
    let no_outcome = || Outcome::failed_to_start("the process was handed over and lost");
    let mut outcome = outcomes.pop().unwrap_or_else(no_outcome);
    if outcome.end == End::TimedOut {
        let reason = format!(
            "left running in the background, and not ended after {} s",
            call.limits.timeout.as_secs_f64()
        );
        outcome.cut_short_by.get_or_insert(CutShort::Other(reason));
    }
    outcome
}

/// Waits until the supervisor has taken the process. If it has not, kills the process.
pub(crate) fn confirm_handoff(pid: Pid, pending: PendingStart) -> Outcome {
    let in_process = pending.is_in_process();
    let outcome = pending.confirm_start();
    if matches!(outcome.end, End::FailedToStart(_)) {
        process_table::signal_group(pid, Signal::KILL);
        posix_spawn::wait_for_exit(pid);
        orphans::remove_leader(pid);
    } else if !in_process {
        watchdog_client::add_helper(pid);
        orphans::remove_leader(pid);
    }
    outcome
}
