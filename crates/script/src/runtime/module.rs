//! One module across calls: its files, and its instance while that is usable. Reads the files again
//! after a change, and discards an instance that was interrupted.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use gambrel_model::{Call, End, Limits, Outcome};
use serde_json::{Value, json};

use super::answer::{self, CallSite};
use super::clock::Clock;
use super::console;
use super::engine::{CallResult, Invocation};
use super::event_loop::{self, Interrupted};
use super::host_state::CallEnv;
use super::instance::{Instance, LoadFailure, load_message};
use super::unknown_keys;
use crate::frontend::{Graph, LoadError};
use crate::request::{HostOperation, ModuleRequest};
use crate::settings::ScriptSettings;

/// Added to a call that ended before the user answered.
const QUESTION_OPEN: &str = "a question to the user is still open: see `gambrel approvals`";
/// The error of a factory that waits while no operation is open.
const MODULE_STUCK: &str = "the module waits for something that can no longer happen";

/// How long a module counts as unchanged after a call has compared its files. Nobody writes a file
/// in less time, and a call that finds its module loaded takes a quarter of it.
const COMPARISON_INTERVAL: Duration = Duration::from_micros(20);

/// A module and its loaded state.
#[derive(Default)]
pub struct CachedModule {
    graph: Option<Arc<Graph>>,
    /// When a call that last compared the files began.
    compared_at: Option<Instant>,
    instance: Option<Instance>,
}

/// A call that has the module for itself.
pub struct PendingCall<'a> {
    /// The call.
    pub call: &'a Call,
    /// The limits that remain for it.
    pub limits: Limits,
    /// When it got the module.
    pub began: Instant,
}

impl CachedModule {
    /// Handles a request. Adds warnings and console output to the outcome.
    pub fn handle_call(
        &mut self,
        request: &ModuleRequest<'_>,
        pending: &PendingCall<'_>,
        settings: &ScriptSettings,
    ) -> Outcome {
        let mut outcome = self.run_request(request, pending, settings);
        if let Some(answer) = &mut outcome.answer {
            unknown_keys::warn_unknown_keys(request, answer);
            // Most calls have no effects.
            if answer["effects"].as_array().is_none_or(Vec::is_empty) {
                return outcome;
            }
            let effects = answer["effects"].take();
            console::record_console(&mut outcome, effects.as_array().map_or(&[], Vec::as_slice));
            if let Some(answer) = &mut outcome.answer {
                answer["effects"] = effects;
            }
        }
        outcome
    }

    fn run_request(
        &mut self,
        request: &ModuleRequest<'_>,
        pending: &PendingCall<'_>,
        settings: &ScriptSettings,
    ) -> Outcome {
        let graph = match self.load_graph(request.path, pending) {
            Ok(graph) => graph,
            Err(error) => return answer::unloadable_outcome(&with_load_prefix(error)),
        };

        if matches!(request.operation, HostOperation::Read) {
            return answer::answered_outcome(read_answer(&graph));
        }

        let has_handler = request.events().any(|event| !graph.has_no_handler_for(event));
        if request.event().is_some() && !has_handler {
            return no_handler_outcome(request);
        }

        let call_env = build_call_env(request, pending.call);
        let (instance, mut clock) = match self.instance.take() {
            Some(instance) => {
                instance.state().set_call_env(call_env);
                let clock = instance.start_clock(&pending.limits);
                (instance, clock)
            }
            None => match Instance::load_module(
                request.path,
                &graph,
                settings,
                call_env,
                &pending.limits,
            ) {
                Ok(loaded) => loaded,
                Err(LoadFailure::Failed(error, effects)) => {
                    let mut outcome = answer::unloadable_outcome(&error);
                    console::record_console(&mut outcome, &effects);
                    return outcome;
                }
                Err(LoadFailure::TimedOut(why, effects)) => {
                    return load_timeout_outcome(request, why, effects);
                }
                Err(LoadFailure::Stuck(effects)) => return load_stuck_outcome(request, effects),
            },
        };

        let (mut outcome, unusable) = dispatch_call(&instance, &graph, request, &mut clock);
        if !unusable {
            let leftover_time = pending.limits.leftover_timeout.unwrap_or(pending.limits.timeout);
            outcome.remarks.extend(report_leftovers(&instance, leftover_time, pending.began));
        }
        self.instance = (!unusable).then_some(instance);
        outcome
    }

    /// Ends everything that the module left running.
    pub fn end_programs(self) {
        if let Some(instance) = &self.instance {
            instance.state().programs.revoke_leftovers();
        }
    }

    fn load_graph(
        &mut self,
        path: &Path,
        pending: &PendingCall<'_>,
    ) -> Result<Arc<Graph>, LoadError> {
        if let Some(graph) = &self.graph {
            let age = self.compared_at.map(|at| pending.began.saturating_duration_since(at));
            let is_recent = age.is_some_and(|age| age < COMPARISON_INTERVAL);
            if is_recent || graph.is_fresh() {
                if !is_recent {
                    self.compared_at = Some(pending.began);
                }
                return Ok(Arc::clone(graph));
            }
        }

        (self.instance, self.graph, self.compared_at) = (None, None, None);
        let graph = Arc::new(Graph::read_module(path, pending.call.trusted_files.as_ref())?);
        self.graph = Some(Arc::clone(&graph));
        Ok(graph)
    }
}

