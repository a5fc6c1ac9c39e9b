//! The `module` action: finds the module of a call, and runs one call at a time in each module.

use std::collections::HashMap;
use std::ffi::OsString;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use gambrel_model::{Action, Call, CutShort, End, Job, Limits, Outcome};

use crate::request::{HostOperation, ModuleRequest};
use crate::runtime::answer::{self, CallSite};
use crate::runtime::{CachedModule, ModuleMutex, PendingCall};
use crate::settings::ScriptSettings;

const MAX_LOADED_MODULES: usize = 64;

/// Runs hook modules written in TypeScript or JavaScript.
pub struct ModuleAction {
    settings: ScriptSettings,
    /// Keyed by the path's bytes, which are cheap to hash for every event.
    modules: Mutex<HashMap<OsString, Arc<ModuleMutex>>>,
}

impl ModuleAction {
    /// An action with no module loaded yet.
    pub fn new(settings: ScriptSettings) -> Self {
        Self { settings, modules: Mutex::default() }
    }

    /// Ends everything that modules left running: programs, timers, sidecars. Without this call,
    /// programs may run until their call's timeout. The next call of a module loads it again.
    pub fn close(&self) {
        let modules =
            std::mem::take(&mut *self.modules.lock().unwrap_or_else(PoisonError::into_inner));
        let free = modules.into_values().filter_map(|lock| lock.acquire(Duration::ZERO));
        free.for_each(|(module, _)| module.end_programs());
    }

    fn run_call(&self, call: &Call, began: Instant) -> Outcome {
        let request = match ModuleRequest::parse(&call.body) {
            Ok(request) => request,
            Err(why) => return Outcome::from_end(End::FailedToStart(why.to_string())),
        };

        let lock = self.find_module(request.path);
        let timeout = call.limits.budget.unwrap_or(call.limits.timeout);
        let Some((mut module, waited)) = lock.acquire(timeout) else {
            let why = "the module was busy with another call until the deadline";
            return answer::timed_out_outcome(why.into(), Vec::new());
        };

        let limits = subtract_wait(&call.limits, waited);
        let pending = PendingCall { call, limits, began: began + waited };
        let result = catch_unwind(AssertUnwindSafe(|| {
            let outcome = module.handle_call(&request, &pending, &self.settings);
            (outcome, module)
        }));

        // After a panic the module may be half-changed: an empty one replaces it.
        let (outcome, module) = result.unwrap_or_else(|_| {
            (
                internal_failure(&request, "the engine failed on this module"),
                CachedModule::default(),
            )
        });
        lock.release(module);
        outcome
    }

    fn find_module(&self, path: &Path) -> Arc<ModuleMutex> {
        let mut modules = self.modules.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(lock) = modules.get(path.as_os_str()) {
            return Arc::clone(lock);
        }

        if modules.len() >= MAX_LOADED_MODULES {
            // A call in progress holds a second reference.
            modules.retain(|_, lock| Arc::strong_count(lock) > 1);
        }

        Arc::clone(modules.entry(path.into()).or_default())
    }
}

/// The outcome of a failure inside gambrel. For an event it is a handler's error, so that a gate
/// stays closed.
fn internal_failure(request: &ModuleRequest<'_>, why: &str) -> Outcome {
    match request.operation {
        HostOperation::Emit(..) => {
            let site = CallSite { path: request.path, event: request.event() };
            answer::failed_outcome(why, "", Vec::new(), &site, |_| None)
        }
        HostOperation::Read | HostOperation::Load | HostOperation::Command(..) => {
            Outcome::from_end(End::FailedToStart(why.to_owned()))
        }
    }
}

/// Why the call was cut short, if the caller's budget ended it before its own timeout.
fn budget_reason(outcome: &Outcome, limits: &Limits, elapsed: Duration) -> Option<CutShort> {
    let budget_first = limits.budget.is_some_and(|budget| budget < limits.timeout);
    let budget = CutShort::Budget(elapsed);
    (outcome.end == End::TimedOut && budget_first).then(|| match &outcome.failure {
        Some(failure) => CutShort::Other(format!("{budget}; {failure}")),
        None => budget,
    })
}

/// The limits that remain after waiting for the module.
fn subtract_wait(limits: &Limits, waited: Duration) -> Limits {
    Limits {
        timeout: limits.timeout.saturating_sub(waited),
        budget: limits.budget.map(|budget| budget.saturating_sub(waited)),
        ..limits.clone()
    }
}

impl Action for ModuleAction {
    fn name(&self) -> &'static str {
        "module"
    }

    fn run(&self, jobs: &[Job<'_>]) -> Vec<Outcome> {
        run_in_parallel(jobs, |call| {
            let began = Instant::now();
            let outcome = self.run_call(call, began);
            let elapsed = began.elapsed();
            Outcome {
                elapsed,
                cut_short_by: budget_reason(&outcome, &call.limits, elapsed),
                ..outcome
            }
        })
    }
}

/// Runs a single call on this thread, and several calls on one thread each.
pub fn run_in_parallel(
    jobs: &[Job<'_>],
    run_call: impl Fn(&Call) -> Outcome + Sync,
) -> Vec<Outcome> {
    if let [job] = jobs {
        return vec![run_call(job.call)];
    }

    let no_thread = |job: &Job<'_>| match ModuleRequest::parse(&job.call.body) {
        Ok(request) => internal_failure(&request, "cannot start a thread for the module"),
        Err(why) => Outcome::from_end(End::FailedToStart(why.to_string())),
    };

    std::thread::scope(|scope| {
        let run_call = &run_call;
        let thread = |call| std::thread::Builder::new().spawn_scoped(scope, move || run_call(call));
        let threads: Vec<_> = jobs.iter().map(|job| thread(job.call)).collect();
        let ended = threads.into_iter().map(|thread| thread.ok().and_then(|t| t.join().ok()));
        ended.zip(jobs).map(|(outcome, job)| outcome.unwrap_or_else(|| no_thread(job))).collect()
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_internal_failure_is_a_handler_error() {
        let emit = json!({"op": "emit", "path": "/m.ts", "event": {"type": "tool_call"}});
        let outcome = internal_failure(&ModuleRequest::parse(&emit).unwrap(), "a bug");
        assert_eq!(outcome.end, End::Answered);
        let expected =
            json!([{"hookPath": "/m.ts", "event": "tool_call", "error": "a bug", "at": null}]);
        assert_eq!(outcome.answer.unwrap()["errors"], expected);

        let load = json!({"op": "load", "path": "/m.ts"});
        let outcome = internal_failure(&ModuleRequest::parse(&load).unwrap(), "a bug");
        assert_eq!(outcome.end, End::FailedToStart("a bug".into()));
    }
}
