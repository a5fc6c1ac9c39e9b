//! Runs each call on its own thread, for a program that must answer in time. Loops in the engine's
//! C code cannot be interrupted, so a call that does not return is abandoned.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use gambrel_model::{Action, Call, CutShort, End, Job, Limits, Outcome};

use super::answer;
use crate::action::{ModuleAction, run_in_parallel};
use crate::settings::{Heartbeat, Question, ScriptSettings};

/// How long a call may exceed its deadline before it is abandoned.
const RETURN_GRACE: Duration = Duration::from_millis(500);
/// Between two checks of the deadline.
const POLL_INTERVAL: Duration = Duration::from_millis(20);
/// Stack of a module's code. Allows about the same call depth as other engines.
const MODULE_STACK_BYTES: usize = 8 << 20;
/// Additional stack for the engine and gambrel.
const EXTRA_STACK_BYTES: usize = 2 << 20;

/// Runs hook modules and always returns in time.
pub struct TimeBoundModules {
    inner: Arc<ModuleAction>,
    dialogs: Arc<DialogTimes>,
    heartbeat: Heartbeat,
}

/// Time spent in dialogs. Modules are not charged for it.
#[derive(Default)]
struct DialogTimes {
    open: AtomicBool,
    spent: AtomicU64,
}

/// Start of the current handler's active time.
struct ActiveTime {
    began: Instant,
    /// Dialog time before the start, in milliseconds.
    spent: u64,
    handler_count: u64,
    /// When the module last waited. While a question is open, only the time since then counts.
    last_wait: Instant,
}

impl TimeBoundModules {
    /// An action with no module loaded yet.
    pub fn new(mut settings: ScriptSettings) -> Self {
        let dialogs = Arc::new(DialogTimes::default());
        let counted = Arc::clone(&dialogs);
        settings.ask = settings.ask.take().map(|ask| {
            let counting = move |asked: &Question| {
                let began = Instant::now();
                counted.open.store(true, Ordering::SeqCst);
                let answer = ask(asked);
                let took = u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX);
                counted.spent.fetch_add(took, Ordering::SeqCst);
                counted.open.store(false, Ordering::SeqCst);
                answer
            };
            Arc::new(counting) as crate::settings::AskFn
        });

        settings.stack_bytes = settings.stack_bytes.max(MODULE_STACK_BYTES);
        let heartbeat = settings.heartbeat.clone();
        Self { inner: Arc::new(ModuleAction::new(settings)), dialogs, heartbeat }
    }

    /// Like [`Action::run`], but abandons the calls that have not returned when `goes_on` becomes
    /// false.
    pub fn run_while(&self, jobs: &[Job<'_>], goes_on: &(dyn Fn() -> bool + Sync)) -> Vec<Outcome> {
        run_in_parallel(jobs, |call| self.run_watched(call, goes_on))
    }

    fn run_watched(&self, call: &Call, goes_on: &(dyn Fn() -> bool + Sync)) -> Outcome {
        let began = Instant::now();
        let (inner, own) = (Arc::clone(&self.inner), call.clone());

        let (sender, answers) = channel();
        let work = move || {
            let outcome = inner.run(&[Job { call: &own, record: None }]).pop();
            // The receiver is gone if the call was abandoned.
            let _ = sender.send(outcome);
        };

        let thread = std::thread::Builder::new()
            .name("module".into())
            .stack_size(MODULE_STACK_BYTES + EXTRA_STACK_BYTES);
        if let Err(error) = thread.spawn(work) {
            return Outcome::from_end(End::FailedToStart(format!(
                "cannot start a thread for the module: {error}"
            )));
        }

        let mut handler_time = self.start_active_time();
        loop {
            if self.heartbeat.handler_count() != handler_time.handler_count {
                handler_time = self.start_active_time();
            }
            if self.heartbeat.is_waiting() {
                handler_time.last_wait = Instant::now();
            }

            match answers.recv_timeout(POLL_INTERVAL) {
                Ok(Some(outcome)) => return outcome,
                Ok(None) | Err(RecvTimeoutError::Disconnected) => {
                    return Outcome::from_end(End::FailedToStart(
                        "the module's thread failed".into(),
                    ));
                }
                Err(RecvTimeoutError::Timeout)
                    if self.is_over(&call.limits, began, &handler_time) =>
                {
                    let why = "the engine did not return in time: the call was abandoned";
                    let late = answer::timed_out_outcome(why.into(), Vec::new());
                    return Outcome { elapsed: began.elapsed(), ..late };
                }
                Err(RecvTimeoutError::Timeout) if !goes_on() => {
                    let stopped =
                        answer::timed_out_outcome("stopped by a signal".into(), Vec::new());
                    let cut_short_by = Some(CutShort::Interrupted);
                    return Outcome { elapsed: began.elapsed(), cut_short_by, ..stopped };
                }
                Err(RecvTimeoutError::Timeout) => {}
            }
        }
    }

    fn start_active_time(&self) -> ActiveTime {
        let spent = self.dialogs.spent.load(Ordering::SeqCst);
        let now = Instant::now();
        ActiveTime {
            began: now,
            spent,
            handler_count: self.heartbeat.handler_count(),
            last_wait: now,
        }
    }

    fn is_over(&self, limits: &Limits, began: Instant, handler_time: &ActiveTime) -> bool {
        // The caller waits a twentieth longer than its budget.
        let late = |budget: Duration| began.elapsed() > budget + RETURN_GRACE.min(budget / 40);
        let wall = limits.budget.is_some_and(late);

        let asked = self.dialogs.spent.load(Ordering::SeqCst).saturating_sub(handler_time.spent);
        let active = handler_time.began.elapsed().saturating_sub(Duration::from_millis(asked));

        let asking = self.dialogs.open.load(Ordering::SeqCst);
        let charged = if asking { handler_time.last_wait.elapsed() } else { active };
        wall || charged > limits.timeout + RETURN_GRACE
    }
}

impl Action for TimeBoundModules {
    fn name(&self) -> &'static str {
        self.inner.name()
    }

    fn run(&self, jobs: &[Job<'_>]) -> Vec<Outcome> {
        self.run_while(jobs, &|| true)
    }
}
