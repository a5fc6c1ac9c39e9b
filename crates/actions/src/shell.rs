//! The action `shell`: runs a batch of calls as processes. Those that are waited for run in one
//! loop; the others go to a supervisor each. It knows no event and no decision.

use std::sync::Once;

use gambrel_model::action::{Action, Job};
use gambrel_model::call::Call;
use gambrel_model::outcome::{End, Outcome};

use crate::batch;
use crate::detach::{self, Sent};
use crate::guard::{self, Guard};
use crate::settings::Settings;

/// Its word.
pub(crate) const NAME: &str = "shell";

/// Runs commands, directly or through a shell.
pub struct ShellAction {
    settings: Settings,
    guard: Guard,
    prepared: Once,
}

impl ShellAction {
    /// Under these settings. Nothing is started and nothing is changed before the first run.
    pub fn new(settings: Settings) -> Self {
        Self { settings, guard: Guard::default(), prepared: Once::new() }
    }

    /// Once, and only in a process that says all its children are ours.
    fn prepare(&self) {
        if self.settings.subreaper {
            self.prepared.call_once(|| {
                // On failure orphans go to init: found by their mark if their pipes are held.
                let _ = rustix::process::set_child_subreaper(Some(rustix::process::getpid()));
            });
        }
    }

    /// Sends a call away that nobody waits for.
    fn send(&self, job: &Job<'_>) -> Sent {
        let action = Self::new(Settings { subreaper: false, ..self.settings.clone() });
        let here: detach::Here = Box::new(move |call, on_start| {
            action.run_one(&call, on_start);
        });
        detach::send(job, NAME, &self.settings, here)
    }

    /// One call, with word of its start.
    pub(crate) fn run_one(&self, call: &Call, on_start: batch::OnStart<'_>) -> Outcome {
        self.prepare();
        let mut outcomes =
            batch::run(&[&Job { call, record: None }], &self.settings, &self.guard, on_start);
        let none =
            || Outcome::from_end(End::FailedToStart("the call was not carried out".to_owned()));
        outcomes.pop().unwrap_or_else(none)
    }
}

impl Action for ShellAction {
    fn name(&self) -> &'static str {
        NAME
    }

    fn run(&self, jobs: &[Job<'_>]) -> Vec<Outcome> {
        self.prepare();
        guard::reap();
        // Fire-and-forget first: they start while we wait for the others.
        let sent: Vec<Option<Sent>> =
            jobs.iter().map(|job| (!job.call.limits.blocking).then(|| self.send(job))).collect();
        let waited: Vec<&Job<'_>> = jobs.iter().filter(|job| job.call.limits.blocking).collect();
        let mut outcomes = Vec::new();
        if !waited.is_empty() {
            outcomes = batch::run(&waited, &self.settings, &self.guard, &mut |_| {});
        }
        let mut outcomes = outcomes.into_iter();
        let none =
            || Outcome::from_end(End::FailedToStart("the call was not carried out".to_owned()));
        sent.into_iter()
            .map(|sent| match sent {
                Some(sent) => sent.confirm(),
                None => outcomes.next().unwrap_or_else(none),
            })
            .collect()
    }
}
