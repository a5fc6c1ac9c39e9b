//! How a batch of calls without a loop of their own is run: one runtime that lives for the batch,
//! a task a call, and a fault in one of them ends that one only.

use std::collections::HashMap;
use std::future::Future;
use std::sync::Arc;

use gambrel_model::action::Job;
use gambrel_model::call::Call;
use gambrel_model::outcome::{End, Outcome};
use tokio::runtime::{Builder, Handle};
use tokio::task::JoinSet;

use crate::detach::{self, Here, Sent};
use crate::guard;
use crate::settings::Settings;

/// What an action is made of that runs its calls as tasks.
pub(crate) trait Turn: Sized + Send + Sync + 'static {
    /// The action's word.
    const NAME: &'static str;

    /// Whom to hand over what nobody waits for.
    fn settings(&self) -> &Settings;

    /// The call as it is when nobody waits for it.
    fn unwaited(&self, call: &Call) -> Call {
        call.clone()
    }

    /// Why a call that nobody waits for is refused before it is handed over, if it is.
    fn refusal(&self, _call: &Call) -> Option<String> {
        None
    }

    /// Carries out one call to its end.
    fn carry_out(self: Arc<Self>, call: Call) -> impl Future<Output = Outcome> + Send;

    /// Runs all jobs at once; those that nobody waits for go away first.
    fn run(self: &Arc<Self>, jobs: &[Job<'_>]) -> Vec<Outcome> {
        guard::reap();
        let leave = |job: &Job<'_>| match self.refusal(job.call) {
            Some(why) => Err(why),
            None => Ok(send(self, job)),
        };
        let sent: Vec<Option<Result<Sent, String>>> =
            jobs.iter().map(|job| (!job.call.limits.blocking).then(|| leave(job))).collect();
        let waited = jobs.iter().map(|job| job.call).filter(|call| call.limits.blocking);
        let mut outcomes = together(self, waited.cloned().collect()).into_iter();
        sent.into_iter()
            .map(|sent| match sent {
                Some(Ok(sent)) => sent.confirm(),
                Some(Err(why)) => {
                    Outcome { attempts: 0, ..Outcome::from_end(End::FailedToStart(why)) }
                }
                None => outcomes.next().unwrap_or_else(lost),
            })
            .collect()
    }
}

fn send<T: Turn>(turn: &Arc<T>, job: &Job<'_>) -> Sent {
    let call = turn.unwaited(job.call);
    let own = Arc::clone(turn);
    let here: Here = Box::new(move |call, on_start| {
        on_start(Ok(&[T::NAME.to_owned()]));
        together(&own, vec![call]);
    });
    detach::send(&Job { call: &call, record: job.record }, T::NAME, turn.settings(), here)
}

/// A runtime cannot be started inside another one: an async host gets a thread for it.
fn together<T: Turn>(turn: &Arc<T>, calls: Vec<Call>) -> Vec<Outcome> {
    if calls.is_empty() {
        return Vec::new();
    }
    if Handle::try_current().is_err() {
        return drive(turn, calls);
    }
    std::thread::scope(|scope| scope.spawn(|| drive(turn, calls)).join().unwrap_or_default())
}

fn drive<T: Turn>(turn: &Arc<T>, calls: Vec<Call>) -> Vec<Outcome> {
    let count = calls.len();
    let runtime = match Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => {
            let end = End::FailedToStart(format!("no runtime for it: {error}"));
            return vec![Outcome::from_end(end); count];
        }
    };
    let mut ended = runtime.block_on(async {
        let mut tasks = JoinSet::new();
        for (index, call) in calls.into_iter().enumerate() {
            let own = Arc::clone(turn);
            tasks.spawn(async move { (index, own.carry_out(call).await) });
        }
        let mut ended = HashMap::with_capacity(count);
        while let Some(task) = tasks.join_next().await {
            ended.extend(task.ok());
        }
        ended
    });
    // A name that is still being resolved must not hold up the answer.
    runtime.shutdown_background();
    (0..count).map(|index| ended.remove(&index).unwrap_or_else(lost)).collect()
}

fn lost() -> Outcome {
    Outcome::from_end(End::FailedToStart("a fault inside gambrel ended this call".to_owned()))
}
