//! How a child comes to its end: by itself, held open by what it left, or late and killed. It
//! never waits; it is asked at every turn of the loop what is due.

use std::time::{Duration, Instant};

use gambrel_model::outcome::End;
use rustix::io::Errno;
use rustix::process::{Signal, WaitId, WaitIdOptions, test_kill_process_group, waitid};

use super::{Ended, Process, Stage, World, YOUNG};
use crate::orphans;
use crate::settings::{DRAIN, PARTING, SWEEP};
use crate::spawn;
use crate::tree::{self, Kin, Member};

/// Between two looks at the process table.
const LOOK: Duration = Duration::from_millis(20);

impl<'a> Process<'a> {
    /// When there is something to do even if no descriptor is ready.
    pub fn next_wake(&self, now: Instant) -> Instant {
        let due = match self.stage {
            Stage::Running if self.is_young(now) => self.limits.deadline.min(self.begun + YOUNG),
            Stage::Running if self.watched => self.limits.deadline,
            Stage::Running => self.limits.deadline.min(self.begun + self.watch_after),
            Stage::Draining(until) => until,
            Stage::Terming { until, look } if self.exited => until.min(look),
            Stage::Terming { until, .. } => until,
            Stage::Sweeping { until, look } => until.min(look),
        };
        if self.pidfd.is_none() && !self.exited { due.min(now + LOOK / 4) } else { due }
    }

    /// Does what is due; true when this attempt is over and `finish` may be called.
    pub fn step(&mut self, world: &mut World<'a>) -> bool {
        self.peek();
        match self.stage {
            Stage::Running => self.step_running(world),
            Stage::Draining(until) => !self.held() || world.now >= until,
            Stage::Terming { until, look } => {
                if world.now >= until {
                    self.kill(world);
                    false
                } else {
                    self.exited && world.now >= look && self.gone(world)
                }
            }
            Stage::Sweeping { until, look } => {
                world.now >= look && (self.gone(world) || world.now >= until)
            }
        }
    }

    /// Reaps it and says how it ended.
    pub fn finish(mut self, world: &mut World<'a>) -> Ended {
        let killed = matches!(self.stage, Stage::Terming { .. } | Stage::Sweeping { .. });
        let late = killed && !self.rest_killed;
        if killed {
            self.stay_or_go(world);
        }
        let end = if late { self.reap_late() } else { self.reap() };
        orphans::strike(self.pid);
        let left = if killed { Vec::new() } else { self.look_behind(world) };
        let told = self.watched || world.settings.watch_at_once;
        if let Some(program) = world.settings.supervisor.as_deref().filter(|_| told) {
            world.guard.done(program, &self.mark);
        }
        let (stdout, first) = self.stdout.finish();
        let (stderr, second) = self.stderr.finish();
        self.remarks.extend(first.into_iter().chain(second));
        let cut = self.cut.filter(|_| late);
        let linger = if killed { self.limits.deadline } else { self.limits.linger };
        Ended { end, stdout, stderr, cut, remarks: self.remarks, left, linger }
    }

    /// Kills what is left of a hook that has ended by itself; false if that has been done.
    pub fn kill_rest(&mut self, world: &mut World<'a>) -> bool {
        if matches!(self.stage, Stage::Terming { .. } | Stage::Sweeping { .. }) {
            return false;
        }
        self.rest_killed = true;
        world.table = None;
        self.kill(world);
        true
    }

    /// Ends it soon, because this process is told to go.
    pub fn hasten(&mut self, world: &mut World<'a>) {
        let soon = self.limits.grace_end(world.now).min(world.now + PARTING);
        match &mut self.stage {
            Stage::Running | Stage::Draining(_) => {
                self.cut = Some("a signal ended gambrel".to_owned());
                self.term(world, soon);
            }
            Stage::Terming { until, .. } => *until = soon.min(*until),
            Stage::Sweeping { .. } => {}
        }
    }

    /// Ends it at once, when our own code has failed it.
    pub fn abandon(self) {
        tree::signal_group(self.pid, Signal::KILL);
        spawn::reap(self.pid);
        orphans::strike(self.pid);
    }

