//! The one loop in which a firing waits: all children of a batch, their pipes, exits and clocks
//! in a single `poll`. No threads. A fault in one job ends that job only.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Instant;

use gambrel_model::action::Job;
use gambrel_model::outcome::Outcome;
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::attempt::Attempt;
use crate::bell::Bell;
use crate::capture::CHUNK;
use crate::environ::mark_prefix;
use crate::guard::Guard;
use crate::orphans;
use crate::process::{Slot, World};
use crate::running::Running;
use crate::settings::Settings;
use crate::tree;

/// More children than this at once would use up the descriptors of an ordinary process.
const TOGETHER: usize = 128;

/// Is told what each attempt started, or why it did not.
pub(crate) type OnStart<'a> = &'a mut dyn FnMut(Result<&[String], &str>);

/// Runs all jobs at once and gives their outcomes in the same order.
pub(crate) fn run<'a>(
    jobs: &[&Job<'a>],
    settings: &'a Settings,
    guard: &'a Guard,
    on_start: OnStart<'_>,
) -> Vec<Outcome> {
    let now = Instant::now();
    // Struck out at the end, when everything that is left has another owner.
    let _running = Running::enter(settings, mark_prefix());
    drive(jobs.iter().map(|job| Attempt::new(job, now)).collect(), settings, guard, on_start)
}

/// Drives attempts to their ends, wherever they stand.
pub(crate) fn drive<'a>(
    mut jobs: Vec<Attempt<'a>>,
    settings: &'a Settings,
    guard: &'a Guard,
    on_start: OnStart<'_>,
) -> Vec<Outcome> {
    let now = Instant::now();
    let scratch = Vec::with_capacity(CHUNK);
    let since = tree::ticks_now();
    let mut world = World { settings, guard, now, since, scratch, table: None };
    let mut events = Vec::with_capacity(4 * jobs.len().min(TOGETHER));
    // Taken down last: if it rang, this process ends there.
    let bell = settings.heeds_signals.then(Bell::hang).flatten();
    let mut listening = bell.as_ref();
    loop {
        if listening.is_some_and(Bell::rang) {
            // It goes on ringing, and we have heard it.
            listening = None;
            hasten(&mut jobs, &mut world);
        }
        turn(&mut jobs, &mut world, &mut events, on_start);
        if jobs.iter().all(Attempt::is_over) {
            break;
        }
        wait(&jobs, &mut events, listening);
    }
    if settings.subreaper {
        orphans::look(&mut jobs, &world);
    }
    jobs.into_iter().map(Attempt::into_outcome).collect()
}

/// Everything that is due now.
fn turn<'a>(
    jobs: &mut [Attempt<'a>],
    world: &mut World<'a>,
    events: &mut Vec<(usize, Slot, PollFlags)>,
    on_start: OnStart<'_>,
) {
    world.now = Instant::now();
    world.table = None;
    for (index, slot, flags) in events.drain(..) {
        let Some(job) = jobs.get_mut(index) else { continue };
        guarded(job, world, |job, world| {
            if let Some(process) = job.live_mut() {
                process.ready(slot, flags, &mut world.scratch);
            }
        });
    }
    let mut running = jobs.iter().filter(|job| job.live().is_some()).count();
    for job in jobs.iter_mut().filter(|job| !job.is_over()) {
        if running < TOGETHER && job.is_due(world.now) {
            // Its time begins with its own start, not with that of the first of many.
            world.now = Instant::now();
            guarded(job, world, |job, world| match job.start(world) {
                Ok(command) => on_start(Ok(command)),
                Err(reason) => on_start(Err(&reason)),
            });
            running += usize::from(job.live().is_some());
        } else if job.live().is_some() {
            guarded(job, world, Attempt::step);
        }
    }
}

/// This process is told to go, so every hook is.
fn hasten<'a>(jobs: &mut [Attempt<'a>], world: &mut World<'a>) {
    world.now = Instant::now();
    world.table = None;
    for job in jobs {
        guarded(job, world, Attempt::hasten);
    }
}

fn guarded<'a>(
    job: &mut Attempt<'a>,
    world: &mut World<'a>,
    work: impl FnOnce(&mut Attempt<'a>, &mut World<'a>),
) {
    if catch_unwind(AssertUnwindSafe(|| work(job, world))).is_err() {
        job.fail(world);
    }
}

/// Sleeps until a descriptor is ready or something is due.
fn wait(jobs: &[Attempt<'_>], events: &mut Vec<(usize, Slot, PollFlags)>, bell: Option<&Bell>) {
    let mut fds = Vec::with_capacity(events.capacity());
    let mut slots = Vec::with_capacity(events.capacity());
    let now = Instant::now();
    for (index, job) in jobs.iter().enumerate() {
        if let Some(process) = job.live() {
            process.interests(now, |slot, fd| {
                slots.push((index, slot));
                fds.push(fd);
            });
        }
    }
    // After those of the jobs, so that it has no slot: that we woke is all it has to say.
    fds.extend(bell.map(|bell| PollFd::new(bell.fd(), PollFlags::IN)));
    let full = jobs.iter().filter(|job| job.live().is_some()).count() >= TOGETHER;
    let wakes = jobs.iter().filter(|job| !(full && job.live().is_none()));
    let wake = wakes.filter_map(|job| job.next_wake(now)).min();
    let left = wake.map(|wake| wake.saturating_duration_since(now));
    let timeout = left.map(|left| Timespec {
        tv_sec: i64::try_from(left.as_secs()).unwrap_or(i64::MAX),
        tv_nsec: left.subsec_nanos().into(),
    });
    if poll(&mut fds, timeout.as_ref()).is_err() {
        // Interrupted: the clocks are looked at and the loop comes back.
        return;
    }
    let ready = fds.iter().zip(slots).filter(|(fd, _)| !fd.revents().is_empty());
    events.extend(ready.map(|(fd, (index, slot))| (index, slot, fd.revents())));
}

#[cfg(test)]
mod tests {
    use gambrel_model::action::Job;
    use gambrel_model::call::{Call, Program};
    use gambrel_model::outcome::End;

    use super::run;
    use crate::guard::Guard;
    use crate::settings::Settings;

    #[test]
    fn a_fault_in_one_job_spares_the_others() {
        let call = |word: &str| Call {
            program: Program::Exec(vec!["sleep".to_owned(), word.to_owned()]),
            cwd: "/".into(),
            ..Call::default()
        };
        let (faulty, fine) = (call("1000"), call("0.1"));
        let mut on_start = |start: Result<&[String], &str>| {
            assert!(!start.unwrap().contains(&"1000".to_owned()), "a fault, on purpose");
        };
        let (settings, guard) = (Settings::default(), Guard::default());
        let jobs = [&faulty, &fine].map(|call| Job { call, record: None });
        let outcomes = run(&jobs.each_ref(), &settings, &guard, &mut on_start);
        let ends: Vec<End> = outcomes.into_iter().map(|outcome| outcome.end).collect();
        assert!(
            matches!(ends.as_slice(), [End::FailedToStart(reason), End::Exited(0)] if reason.contains("fault")),
            "{ends:?}"
        );
    }
}
