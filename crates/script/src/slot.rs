//! One module over many calls: its text, and its seat while that is good. Reads the files again
//! when they have changed, and never uses an engine again that was interrupted.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use gambrel_model::{Call, End, Limits, Outcome, TrustedFiles};
use serde_json::{Value, json};

use crate::answer::{self, Whose};
use crate::clock::Clock;
use crate::console;
use crate::desk::Surround;
use crate::engine::{Said, Told};
use crate::graph::{Graph, LoadError};
use crate::request::{Request, Wish};
use crate::seat::{Refused, Seat};
use crate::settings::ScriptSettings;
use crate::turn::{self, Halt};
use crate::unknown_keys;

/// Said of a call that ended before a person answered.
const ASKED: &str = "a person is still being asked: see `gambrel approvals`";
const STUCK: &str = "nothing that the module waits for can happen any more";

/// A module as we know it.
#[derive(Default)]
pub struct Slot {
    graph: Option<Arc<Graph>>,
    seat: Option<Seat>,
}

/// A call whose turn it is.
pub struct Turn<'a> {
    /// The call.
    pub call: &'a Call,
    /// What is left of its pace.
    pub pace: Limits,
}

impl Slot {
    /// Does what a request asks. What went wrong beside the answer, and what the module printed, is
    /// on record whoever calls.
    pub fn serve(
        &mut self,
        request: &Request<'_>,
        turn: &Turn<'_>,
        settings: &ScriptSettings,
    ) -> Outcome {
        let mut outcome = self.answer(request, turn, settings);
        if let Some(answer) = &mut outcome.answer {
            unknown_keys::warn(request, answer);
            let effects = answer["effects"].take();
            console::record(&mut outcome, effects.as_array().map_or(&[], Vec::as_slice));
            if let Some(answer) = &mut outcome.answer {
                answer["effects"] = effects;
            }
        }
        outcome
    }

    fn answer(
        &mut self,
        request: &Request<'_>,
        turn: &Turn<'_>,
        settings: &ScriptSettings,
    ) -> Outcome {
        let began = Instant::now();
        let graph = match self.graph(request.path, turn.call.trusted_files.as_ref()) {
            Ok(graph) => graph,
            Err(error) => return answer::unstarted(&prefixed(error)),
        };
        if matches!(request.wish, Wish::Read) {
            return answer::answered(answer::nothing());
        }
        if request.event().is_some() && request.events().all(|event| graph.never_hears(event)) {
            let names: Vec<&str> = request.events().collect();
            let why = format!("it has no handler for {}", names.join(" or "));
            return Outcome { remarks: vec![why], ..Outcome::from_end(End::NotApplicable) };
        }
        let surround = surround(request, turn.call);
        let (seat, mut clock) = match self.seat.take() {
            Some(seat) => {
                seat.desk().place(surround);
                let clock = seat.clock(&turn.pace);
                (seat, clock)
            }
            None => match Seat::take(request.path, &graph, settings, surround, &turn.pace) {
                Ok(taken) => taken,
                Err(Refused::Bad(error, effects)) => {
                    let mut outcome = answer::unstarted(&error);
                    console::record(&mut outcome, &effects);
                    return outcome;
                }
                Err(Refused::Late(why, effects)) => return unfinished(request, why, effects),
                Err(Refused::Stuck(effects)) => return never_finished(request, effects),
            },
        };
        let (mut outcome, spoiled) = fulfil(&seat, &graph, request, &mut clock);
        if !spoiled {
            let time = turn.pace.leftover_timeout.unwrap_or(turn.pace.timeout);
            outcome.remarks.extend(left(&seat, time.saturating_sub(began.elapsed())));
        }
        self.seat = (!spoiled).then_some(seat);
        outcome
    }

    /// Ends everything that the module has left running.
    pub fn end(self) {
        if let Some(seat) = &self.seat {
            seat.desk().keeper.recall();
        }
    }

    fn graph(&mut self, path: &Path, seal: Option<&TrustedFiles>) -> Result<Arc<Graph>, LoadError> {
        if let Some(graph) = self.graph.as_ref().filter(|graph| graph.fresh()) {
            return Ok(Arc::clone(graph));
        }
        self.seat = None;
        self.graph = None;
        let graph = Arc::new(Graph::read(path, seal)?);
        self.graph = Some(Arc::clone(&graph));
        Ok(graph)
    }
}