    pub(super) fn id(&self) -> i32 {
        self.pid.as_raw_nonzero().get()
    }

    fn held(&self) -> bool {
        self.stdout.is_open() || self.stderr.is_open()
    }

    fn step_running(&mut self, world: &mut World<'a>) -> bool {
        if self.exited {
            self.stdout.pull(&mut world.scratch, false);
            self.stderr.pull(&mut world.scratch, false);
            self.feed = None;
            self.stage = Stage::Draining(self.limits.before_kill(world.now + DRAIN));
            return !self.held();
        }
        if world.now >= self.limits.deadline {
            self.cut = self.limits.cut(world.now.duration_since(self.begun));
            if let Some(length) = self.limits.grace_cut() {
                self.remarks.push(format!("grace: cut to {length} ms"));
            }
            self.term(world, self.limits.grace_end(world.now));
        } else if !self.watched && world.now >= self.begun + self.watch_after {
            self.watch(world);
        }
        false
    }

    fn watch(&mut self, world: &World<'a>) {
        self.watched = true;
        let Some(program) = &world.settings.supervisor else { return };
        let Some(start) = tree::start_time(self.id()) else { return };
        let leader = Member { pid: self.id(), start };
        if let Err(reason) = world.guard.watch(program, leader, &self.mark) {
            self.remarks.push(format!("watchdog: {reason}"));
        }
    }

    fn kin(&self, session: bool) -> Kin {
        Kin {
            session: session.then(|| self.id()),
            roots: self.known.clone(),
            mark: self.mark.clone(),
            prefix: false,
            since: self.since,
        }
    }

    /// Everything of it that lives now; who was seen once stays known when its parents are gone.
    fn members(&mut self, world: &mut World<'a>) -> Vec<Member> {
        let mut kin = self.kin(true);
        if world.settings.subreaper {
            kin.roots.extend(orphans::hidden(self.since));
        }
        let members = world.table().members(&kin);
        let new = members.iter().filter(|member| !self.known.contains(member));
        let new: Vec<Member> = new.copied().collect();
        self.known.extend(new);
        members
    }

    /// The polite signal to the group and to whoever left it. A stopped one is woken to it.
    fn term(&mut self, world: &mut World<'a>, until: Instant) {
        self.feed = None;
        let members = self.members(world);
        let outside = world.table().outside(&members, self.id());
        for signal in [Signal::TERM, Signal::CONT] {
            self.signal_group(signal);
            tree::signal_all(&outside, signal);
        }
        self.stage = Stage::Terming { until, look: world.now };
    }

    /// The last signal, before anything is reaped: until then the group's number is ours.
    fn kill(&mut self, world: &mut World<'a>) {
        self.signal_group(Signal::KILL);
        let members = self.members(world);
        tree::signal_all(&members, Signal::KILL);
        let look = world.now + LOOK / 10;
        self.stage = Stage::Sweeping { until: self.limits.before_answer(world.now + SWEEP), look };
    }

    /// The number of a foreign child's group may be a stranger's once the child is over.
    fn signal_group(&self, signal: Signal) {
        if self.foreign.is_none_or(tree::lives) {
            tree::signal_group(self.pid, signal);
        }
    }

    /// Whether nobody of it lives any more; in the last stage whoever does is killed again.
    fn gone(&mut self, world: &mut World<'a>) -> bool {
        let members = self.members(world);
        let next = world.now + LOOK;
        match &mut self.stage {
            Stage::Sweeping { look, .. } => {
                *look = next;
                tree::signal_all(&members, Signal::KILL);
            }
            Stage::Terming { look, .. } => *look = next,
            Stage::Running | Stage::Draining(_) => {}
        }
        members.is_empty()
    }

