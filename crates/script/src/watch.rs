//! Modules under watch: for a program that must answer in time whatever a module does. Loops inside
//! the engine's own C code cannot be interrupted, so the call is made on a thread of its own, and
//! one that does not come back is given up. It costs a thread a call.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use gambrel_model::{Action, Call, End, Job, Limits, Outcome};

use crate::action::{ModuleAction, at_once};
use crate::answer;
use crate::settings::{Ask, Pulse, ScriptSettings};

/// How long past its deadline a call may take to end by itself.
const GRACE: Duration = Duration::from_millis(500);
/// Between two looks at the clock.
const LOOK: Duration = Duration::from_millis(20);
/// How deep a module's functions may call one another: about as deep as in other engines.
const STACK: usize = 8 << 20;
/// What the engine itself and we need beside that.
const BESIDE: usize = 2 << 20;

/// Runs hook modules and always comes back.
pub struct WatchedModules {
    inner: Arc<ModuleAction>,
    dialogs: Arc<Dialogs>,
    pulse: Pulse,
}

/// How long people have been asked: time that no module is charged for.
#[derive(Default)]
struct Dialogs {
    open: AtomicBool,
    spent: AtomicU64,
}

/// Since when the handler runs that has its turn.
struct Lap {
    began: Instant,
    /// How long people had been asked until then.
    spent: u64,
    beats: u64,
    /// When it was last seen waiting. While a person is asked, only who waits has time.
    waited: Instant,
}

impl WatchedModules {
    /// An action with no module loaded yet.
    pub fn new(mut settings: ScriptSettings) -> Self {
        let dialogs = Arc::new(Dialogs::default());
        let counted = Arc::clone(&dialogs);
        settings.ask = settings.ask.take().map(|ask| {
            let counting = move |asked: &Ask| {
                let began = Instant::now();
                counted.open.store(true, Ordering::SeqCst);
                let answer = ask(asked);
                let took = u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX);
                counted.spent.fetch_add(took, Ordering::SeqCst);
                counted.open.store(false, Ordering::SeqCst);
                answer
            };
            Arc::new(counting) as crate::settings::Asker
        });
        settings.stack = settings.stack.max(STACK);
        let pulse = settings.pulse.clone();
        Self { inner: Arc::new(ModuleAction::new(settings)), dialogs, pulse }
    }

    /// The same as [`Action::run`], for as long as `goes_on`: then what is not back is given up.
    pub fn run_while(&self, jobs: &[Job<'_>], goes_on: &(dyn Fn() -> bool + Sync)) -> Vec<Outcome> {
        at_once(jobs, |call| self.watch(call, goes_on))
    }

    fn watch(&self, call: &Call, goes_on: &(dyn Fn() -> bool + Sync)) -> Outcome {
        let began = Instant::now();
        let (inner, own) = (Arc::clone(&self.inner), call.clone());
        let (sender, answers) = channel();
        let work = move || {
            let outcome = inner.run(&[Job { call: &own, record: None }]).pop();
            // Nobody listens any more once the call was given up.
            let _ = sender.send(outcome);
        };
        let thread = std::thread::Builder::new().name("module".into()).stack_size(STACK + BESIDE);
        if let Err(error) = thread.spawn(work) {
            return Outcome::from_end(End::FailedToStart(format!(
                "no thread for the module: {error}"
            )));
        }
        let mut lap = self.lap();
        loop {
            if self.pulse.beats() != lap.beats {
                lap = self.lap();
            }
            if self.pulse.waits() {
                lap.waited = Instant::now();
            }
            match answers.recv_timeout(LOOK) {
                Ok(Some(outcome)) => return outcome,
                Ok(None) | Err(RecvTimeoutError::Disconnected) => {
                    return Outcome::from_end(End::FailedToStart(
                        "the module's thread failed".into(),
                    ));
                }
                Err(RecvTimeoutError::Timeout) if self.is_over(&call.limits, began, &lap) => {
                    let why = "the engine does not come back: the call is given up";
                    let late = answer::late(why.into(), Vec::new());
                    return Outcome { elapsed: began.elapsed(), ..late };
                }
                Err(RecvTimeoutError::Timeout) if !goes_on() => {
                    return answer::late("told to go".into(), Vec::new());
                }
                Err(RecvTimeoutError::Timeout) => {}
            }
        }
    }

    fn lap(&self) -> Lap {
        let spent = self.dialogs.spent.load(Ordering::SeqCst);
        let now = Instant::now();
        Lap { began: now, spent, beats: self.pulse.beats(), waited: now }
    }

    fn is_over(&self, pace: &Limits, began: Instant, lap: &Lap) -> bool {
        // Whoever gave the budget waits a twentieth of it longer.
        let late = |budget: Duration| began.elapsed() > budget + GRACE.min(budget / 40);
        let wall = pace.budget.is_some_and(late);
        let asked = self.dialogs.spent.load(Ordering::SeqCst).saturating_sub(lap.spent);
        let active = lap.began.elapsed().saturating_sub(Duration::from_millis(asked));
        let asking = self.dialogs.open.load(Ordering::SeqCst);
        let charged = if asking { lap.waited.elapsed() } else { active };
        wall || charged > pace.timeout + GRACE
    }
}

impl Action for WatchedModules {
    fn name(&self) -> &'static str {
        self.inner.name()
    }

    fn run(&self, jobs: &[Job<'_>]) -> Vec<Outcome> {
        self.run_while(jobs, &|| true)
    }
}
