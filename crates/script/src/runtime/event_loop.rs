//! The event loop of one call: runs pending jobs, then waits for a timer or a report, until the
//! call has a result or its time is over.

use std::sync::mpsc::Receiver;
use std::time::{Duration, Instant};

use rquickjs::{Ctx, Error, Function, Object, Value};
use serde_json::json;

use super::clock::{Clock, Tripwire};
use super::host_state::{Completion, HostState};
use crate::frontend::module_text::SCRIPT_GLOBAL;

const MAX_CATCH_UP_COUNT: usize = 64;
/// The longest single wait if there is no deadline.
const MAX_WAIT_TIMEOUT: Duration = Duration::from_secs(3600);

/// The error of a handler that waits while no operation is open.
pub const HANDLER_STUCK: &str = "the handler waits for something that can no longer happen";

/// Why a call has no result.
#[derive(Debug)]
pub enum Interrupted {
    /// Its time was over.
    TimedOut(String),
    /// No operation or timer is open that could continue it.
    Stuck,
    /// The engine itself threw (no memory, no stack).
    EngineError {
        /// The message of the exception.
        message: String,
        /// The stack of the exception.
        stack: String,
    },
}

impl Interrupted {
    /// Code that ran past the deadline.
    pub fn at_deadline() -> Self {
        Self::TimedOut("the module's code was interrupted at the deadline".into())
    }

    /// The exception that the engine threw.
    pub fn from_error(ctx: &Ctx<'_>, error: &Error) -> Self {
        let thrown: Value<'_> = match error {
            Error::Exception => ctx.catch(),
            other => return Self::EngineError { message: other.to_string(), stack: String::new() },
        };

        let field = |name: &str| thrown.as_object().and_then(|o| o.get::<_, String>(name).ok());
        let message = match field("message") {
            Some(message) => message,
            // The engine had no memory left for an exception object.
            None if thrown.is_null() => "out of memory".into(),
            None => thrown.as_string().and_then(|s| s.to_string().ok()).unwrap_or_default(),
        };

        Self::EngineError { message, stack: field("stack").unwrap_or_default() }
    }
}

/// Runs the loop until the call has a result, and returns its text.
pub fn run_until_result(
    ctx: &Ctx<'_>,
    state: &HostState,
    completions: &Receiver<Completion>,
    clock: &mut Clock,
) -> Result<String, Interrupted> {
    loop {
        clock.run_code(|wire| run_jobs(ctx, wire))?;
        if state.take_handler_start() {
            clock.renew_active_time();
        }

        if let Some(text) = state.take_call_result() {
            return Ok(text);
        }
        if clock.is_over(state.is_asking()) {
            return Err(Interrupted::TimedOut(
                "the deadline passed while the module waited".into(),
            ));
        }

        if let Some(completion) = next_ready(state, completions) {
            deliver_completion(ctx, state, completion, clock)?;
        } else if !state.has_open_work() {
            return Err(Interrupted::Stuck);
        } else if let Some(completion) = wait_for_completion(state, completions, clock) {
            deliver_completion(ctx, state, completion, clock)?;
        }
    }
}

/// Runs the jobs that remain after a call has its answer, and reports their errors.
pub fn run_remaining_jobs(ctx: &Ctx<'_>, tripwire: &Tripwire) -> Result<(), Interrupted> {
    if run_jobs(ctx, tripwire)? == 0 {
        return Ok(());
    }

    let script: rquickjs::Result<Object<'_>> = ctx.globals().get(SCRIPT_GLOBAL);
    let reported = script.and_then(|hidden| hidden.get::<_, Function<'_>>("tell")?.call(()));
    reported.map_err(|error| Interrupted::from_error(ctx, &error))
}

/// Delivers the reports since the last call, without waiting.
pub fn catch_up(
    ctx: &Ctx<'_>,
    state: &HostState,
    completions: &Receiver<Completion>,
    clock: &mut Clock,
) -> Result<(), Interrupted> {
    for _ in 0..MAX_CATCH_UP_COUNT {
        let Some(completion) = next_ready(state, completions) else { break };
        deliver_completion(ctx, state, completion, clock)?;
        clock.run_code(|wire| run_jobs(ctx, wire))?;
    }
    Ok(())
}

/// Runs all pending jobs and returns their number.
fn run_jobs(ctx: &Ctx<'_>, tripwire: &Tripwire) -> Result<u32, Interrupted> {
    let mut ran = 0_u32;
    while ctx.execute_pending_job() {
        ran = ran.wrapping_add(1);
        // Short jobs may never reach the engine's own check of the tripwire.
        if tripwire.has_tripped() || (ran.is_multiple_of(64) && tripwire.check_deadline()) {
            return Err(Interrupted::at_deadline());
        }
    }
    // A synchronous wait for a program checks nothing: its result may come too late.
    if tripwire.check_deadline() { Err(Interrupted::at_deadline()) } else { Ok(ran) }
}

fn next_ready(state: &HostState, completions: &Receiver<Completion>) -> Option<Completion> {
    match state.take_due_timer() {
        Some(id) => Some(Completion { id, result: json!({ "ok": null }), last: true }),
        None => completions.try_recv().ok(),
    }
}

fn wait_for_completion(
    state: &HostState,
    completions: &Receiver<Completion>,
    clock: &mut Clock,
) -> Option<Completion> {
    let began = Instant::now();
    let asking = state.is_asking();
    let until = [clock.wait_deadline(asking), state.next_due()].into_iter().flatten().min();

    let timeout = until.map_or(MAX_WAIT_TIMEOUT, |at| at.saturating_duration_since(began));
    let completion =
        state.settings.heartbeat.while_waiting(|| completions.recv_timeout(timeout).ok());
    if !asking {
        clock.charge_time(began.elapsed());
    }
    completion
}

fn deliver_completion(
    ctx: &Ctx<'_>,
    state: &HostState,
    completion: Completion,
    clock: &mut Clock,
) -> Result<(), Interrupted> {
    if completion.last {
        state.close_operation(completion.id);
    }

    let text = completion.result.to_string();
    let done = clock.run_code(|wire| {
        let script: Object<'_> = ctx.globals().get(SCRIPT_GLOBAL)?;
        let receive: Function<'_> = script.get("deliver")?;
        let done = receive.call::<_, ()>((completion.id, text, completion.last));
        Ok::<_, Error>((done, wire.check_deadline()))
    });

    match done {
        Ok((_, true)) => Err(Interrupted::at_deadline()),
        Ok((Ok(()), _)) => Ok(()),
        Ok((Err(error), _)) | Err(error) => {
            // A timer's callback threw. No code awaits it, so report a warning.
            if let Interrupted::EngineError { message, .. } = Interrupted::from_error(ctx, &error) {
                state.add_warning(&format!("a callback failed: {message}"));
            }
            Ok(())
        }
    }
}
