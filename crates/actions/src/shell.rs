//! The action `shell`: runs a batch of calls as processes. Blocking calls run in one loop; each
//! other call goes to a supervisor.

use std::sync::Arc;

use gambrel_model::action::{Action, Job};
use gambrel_model::call::Call;
use gambrel_model::outcome::Outcome;

use crate::batch;
use crate::detach::{self, PendingStart};
use gambrel_process::orphans;
use gambrel_process::settings::{Settings, SignalPolicy};
use gambrel_process::signals::is_interrupted;
use gambrel_process::watchdog_client::{self, WatchdogClient};

/// The action's name.
pub(crate) const NAME: &str = "shell";

/// Runs commands, directly or through a shell.
pub struct ShellAction {
    settings: Settings,
    watchdog: Arc<WatchdogClient>,
}

impl ShellAction {
    /// Creates the action. Starts and changes nothing before the first run.
    pub fn new(settings: Settings) -> Self {
        let watchdog = settings.watchdog_client();
        Self { settings, watchdog }
    }

    /// Makes this process a subreaper once, if the settings allow it.
    fn become_subreaper(&self) {
        if self.settings.subreaper {
            orphans::become_subreaper();
        }
    }

    /// Sends a detached call.
    fn send_call(&self, job: &Job<'_>) -> PendingStart {
        let action = Self::new(Settings { subreaper: false, ..self.settings.clone() });
        let run_in_thread: detach::RunInThread = Box::new(move |call, on_start| {
            action.run_one(&call, on_start);
        });
        detach::send_call(job, NAME, &self.settings, run_in_thread)
    }

    /// Runs one call and reports its start.
    pub(crate) fn run_one(&self, call: &Call, on_start: batch::OnStart<'_>) -> Outcome {
        self.become_subreaper();
        let mut outcomes = batch::run_jobs(
            &[&Job { call, record: None }],
            &self.settings,
            &self.watchdog,
            on_start,
        );
        let none = || Outcome::failed_to_start("the call did not run");
        outcomes.pop().unwrap_or_else(none)
    }
}

impl Action for ShellAction {
    fn name(&self) -> &'static str {
        NAME
    }

    fn run(&self, jobs: &[Job<'_>]) -> Vec<Outcome> {
        if self.settings.signals == SignalPolicy::Return && is_interrupted() {
            return jobs.iter().map(|_| Outcome::interrupted()).collect();
        }
        self.become_subreaper();
        watchdog_client::reap_helpers();
        // Detached calls first: they start while the batch waits for the others.
        let sent: Vec<Option<PendingStart>> = jobs
            .iter()
            .map(|job| (!job.call.limits.blocking).then(|| self.send_call(job)))
            .collect();

        let blocking: Vec<&Job<'_>> = jobs.iter().filter(|job| job.call.limits.blocking).collect();
        let mut outcomes = Vec::new();
        if !blocking.is_empty() {
            outcomes = batch::run_jobs(&blocking, &self.settings, &self.watchdog, &mut |_| {});
        }

        let mut outcomes = outcomes.into_iter();
        let none = || Outcome::failed_to_start("the call did not run");
        sent.into_iter()
            .map(|sent| match sent {
                Some(sent) => sent.confirm_start(),
                None => outcomes.next().unwrap_or_else(none),
            })
            .collect()
    }
}
