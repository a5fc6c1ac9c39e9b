//! The `module` action: which module a call means, one slot for each, one call at a time in each.

use std::collections::HashMap;
use std::ffi::OsString;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use gambrel_model::{Action, Call, End, Job, Limits, Outcome};

use crate::answer::{self, Whose};
use crate::berth::Berth;
use crate::request::{Request, Wish};
use crate::settings::ScriptSettings;
use crate::slot::{Slot, Turn};

const MAX_LOADED: usize = 64;

/// Runs hook modules written in TypeScript or JavaScript.
pub struct ModuleAction {
    settings: ScriptSettings,
    /// By the path's own bytes: they are hashed for every event.
    berths: Mutex<HashMap<OsString, Arc<Berth>>>,
}

impl ModuleAction {
    /// An action with no module loaded yet.
    pub fn new(settings: ScriptSettings) -> Self {
        Self { settings, berths: Mutex::default() }
    }

    /// Ends everything that modules have left running: programs, timers, sidecars. Without it
    /// programs may finish, each until its call's time is over. Modules are loaded again if they
    /// are called again.
    pub fn close(&self) {
        let berths =
            std::mem::take(&mut *self.berths.lock().unwrap_or_else(PoisonError::into_inner));
        let free = berths.into_values().filter_map(|berth| berth.take(Duration::ZERO));
        free.for_each(|(slot, _)| slot.end());
    }

    fn serve(&self, call: &Call) -> Outcome {
        let request = match Request::read(&call.body) {
            Ok(request) => request,
            Err(why) => return Outcome::from_end(End::FailedToStart(why)),
        };
        let berth = self.berth(request.path);
        let patience = call.limits.budget.unwrap_or(call.limits.timeout);
        let Some((mut slot, waited)) = berth.take(patience) else {
            let why = "the module was busy with another call until the deadline";
            return answer::late(why.into(), Vec::new());
        };
        let turn = Turn { call, pace: shortened(&call.limits, waited) };
        let served = catch_unwind(AssertUnwindSafe(|| {
            let outcome = slot.serve(&request, &turn, &self.settings);
            (outcome, slot)
        }));
        // After a bug of ours the slot may be half-changed: an empty one takes its place.
        let (outcome, slot) = served.unwrap_or_else(|_| {
            (broke(&request, "the engine failed on this module"), Slot::default())
        });
        berth.give(slot);
        outcome
    }

    fn berth(&self, path: &Path) -> Arc<Berth> {
        let mut berths = self.berths.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(berth) = berths.get(path.as_os_str()) {
            return Arc::clone(berth);
        }
        if berths.len() >= MAX_LOADED {
            // Those in use are held by somebody else as well.
            berths.retain(|_, berth| Arc::strong_count(berth) > 1);
        }
        Arc::clone(berths.entry(path.into()).or_default())
    }
}

/// A bug of ours. Who asked handlers is told of an error, as if one of them had thrown: a gate
/// stays shut.
fn broke(request: &Request<'_>, why: &str) -> Outcome {
    match request.wish {
        Wish::Emit(..) => {
            let whose = Whose { path: request.path, event: request.event() };
            answer::failed(why, "", Vec::new(), &whose, |_| None)
        }
        Wish::Read | Wish::Load | Wish::Command(..) => {
            Outcome::from_end(End::FailedToStart(why.to_owned()))
        }
    }
}

/// Whether the caller's budget ended it, not its own time.
fn cut(outcome: &Outcome, pace: &Limits, took: Duration) -> Option<String> {
    let first = pace.budget.is_some_and(|budget| budget < pace.timeout);
    let open = outcome.failure.iter().map(|fault| format!("; {fault}")).collect::<String>();
    (outcome.end == End::TimedOut && first).then(|| Outcome::budget_reason(took) + &open)
}

/// What is left of a pace after waiting for the module to be free.
fn shortened(pace: &Limits, waited: Duration) -> Limits {
    Limits {
        timeout: pace.timeout.saturating_sub(waited),
        budget: pace.budget.map(|budget| budget.saturating_sub(waited)),
        ..pace.clone()
    }
}

impl Action for ModuleAction {
    fn name(&self) -> &'static str {
        "module"
    }

    fn run(&self, jobs: &[Job<'_>]) -> Vec<Outcome> {
        at_once(jobs, |call| {
            let began = Instant::now();
            let outcome = self.serve(call);
            let took = began.elapsed();
            Outcome { elapsed: took, cut_short_by: cut(&outcome, &call.limits, took), ..outcome }
        })
    }
}

/// One call on this thread; of several, which do not wait for one another, each on its own.
pub fn at_once(jobs: &[Job<'_>], serve: impl Fn(&Call) -> Outcome + Sync) -> Vec<Outcome> {
    if let [job] = jobs {
        return vec![serve(job.call)];
    }
    let lost = |job: &Job<'_>| match Request::read(&job.call.body) {
        Ok(request) => broke(&request, "no thread for the module"),
        Err(why) => Outcome::from_end(End::FailedToStart(why)),
    };
    std::thread::scope(|scope| {
        let serve = &serve;
        let thread = |call| std::thread::Builder::new().spawn_scoped(scope, move || serve(call));
        let threads: Vec<_> = jobs.iter().map(|job| thread(job.call)).collect();
        let ended = threads.into_iter().map(|thread| thread.ok().and_then(|t| t.join().ok()));
        ended.zip(jobs).map(|(outcome, job)| outcome.unwrap_or_else(|| lost(job))).collect()
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_bug_of_ours_is_an_error_to_whoever_asked_handlers() {
        let emit = json!({"op": "emit", "path": "/m.ts", "event": {"type": "tool_call"}});
        let outcome = broke(&Request::read(&emit).unwrap(), "a bug");
        assert_eq!(outcome.end, End::Answered);
        let told =
            json!([{"hookPath": "/m.ts", "event": "tool_call", "error": "a bug", "at": null}]);
        assert_eq!(outcome.answer.unwrap()["errors"], told);
        let load = json!({"op": "load", "path": "/m.ts"});
        let outcome = broke(&Request::read(&load).unwrap(), "a bug");
        assert_eq!(outcome.end, End::FailedToStart("a bug".into()));
    }
}