/// The outcome, and whether the instance must not be used again.
fn dispatch_call(
    instance: &Instance,
    graph: &Graph,
    request: &ModuleRequest<'_>,
    clock: &mut Clock,
) -> (Outcome, bool) {
    let policy = request.policy_json();
    let call_result = match &request.operation {
        HostOperation::Read | HostOperation::Load => {
            return (registrations_outcome(instance, clock), false);
        }
        HostOperation::Emit(event, _) => {
            // Faster than `Display`. Serializing a `Value` cannot fail.
            let event = serde_json::to_string(event).unwrap_or_default();
            instance
                .invoke_module(&Invocation::Emit(&event, &policy, request.catches_errors()), clock)
        }
        HostOperation::Command(name, args) => {
            instance.invoke_module(&Invocation::Command(name, args, &policy), clock)
        }
    };

    let effects = instance.state().take_effects();
    let locate = |stack: &str| graph.source_position(stack);
    let site = CallSite { path: request.path, event: request.event() };

    match call_result {
        Ok(CallResult::SingleResult(result)) => {
            (answer::answered_outcome(answer::single_answer(result, true, effects)), false)
        }
        Ok(CallResult::Report(text)) => {
            let (answer, unusable) = answer::parse_report(&text, effects, &site, locate);
            (answer::answered_outcome(answer), unusable)
        }
        Ok(CallResult::PartialReport(text)) => {
            (answer::answered_outcome(answer::parse_report(&text, effects, &site, locate).0), true)
        }
        Err(Interrupted::TimedOut(why)) => {
            let open = instance.state().is_asking().then(|| QUESTION_OPEN.to_owned());
            (Outcome { failure: open, ..answer::timed_out_outcome(why, effects) }, true)
        }
        Err(Interrupted::Stuck) => {
            (answer::failed_outcome(event_loop::HANDLER_STUCK, "", effects, &site, locate), true)
        }
        Err(Interrupted::EngineError { message, stack }) => {
            (answer::failed_outcome(&message, &stack, effects, &site, locate), true)
        }
    }
}

/// After a successful call: running programs may finish. Returns a remark that names them.
fn report_leftovers(
    instance: &Instance,
    leftover_time: Duration,
    began: Instant,
) -> Option<String> {
    let programs = &instance.state().programs;
    let names = programs.allow_leftovers(leftover_time.saturating_sub(began.elapsed()));
    let (es, verb) = if names.len() == 1 { ("", "runs") } else { ("es", "run") };
    let remark = format!("leak: {} process{es} still {verb} ({})", names.len(), names.join(", "));
    (!names.is_empty()).then_some(remark)
}

/// What the text of a module shows, without running it: the events that it registers for, if none
/// is computed.
fn read_answer(graph: &Graph) -> Value {
    let mut answer = answer::empty_answer();
    if let Some(events) = graph.registered_events() {
        answer["events"] = events.iter().map(|name| json!({"name": name})).collect();
    }
    answer
}

fn registrations_outcome(instance: &Instance, clock: &mut Clock) -> Outcome {
    let mut answer = instance.list_registrations(clock).unwrap_or_else(|| json!({}));
    answer["effects"] = Value::Array(instance.state().take_effects());
    answer::answered_outcome(answer)
}

fn no_handler_outcome(request: &ModuleRequest<'_>) -> Outcome {
    let names: Vec<&str> = request.events().collect();
    let why = format!("it has no handler for {}", names.join(" or "));
    Outcome { remarks: vec![why], ..Outcome::from_end(End::NotApplicable) }
}

/// The outcome of a factory that did not finish. An event times out, so that a gate fails; any
/// other operation reports that the module cannot be loaded.
fn load_timeout_outcome(request: &ModuleRequest<'_>, why: String, effects: Vec<Value>) -> Outcome {
    let error = with_load_prefix(LoadError::new(why, request.path, None));
    match request.operation {
        HostOperation::Emit(..) => answer::timed_out_outcome(error.message, effects),
        HostOperation::Read | HostOperation::Load | HostOperation::Command(..) => {
            answer::unloadable_outcome(&error)
        }
    }
}

/// The outcome of a factory that waits for something that can no longer happen. This is an error,
/// not a timeout.
fn load_stuck_outcome(request: &ModuleRequest<'_>, effects: Vec<Value>) -> Outcome {
    let error = with_load_prefix(LoadError::new(MODULE_STUCK, request.path, None));
    match request.operation {
        HostOperation::Emit(..) => {
            let site = CallSite { path: request.path, event: request.event() };
            answer::failed_outcome(&error.message, "", effects, &site, |_| error.at.clone())
        }
        HostOperation::Read | HostOperation::Load | HostOperation::Command(..) => {
            answer::unloadable_outcome(&error)
        }
    }
}

fn with_load_prefix(error: LoadError) -> LoadError {
    LoadError { message: load_message(&error.message), ..error }
}

fn build_call_env(request: &ModuleRequest<'_>, call: &Call) -> CallEnv {
    let cwd = match request.ctx["cwd"].as_str() {
        Some(cwd) if !cwd.is_empty() => PathBuf::from(cwd),
        _ => call.cwd.clone(),
    };
    let (env, unset, reachable) = (call.env.clone(), call.remove_env.clone(), request.reachable());
    CallEnv { cwd, env, unset, reachable }
}