/// The outcome, and whether the seat must not be used again.
fn fulfil(seat: &Seat, graph: &Graph, request: &Request<'_>, clock: &mut Clock) -> (Outcome, bool) {
    let terms = request.terms();
    let ended = match &request.wish {
        Wish::Read | Wish::Load => return (listed(seat, clock), false),
        Wish::Emit(event, _) => {
            // Faster than its `Display`; a value that was read can be written.
            let event = serde_json::to_string(event).unwrap_or_default();
            seat.call(&Said::Emit(&event, &terms, request.forgives()), clock)
        }
        Wish::Command(name, args) => seat.call(&Said::Command(name, args, &terms), clock),
    };
    let effects = seat.desk().take_effects();
    let place = |stack: &str| graph.place(stack);
    let whose = Whose { path: request.path, event: request.event() };
    match ended {
        Ok(Told::Result(result)) => (answer::answered(answer::one(result, effects)), false),
        Ok(Told::Report(text)) => {
            let (answer, spoiled) = answer::read(&text, effects, &whose, place);
            (answer::answered(answer), spoiled)
        }
        Ok(Told::Rest(text)) => {
            (answer::answered(answer::read(&text, effects, &whose, place).0), true)
        }
        Err(Halt::Late(why)) => {
            let open = seat.desk().asking().then(|| ASKED.to_owned());
            (Outcome { failure: open, ..answer::late(why, effects) }, true)
        }
        Err(Halt::Stuck) => (answer::failed(turn::STUCK, "", effects, &whose, place), true),
        Err(Halt::Broken { message, stack }) => {
            (answer::failed(&message, &stack, effects, &whose, place), true)
        }
    }
}

/// After a call that ended well: what it has started and does not wait for may finish its work.
fn left(seat: &Seat, time: Duration) -> Option<String> {
    let names = seat.desk().keeper.part(time);
    let (es, verb) = if names.len() == 1 { ("", "runs") } else { ("es", "run") };
    let told = format!("leak: {} process{es} still {verb} ({})", names.len(), names.join(", "));
    (!names.is_empty()).then_some(told)
}

fn listed(seat: &Seat, clock: &mut Clock) -> Outcome {
    let mut answer = seat.listed(clock).unwrap_or_else(|| json!({}));
    answer["effects"] = Value::Array(seat.desk().take_effects());
    answer::answered(answer)
}

/// A factory that did not end. Who asked for an answer is told that it is late, so that a gate
/// fails as late ones do; who only wanted the module is told that it cannot be loaded.
fn unfinished(request: &Request<'_>, why: String, effects: Vec<Value>) -> Outcome {
    let error = prefixed(LoadError::new(why, request.path, None));
    match request.wish {
        Wish::Emit(..) => answer::late(error.message, effects),
        Wish::Read | Wish::Load | Wish::Command(..) => answer::unstarted(&error),
    }
}

/// The same for one that waits for what cannot happen: no time has passed, so it is not late.
fn never_finished(request: &Request<'_>, effects: Vec<Value>) -> Outcome {
    let error = prefixed(LoadError::new(STUCK, request.path, None));
    match request.wish {
        Wish::Emit(..) => {
            let whose = Whose { path: request.path, event: request.event() };
            answer::failed(&error.message, "", effects, &whose, |_| error.at.clone())
        }
        Wish::Read | Wish::Load | Wish::Command(..) => answer::unstarted(&error),
    }
}

fn prefixed(error: LoadError) -> LoadError {
    LoadError { message: format!("Failed to load hook: {}", error.message), ..error }
}

fn surround(request: &Request<'_>, call: &Call) -> Surround {
    let cwd = match request.ctx["cwd"].as_str() {
        Some(cwd) if !cwd.is_empty() => PathBuf::from(cwd),
        _ => call.cwd.clone(),
    };
    let (env, unset, reachable) = (call.env.clone(), call.remove_env.clone(), request.reachable());
    Surround { cwd, env, unset, reachable }
}
