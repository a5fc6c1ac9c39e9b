//! The supervisor process: runs one call for a caller that has gone on, under the same terms as
//! if it were waited for, and hands the outcome to whoever composes the program.

use std::fs::OpenOptions;
use std::io::{BufRead, BufReader, Read};
use std::os::fd::AsFd;

use gambrel_model::action::{Action, Job};
use gambrel_model::call::Call;
use gambrel_model::outcome::{End, Outcome};

use crate::detach::{Answer, Order};
use crate::handover::{self, Left};
use crate::settings::Settings;
use crate::shell::{NAME as SHELL, ShellAction};
use crate::spawn;

/// What the re-executed program does after the word [`crate::SUPERVISE_WORD`]: runs the call that
/// it reads by its action, tells on stdout that it has started, and gives its errand and outcome to
/// `record`.
pub fn supervise_main(
    input: impl Read,
    settings: &Settings,
    actions: &[&dyn Action],
    record: &mut dyn FnMut(&str, &Outcome),
) {
    // Already so when started by us; by hand it may not be.
    let _ = rustix::process::setsid();
    let order = match receive(input) {
        Ok(order) => order,
        Err(reason) => return answer(&Answer::Unstarted(reason)),
    };
    // Nobody else would end what runs here, should this process be killed.
    let isolate = settings.isolate || order.isolate;
    let settings = &Settings { watch_at_once: true, isolate, ..settings.clone() };
    let outcome = match (order.left, order.action.as_str()) {
        (Some(left), _) => by_adoption(&order.call, left, settings),
        (None, SHELL) => by_shell(&order.call, settings),
        (None, word) => by_action(&order.call, word, actions),
    };
    record(order.errand.as_deref().unwrap_or_default(), &outcome);
}

fn by_shell(call: &Call, settings: &Settings) -> Outcome {
    // All children of this process are its hook's, whatever the settings of its starter.
    let action = ShellAction::new(Settings { subreaper: true, ..settings.clone() });
    let mut told = false;
    action.run_one(call, &mut |start| {
        if !told {
            told = true;
            answer(&Answer::of(start));
        }
    })
}

/// What runs already was started by somebody who has gone on.
fn by_adoption(call: &Call, left: Left, settings: &Settings) -> Outcome {
    let pipes = handover::inherited(&left);
    handover::adopt(call, left, pipes, settings, &mut |start| answer(&Answer::of(start)))
}

/// An action without a process of its own has started once we have its call.
fn by_action(call: &Call, word: &str, actions: &[&dyn Action]) -> Outcome {
    let Some(action) = actions.iter().find(|action| action.name() == word) else {
        let why = format!("no action `{word}` is built in");
        answer(&Answer::Unstarted(why.clone()));
        return Outcome::from_end(End::FailedToStart(why));
    };
    answer(&Answer::Started(vec![word.to_owned()]));
    let lost = || Outcome::from_end(End::FailedToStart("it did not report".to_owned()));
    action.run(&[Job { call, record: None }]).pop().unwrap_or_else(lost)
}

fn receive(input: impl Read) -> Result<Order, String> {
    let broken =
        |error: &dyn std::fmt::Display| format!("the supervisor was told nothing: {error}");
    let mut input = BufReader::new(input);
    let mut line = Vec::new();
    input.read_until(b'\n', &mut line).map_err(|error| broken(&error))?;
    let mut order: Order = serde_json::from_slice(&line).map_err(|error| broken(&error))?;
    order.call.limits.blocking = true;
    // Nobody waits for it here, so nobody need be told to stop.
    order.call.async_marker = None;
    let mut part = |length: usize| {
        let mut part = vec![0; length];
        input.read_exact(&mut part).map(|()| part).map_err(|error| broken(&error))
    };
    order.call.stdin = order.stdin_length.map(&mut part).transpose()?;
    if let Some(left) = &mut order.left {
        let [stdout, stderr] = left.lengths;
        left.read = [part(stdout)?, part(stderr)?];
    }
    Ok(order)
}

/// Says it once and lets go of the pipe, so that a starter who waits for its end is free.
fn answer(answer: &Answer) {
    // A starter that has gone does not change what is to be done.
    let _ = answer.write(std::io::stdout().lock());
    if let Ok(null) = OpenOptions::new().write(true).open("/dev/null") {
        spawn::redirect_stdout(null.as_fd());
    }
}