    /// Says what was killed and what could not be.
    fn stay_or_go(&mut self, world: &mut World<'a>) {
        if !self.members(world).is_empty() {
            // By now they may have gone.
            world.table = None;
        }
        let alive = self.members(world);
        let killed = self.known.len().saturating_sub(alive.len());
        if killed > 1 {
            self.remarks.push(format!("killed {killed} processes"));
        }
        if !alive.is_empty() {
            self.remarks.push(format!(
                "leak: {} cannot be killed ({})",
                count(&alive),
                list(&alive)
            ));
        }
        if !self.isolated && !tree::proc_shows_our_numbers() {
            let unseen = "leak: /proc is of another PID namespace, so processes that left the session were not looked for";
            self.remarks.push(unseen.to_owned());
        }
        self.stdout.pull(&mut world.scratch, false);
        self.stderr.pull(&mut world.scratch, false);
    }

    fn reap_late(&self) -> End {
        // One that sits in the kernel cannot be waited for; it is init's once we are gone.
        let _ = waitid(WaitId::Pid(self.pid), WaitIdOptions::EXITED | WaitIdOptions::NOHANG);
        End::TimedOut
    }

    fn reap(&self) -> End {
        let lost = || {
            let why = match spawn::exit_codes_are_lost() {
                true => "because this program or the one that started it ignores SIGCHLD",
                false => "because another part of this program took it",
            };
            End::FailedToStart(format!("it ran, but its exit code was lost {why}"))
        };
        loop {
            match waitid(WaitId::Pid(self.pid), WaitIdOptions::EXITED) {
                Ok(Some(status)) => {
                    let by_signal = || status.terminating_signal().map(End::Signalled);
                    return status
                        .exit_status()
                        .map(End::Exited)
                        .or_else(by_signal)
                        .unwrap_or_else(lost);
                }
                Err(Errno::INTR) => {}
                // Its parent has gone on, and whoever has it now does not tell.
                Err(Errno::CHILD) if self.foreign.is_some() => return End::EndedUnobserved,
                Ok(None) | Err(_) => return lost(),
            }
        }
    }

    /// After a good end: whoever is left may finish, but not past the hook's own time.
    fn look_behind(&mut self, world: &mut World<'a>) -> Vec<Member> {
        // The leader is reaped, so only others can make the group answer.
        let group = !matches!(test_kill_process_group(self.pid), Err(Errno::SRCH));
        if !group && !self.held() {
            return Vec::new();
        }
        world.table = None;
        let kin = self.kin(group);
        let left = world.table().members(&kin);
        let trace = Trace { mark: &self.mark, until: self.limits.linger, slip: self.slip };
        if let Some(remark) = leave(&left, &trace, world) {
            self.remarks.push(remark);
        } else if self.held() {
            self.remarks.push("leak: a process that was not found held the output".to_owned());
        }
        left
    }
}

/// What is known of processes that a hook left running.
pub(crate) struct Trace<'t> {
    /// The mark in their environment.
    pub mark: &'t str,
    /// When they are killed.
    pub until: Instant,
    /// How that is recorded.
    pub slip: Option<&'t str>,
}

/// Hands what a hook left running to the watchdog, and says so.
pub(crate) fn leave(left: &[Member], trace: &Trace<'_>, world: &World<'_>) -> Option<String> {
    if left.is_empty() {
        return None;
    }
    let (count, list) = (count(left), list(left));
    if Instant::now() >= trace.until {
        tree::signal_all(left, Signal::KILL);
        return Some(format!("leak: {count} killed at the deadline ({list})"));
    }
    let verb = if left.len() == 1 { "runs" } else { "run" };
    let told = match &world.settings.supervisor {
        Some(program) => world.guard.until(program, left, trace),
        None => Err("no watchdog here ends them".to_owned()),
    };
    let limit = told.err().map(|reason| format!("; {reason}")).unwrap_or_default();
    Some(format!("leak: {count} still {verb} ({list}){limit}"))
}

fn count(members: &[Member]) -> String {
    let plural = if members.len() == 1 { "" } else { "es" };
    format!("{} process{plural}", members.len())
}

fn list(members: &[Member]) -> String {
    let shown: Vec<String> = members.iter().take(8).map(|member| member.pid.to_string()).collect();
    let more = if members.len() > shown.len() { ", …" } else { "" };
    format!("pid {}{more}", shown.join(", "))
}
