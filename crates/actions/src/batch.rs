//! The loop in which a firing waits: a single `poll` covers the pipes, exits and deadlines of all
//! processes of a batch. No threads. A panic in one job ends that job only.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Instant;

use gambrel_model::action::Job;
use gambrel_model::outcome::Outcome;
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::attempt::Attempt;
use crate::error::ActionError;
use gambrel_process::capture::READ_CHUNK_BYTES;
use gambrel_process::environ::tag_prefix;
use gambrel_process::orphans;
use gambrel_process::process::{LoopContext, PollSource};
use gambrel_process::process_table;
use gambrel_process::running_file::RunningEntry;
use gambrel_process::settings::{Settings, SignalPolicy};
use gambrel_process::signals::SignalGuard;
use gambrel_process::watchdog_client::WatchdogClient;

/// More children at once would use up the file descriptors of an ordinary process.
const MAX_CONCURRENT_CHILDREN: usize = 128;

/// Called with the command of each started attempt, or why it did not start.
pub(crate) type OnStart<'a> = &'a mut dyn FnMut(Result<&[String], &ActionError>);

/// Runs all jobs at once and returns their outcomes in the same order.
pub(crate) fn run_jobs<'a>(
    jobs: &[&Job<'a>],
    settings: &'a Settings,
    guard: &'a WatchdogClient,
    on_start: OnStart<'_>,
) -> Vec<Outcome> {
    let now = Instant::now();
    // Removed at the end, when every process left has another owner.
    let _running = RunningEntry::register_process(settings, tag_prefix());
    drive_attempts(
        jobs.iter().map(|job| Attempt::new(job, now)).collect(),
        settings,
        guard,
        on_start,
    )
}

/// Runs attempts to their ends, from any state.
pub(crate) fn drive_attempts<'a>(
    mut jobs: Vec<Attempt<'a>>,
    settings: &'a Settings,
    guard: &'a WatchdogClient,
    on_start: OnStart<'_>,
) -> Vec<Outcome> {
    let now = Instant::now();
    let scratch = Vec::with_capacity(READ_CHUNK_BYTES);
    let since = process_table::ticks_now();
    let mut context = LoopContext { settings, watchdog: guard, now, since, scratch, table: None };
    let mut events = Vec::with_capacity(4 * jobs.len().min(MAX_CONCURRENT_CHILDREN));

    let mut signals = BatchSignals::new(settings.signals);
    loop {
        if signals.has_arrived() {
            terminate_soon(&mut jobs, &mut context);
        }
        run_turn(&mut jobs, &mut context, &mut events, on_start);
        if jobs.iter().all(Attempt::is_done) {
            break;
        }
        wait_for_events(&jobs, &mut events, &signals);
    }

    if settings.subreaper {
        let owners: Vec<_> = jobs.iter().map(Attempt::orphan_owner).collect();
        for (index, remark) in orphans::hand_off_orphans(&owners, &context) {
            jobs.get_mut(index).into_iter().for_each(|job| job.add_remark(remark.clone()));
        }
    }
    let outcomes = jobs.into_iter().map(Attempt::into_outcome).collect();
    if let Some(guard) = signals.guard.filter(|_| settings.signals == SignalPolicy::ExitProcess) {
        guard.exit_if_triggered();
    }
    outcomes
}

/// The signals that end a batch early.
struct BatchSignals {
    guard: Option<SignalGuard>,
    /// Whether a signal was handled. Its descriptor stays readable, so it is not polled again.
    is_handled: bool,
}

impl BatchSignals {
    fn new(policy: SignalPolicy) -> Self {
        let handles_signals = policy != SignalPolicy::HostHandles;
        let guard = handles_signals.then(SignalGuard::install).flatten();
        Self { guard, is_handled: false }
    }

    /// Whether the first signal has arrived since the last call.
    fn has_arrived(&mut self) -> bool {
        let has_triggered = |guard: &SignalGuard| guard.triggered().is_some();
        let is_new = !self.is_handled && self.guard.as_ref().is_some_and(has_triggered);
        self.is_handled |= is_new;
        is_new
    }

    /// The descriptor to wait for.
    fn poll_fd(&self) -> Option<PollFd<'_>> {
        let guard = self.guard.as_ref().filter(|_| !self.is_handled)?;
        Some(PollFd::new(guard.fd(), PollFlags::IN))
    }
}

