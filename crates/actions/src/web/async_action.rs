//! Runs a batch of asynchronous calls: one runtime for the batch and one task for each call. A
//! panic in one task ends that call only.

use std::collections::HashMap;
use std::future::Future;
use std::sync::Arc;
use std::time::{Duration, Instant};

use gambrel_model::action::Job;
use gambrel_model::call::Call;
use gambrel_model::outcome::{CutShort, End, Outcome};
use tokio::runtime::{Builder, Handle};
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::error::RequestError;
use crate::detach::{self, PendingStart, RunInThread};
use gambrel_process::settings::{Settings, SignalPolicy};
use gambrel_process::signals::is_interrupted;
use gambrel_process::watchdog_client;

/// Between two looks for a signal.
const SIGNAL_INTERVAL: Duration = Duration::from_millis(50);

/// An action that runs its calls as tasks.
pub(crate) trait AsyncAction: Sized + Send + Sync + 'static {
    /// The action's name.
    const NAME: &'static str;

    /// The settings for detached calls.
    fn settings(&self) -> &Settings;

    /// The call in the form in which it is detached.
    fn detached_call(&self, call: &Call) -> Call {
        call.clone()
    }

    /// Checks a detached call before it is sent.
    fn check_call(&self, _call: &Call) -> Result<(), RequestError> {
        Ok(())
    }

    /// Runs one call to its end.
    fn execute(self: Arc<Self>, call: Call) -> impl Future<Output = Outcome> + Send;

    /// Runs all jobs at once; detached ones are sent first.
    fn run_jobs(self: &Arc<Self>, jobs: &[Job<'_>]) -> Vec<Outcome> {
        watchdog_client::reap_helpers();
        let detach = |job: &Job<'_>| self.check_call(job.call).map(|()| send_detached(self, job));
        let sent: Vec<Option<Result<PendingStart, RequestError>>> =
            jobs.iter().map(|job| (!job.call.limits.blocking).then(|| detach(job))).collect();

        let blocking = jobs.iter().map(|job| job.call).filter(|call| call.limits.blocking);
        let mut outcomes = run_calls(self, blocking.cloned().collect()).into_iter();
        sent.into_iter()
            .map(|sent| match sent {
                Some(Ok(sent)) => sent.confirm_start(),
                Some(Err(why)) => Outcome::not_attempted(why),
                None => outcomes.next().unwrap_or_else(panicked_call),
            })
            .collect()
    }
}

fn send_detached<T: AsyncAction>(action: &Arc<T>, job: &Job<'_>) -> PendingStart {
    let call = action.detached_call(job.call);
    let own = Arc::clone(action);
    let run_in_thread: RunInThread = Box::new(move |call, on_start| {
        on_start(Ok(&[T::NAME.to_owned()]));
        run_calls(&own, vec![call]);
    });
    detach::send_call(
        &Job { call: &call, record: job.record },
        T::NAME,
        action.settings(),
        run_in_thread,
    )
}

/// Runs calls at once. A runtime cannot start inside another one: an async host gets a thread for
/// it.
fn run_calls<T: AsyncAction>(action: &Arc<T>, calls: Vec<Call>) -> Vec<Outcome> {
    if calls.is_empty() {
        return Vec::new();
    }
    if Handle::try_current().is_err() {
        return run_on_runtime(action, calls);
    }
    std::thread::scope(|scope| {
        scope.spawn(|| run_on_runtime(action, calls)).join().unwrap_or_default()
    })
}

fn run_on_runtime<T: AsyncAction>(action: &Arc<T>, calls: Vec<Call>) -> Vec<Outcome> {
    let count = calls.len();
    let runtime = match Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => {
            return vec![Outcome::failed_to_start(format!("no async runtime: {error}")); count];
        }
    };

    let mut ended = runtime.block_on(async {
        let mut tasks = JoinSet::new();
        for (index, call) in calls.into_iter().enumerate() {
            let own = Arc::clone(action);
            tasks.spawn(async move { (index, execute_interruptible(own, call).await) });
        }
        let mut ended = HashMap::with_capacity(count);
        while let Some(task) = tasks.join_next().await {
            ended.extend(task.ok());
        }
        ended
    });
    // Do not wait for a name that is still being resolved.
    runtime.shutdown_background();
    (0..count).map(|index| ended.remove(&index).unwrap_or_else(panicked_call)).collect()
}

/// Runs one call. If signals make calls return, one ends it.
async fn execute_interruptible<T: AsyncAction>(action: Arc<T>, call: Call) -> Outcome {
    if action.settings().signals != SignalPolicy::Return {
        return action.execute(call).await;
    }
    let started_at = Instant::now();
    let mut call = std::pin::pin!(action.execute(call));
    loop {
        match timeout(SIGNAL_INTERVAL, &mut call).await {
            Ok(outcome) => return outcome,
            Err(_) if is_interrupted() => {
                let elapsed = started_at.elapsed();
                let cut_short_by = Some(CutShort::Interrupted);
                return Outcome { elapsed, cut_short_by, ..Outcome::from_end(End::TimedOut) };
            }
            Err(_) => {}
        }
    }
}

fn panicked_call() -> Outcome {
    Outcome::failed_to_start("a fault inside gambrel ended this call")
}
