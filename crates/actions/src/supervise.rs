//! The supervisor process: runs one detached call under its own limits and passes the outcome to
//! the program's `record` function.

use std::fs::OpenOptions;
use std::io::{BufRead, BufReader, Read};
use std::os::fd::AsFd;
use std::sync::Arc;

use gambrel_model::action::{Action, Job};
use gambrel_model::call::Call;
use gambrel_model::outcome::Outcome;

use crate::detach::{SupervisorAnswer, SupervisorRequest};
use crate::error::{ActionError, ActionResult};
use crate::handoff;
use crate::shell::{NAME as SHELL, ShellAction};
use gambrel_process::posix_spawn;
use gambrel_process::process::RunningChild;
use gambrel_process::settings::Settings;

/// Entry point of the re-executed program after the word [`crate::SUPERVISE_WORD`]. Reads one
/// request, runs its call, reports the start on stdout, and passes the request's record and the
/// outcome to `record`.
pub fn supervise_main(
    input: impl Read,
    settings: &Settings,
    actions: &[&dyn Action],
    record: &mut dyn FnMut(&str, &Outcome),
) {
    // Already a session leader when gambrel started it; by hand it may not be.
    let _ = rustix::process::setsid();

    let request = match read_request(input) {
        Ok(order) => order,
        Err(why) => return send_answer(&SupervisorAnswer::FailedToStart(why.to_string())),
    };

    // No other process would kill this hook if the supervisor is killed, so the watchdog gets it at
    // once.
    let isolate = settings.isolate || request.isolate;
    let settings = &Settings { watch_at_once: true, isolate, ..settings.clone() };

    let outcome = match (request.child, request.action.as_str()) {
        (Some(child), _) => adopt_hook(&request.call, child, settings),
        (None, SHELL) => run_shell(&request.call, settings),
        (None, name) => run_action(&request.call, name, actions),
    };
    record(request.record.as_deref().unwrap_or_default(), &outcome);
}

fn run_shell(call: &Call, settings: &Settings) -> Outcome {
    // All children of a supervisor belong to its hook, whatever the sender's settings.
    let action = ShellAction::new(Settings { subreaper: true, ..settings.clone() });
    let mut answered = false;
    action.run_one(call, &mut |start| {
        if !answered {
            answered = true;
            send_answer(&SupervisorAnswer::from_start(start));
        }
    })
}

/// Takes over a hook that the sender has already started.
fn adopt_hook(call: &Call, child: RunningChild, settings: &Settings) -> Outcome {
    let pipes = handoff::take_inherited_pipes(&child);
    handoff::run_adopted(call, child, pipes, settings, &mut |start| {
        send_answer(&SupervisorAnswer::from_start(start))
    })
}

/// An action without a process counts as started once its call has arrived.
fn run_action(call: &Call, name: &str, actions: &[&dyn Action]) -> Outcome {
    let Some(action) = actions.iter().find(|action| action.name() == name) else {
        let why = format!("no action `{name}` is built in");
        send_answer(&SupervisorAnswer::FailedToStart(why.clone()));
        return Outcome::failed_to_start(why);
    };

    send_answer(&SupervisorAnswer::Started(vec![name.to_owned()]));
    let no_outcome = || Outcome::failed_to_start("the action returned no outcome");
    action.run(&[Job { call, record: None }]).pop().unwrap_or_else(no_outcome)
}

fn read_request(input: impl Read) -> ActionResult<SupervisorRequest> {
    let mut input = BufReader::new(input);
    let mut line = Vec::new();
    input.read_until(b'\n', &mut line).map_err(ActionError::NoRequest)?;
    let mut request: SupervisorRequest =
        serde_json::from_slice(&line).map_err(|error| ActionError::NoRequest(error.into()))?;

    request.call.limits.blocking = true;
    // No caller waits here, so the hook cannot detach a second time.
    request.call.async_marker = None;

    let mut read_part = |length: usize| {
        let mut bytes = vec![0; length];
        input.read_exact(&mut bytes).map(|()| bytes).map_err(ActionError::NoRequest)
    };
    request.call.stdin = request.stdin_length.map(&mut read_part).transpose()?.map(Arc::new);
    if let Some(child) = &mut request.child {
        let [stdout, stderr] = child.lengths;
        child.read = [read_part(stdout)?, read_part(stderr)?];
    }
    Ok(request)
}

/// Sends the answer and closes the pipe, so that a sender that waits for its end can continue.
fn send_answer(answer: &SupervisorAnswer) {
    // The call runs even if the sender is gone.
    let _ = answer.write_line(std::io::stdout().lock());
    if let Ok(null) = OpenOptions::new().write(true).open("/dev/null") {
        posix_spawn::redirect_stdout(null.as_fd());
    }
}