/// Handles the events, starts the attempts that are due, and advances the others.
fn run_turn<'a>(
    jobs: &mut [Attempt<'a>],
    context: &mut LoopContext<'a>,
    events: &mut Vec<(usize, PollSource, PollFlags)>,
    on_start: OnStart<'_>,
) {
    context.now = Instant::now();
    context.table = None;
    for (index, source, flags) in events.drain(..) {
        let Some(job) = jobs.get_mut(index) else { continue };
        catch_panics(job, context, |job, context| {
            if let Some(process) = job.running_process_mut() {
                process.handle_ready(source, flags, &mut context.scratch);
            }
        });
    }

    let mut running = jobs.iter().filter(|job| job.running_process().is_some()).count();
    for job in jobs.iter_mut().filter(|job| !job.is_done()) {
        if running < MAX_CONCURRENT_CHILDREN && job.is_due(context.now) {
            // Its timeout begins with its own start, not with that of the first job.
            context.now = Instant::now();
            catch_panics(job, context, |job, context| match job.start_attempt(context) {
                Ok(command) => on_start(Ok(command)),
                Err(reason) => on_start(Err(&reason)),
            });
            running += usize::from(job.running_process().is_some());
        } else if job.running_process().is_some() {
            catch_panics(job, context, Attempt::advance);
        }
    }
}

/// Ends every hook, because a signal asked this process to end.
fn terminate_soon<'a>(jobs: &mut [Attempt<'a>], context: &mut LoopContext<'a>) {
    context.now = Instant::now();
    context.table = None;
    for job in jobs {
        catch_panics(job, context, Attempt::terminate_soon);
    }
}

/// Runs `work`; a panic in it ends only this job.
fn catch_panics<'a>(
    job: &mut Attempt<'a>,
    context: &mut LoopContext<'a>,
    work: impl FnOnce(&mut Attempt<'a>, &mut LoopContext<'a>),
) {
    if catch_unwind(AssertUnwindSafe(|| work(job, context))).is_err() {
        job.fail_call(context);
    }
}

/// Sleeps until a descriptor is ready or an attempt is due.
fn wait_for_events(
    jobs: &[Attempt<'_>],
    events: &mut Vec<(usize, PollSource, PollFlags)>,
    signals: &BatchSignals,
) {
    let mut fds = Vec::with_capacity(events.capacity());
    let mut sources = Vec::with_capacity(events.capacity());
    let now = Instant::now();
    for (index, job) in jobs.iter().enumerate() {
        if let Some(process) = job.running_process() {
            process.add_poll_fds(now, |source, fd| {
                sources.push((index, source));
                fds.push(fd);
            });
        }
    }

    // After the descriptors of the jobs, so that it has no entry in `sources`: it only wakes the
    // loop.
    fds.extend(signals.poll_fd());

    let full = jobs.iter().filter(|job| job.running_process().is_some()).count()
        >= MAX_CONCURRENT_CHILDREN;
    let wakes = jobs.iter().filter(|job| !(full && job.running_process().is_none()));
    let wake = wakes.filter_map(|job| job.next_wake(now)).min();
    let left = wake.map(|wake| wake.saturating_duration_since(now));
    let timeout = left.map(|left| Timespec {
        tv_sec: i64::try_from(left.as_secs()).unwrap_or(i64::MAX),
        tv_nsec: left.subsec_nanos().into(),
    });

    if poll(&mut fds, timeout.as_ref()).is_err() {
        // Interrupted: the caller checks the deadlines and polls again.
        return;
    }
    let ready = fds.iter().zip(sources).filter(|(fd, _)| !fd.revents().is_empty());
    events.extend(ready.map(|(fd, (index, source))| (index, source, fd.revents())));
}

#[cfg(test)]
mod tests {
    use gambrel_model::action::Job;
    use gambrel_model::call::{Call, Program};
    use gambrel_model::outcome::End;

    use super::run_jobs;
    use crate::error::ActionError;
    use gambrel_process::settings::Settings;
    use gambrel_process::watchdog_client::WatchdogClient;

    #[test]
    fn keeps_other_jobs_when_one_panics() {
        let call = |word: &str| Call {
            program: Program::Exec(vec!["sleep".to_owned(), word.to_owned()]),
            cwd: "/".into(),
            ..Call::default()
        };
        let (faulty, fine) = (call("1000"), call("0.1"));
        let mut on_start = |start: Result<&[String], &ActionError>| {
            assert!(!start.unwrap().contains(&"1000".to_owned()), "a fault, on purpose");
        };
        let (settings, guard) = (Settings::default(), WatchdogClient::default());
        let jobs = [&faulty, &fine].map(|call| Job { call, record: None });
        let outcomes = run_jobs(&jobs.each_ref(), &settings, &guard, &mut on_start);
        let ends: Vec<End> = outcomes.into_iter().map(|outcome| outcome.end).collect();
        assert!(
            matches!(ends.as_slice(), [End::FailedToStart(reason), End::Exited(0)] if reason.contains("fault")),
            "{ends:?}"
        );
    }
}
