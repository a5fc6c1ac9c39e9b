//! Ends a process: it exits by itself, its pipes stay open, or it is late and killed. Nothing here
//! waits; the loop calls it at every turn.

use std::time::{Duration, Instant};

use rustix::io::Errno;
use rustix::process::{Signal, WaitId, WaitIdOptions, test_kill_process_group, waitid};

use super::{
    BUSY_WAIT_WINDOW, CutReason, EndedProcess, LoopContext, Process, ProcessEnd, ProcessPhase,
};
use crate::orphans;
use crate::posix_spawn;
use crate::process_table::{self, ProcessId, ProcessSet};
use crate::settings::{DRAIN_TIMEOUT, SIGNAL_KILL_GRACE, SWEEP_TIMEOUT, WATCHDOG_DELAY};

/// The kernel discarded an exit code.
const CODE_IGNORED: &str = "it ran, but its exit code was lost because this program or the one \
    that started it ignores SIGCHLD";
/// Another part of this program waited for a process.
const CODE_TAKEN: &str =
    "it ran, but its exit code was lost because another part of this program took it";
/// Between two reads of the process table.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

impl<'a> Process<'a> {
    /// When it must act even if no descriptor is ready.
    pub fn next_wake(&self, now: Instant) -> Instant {
        let due = match self.phase {
            ProcessPhase::Running if self.polls_exit_only(now) => {
                self.deadlines.deadline.min(self.started_at + BUSY_WAIT_WINDOW)
            }
            ProcessPhase::Running if self.watched => self.deadlines.deadline,
            ProcessPhase::Running => self.deadlines.deadline.min(self.watchdog_time()),
            ProcessPhase::Draining(until) => until,
            ProcessPhase::Terminating { until, next_check } if self.exited => until.min(next_check),
            ProcessPhase::Terminating { until, .. } => until,
            ProcessPhase::Sweeping { until, next_check } => until.min(next_check),
        };
        let due = self.stdout.tee_flush_at().map_or(due, |at| due.min(at));
        if self.pidfd.is_none() && !self.exited { due.min(now + POLL_INTERVAL / 4) } else { due }
    }

    /// Advances the attempt; true when it is over and `finish` may be called.
    pub fn advance(&mut self, context: &mut LoopContext<'a>) -> bool {
        self.check_exit();
        self.stdout.flush_tee(context.now);
        match self.phase {
            ProcessPhase::Running => self.advance_running(context),
            ProcessPhase::Draining(until) => !self.has_open_output() || context.now >= until,
            ProcessPhase::Terminating { until, next_check } => {
                if context.now >= until {
                    self.send_kill(context);
                    false
                } else {
                    self.exited && context.now >= next_check && self.is_gone(context)
                }
            }
            ProcessPhase::Sweeping { until, next_check } => {
                context.now >= next_check && (self.is_gone(context) || context.now >= until)
            }
        }
    }

    /// Reaps the process and returns how it ended.
    pub fn finish(mut self, context: &mut LoopContext<'a>) -> EndedProcess {
        let killed =
            matches!(self.phase, ProcessPhase::Terminating { .. } | ProcessPhase::Sweeping { .. });
        let late = killed && !self.rest_killed;
        if killed {
            self.report_killed(context);
        }

        let end = if late { self.reap_timed_out() } else { self.reap_exited() };
        orphans::remove_leader(self.pid);
        let leftovers = if killed { Vec::new() } else { self.hand_off_leftovers(context) };
        let is_registered = self.watched || self.watch_at_once;
        if is_registered {
            context.watchdog.release_tag(&self.tag);
        }

        let (stdout, first) = self.stdout.finish();
        let (stderr, second) = self.stderr.finish();
        self.remarks.extend(first.into_iter().chain(second));
        let cut_short_by = self.cut_short_by.filter(|_| late);
        let leftover_deadline =
            if killed { self.deadlines.deadline } else { self.deadlines.leftover_deadline };
        EndedProcess {
            end,
            stdout,
            stderr,
            cut_short_by,
            remarks: self.remarks,
            leftovers,
            leftover_deadline,
        }
    }

    /// Kills the remaining processes after it has ended by itself; false if that is done.
    pub fn kill_rest(&mut self, context: &mut LoopContext<'a>) -> bool {
        if matches!(self.phase, ProcessPhase::Terminating { .. } | ProcessPhase::Sweeping { .. }) {
            return false;
        }
        self.rest_killed = true;
        context.table = None;
        self.send_kill(context);
        true
    }

    /// Ends it soon, because a signal asked this process to end.
    pub fn terminate_soon(&mut self, context: &mut LoopContext<'a>) {
        let soon = self.deadlines.grace_end(context.now).min(context.now + SIGNAL_KILL_GRACE);
        match &mut self.phase {
            ProcessPhase::Running | ProcessPhase::Draining(_) => {
                self.cut_short_by = Some(CutReason::Interrupted);
                self.send_term(context, soon);
            }
            ProcessPhase::Terminating { until, .. } => *until = soon.min(*until),
            ProcessPhase::Sweeping { .. } => {}
        }
    }

    /// Kills it at once, after a panic in gambrel.
    pub fn kill_at_once(self) {
        process_table::signal_group(self.pid, Signal::KILL);
        posix_spawn::wait_for_exit(self.pid);
        orphans::remove_leader(self.pid);
    }

    pub(super) fn raw_pid(&self) -> i32 {
        self.pid.as_raw_nonzero().get()
    }

    fn has_open_output(&self) -> bool {
        self.stdout.is_open() || self.stderr.is_open()
    }

    fn advance_running(&mut self, context: &mut LoopContext<'a>) -> bool {
        if self.exited {
            self.stdout.read_available(&mut context.scratch, false);
            self.stderr.read_available(&mut context.scratch, false);
            self.stdin = None;
            self.phase =
                ProcessPhase::Draining(self.deadlines.cap_at_kill(context.now + DRAIN_TIMEOUT));
            return !self.has_open_output();
        }
        if context.now >= self.deadlines.deadline {
            let elapsed = context.now.duration_since(self.started_at);
            self.cut_short_by = self.deadlines.by_budget.then_some(CutReason::Budget(elapsed));
            if let Some(length) = self.deadlines.shortened_grace_ms() {
                self.remarks.push(format!("grace: cut to {length} ms"));
            }
            self.send_term(context, self.deadlines.grace_end(context.now));
        } else if !self.watched && context.now >= self.watchdog_time() {
            self.register_with_watchdog(context);
        }
        false
    }

    /// When it is registered with the watchdog.
    fn watchdog_time(&self) -> Instant {
        let delay = if self.watch_at_once { Duration::ZERO } else { WATCHDOG_DELAY };
        self.started_at + delay
    }

    fn register_with_watchdog(&mut self, context: &LoopContext<'a>) {
        self.watched = true;
        if !context.watchdog.is_available() {
            return;
        }
        let Some(start) = process_table::start_time(self.raw_pid()) else { return };
        let leader = ProcessId { pid: self.raw_pid(), start };
        if let Err(reason) = context.watchdog.watch_process(leader, &self.tag) {
            self.remarks.push(format!("watchdog: {reason}"));
        }
    }

    fn process_set(&self, session: bool) -> ProcessSet {
        ProcessSet {
            session: session.then(|| self.raw_pid()),
            roots: self.known_members.clone(),
            tag: self.tag.clone(),
            prefix: false,
            since: self.since,
        }
    }

    /// All its living processes. A process seen once stays known when its parents are gone.
    fn find_members(&mut self, context: &mut LoopContext<'a>) -> Vec<ProcessId> {
        let mut processes = self.process_set(true);
        // Read first: a process that loses its parent afterwards is found as an orphan.
        context.process_table();
        if context.settings.subreaper {
            processes.roots.extend(orphans::find_hidden(self.since));
        }
        let members = context.process_table().find_members(&processes);
        let new = members.iter().filter(|member| !self.known_members.contains(member));
        let new: Vec<ProcessId> = new.copied().collect();
        self.known_members.extend(new);
        members
    }

    /// Sends SIGTERM to the group and to processes outside it, and wakes stopped ones.
    fn send_term(&mut self, context: &mut LoopContext<'a>, until: Instant) {
        self.stdin = None;
        let members = self.find_members(context);
        let outside = context.process_table().outside_group(&members, self.raw_pid());
        for signal in [Signal::TERM, Signal::CONT] {
            self.signal_group(signal);
            process_table::signal_all(&outside, signal);
        }
        self.phase = ProcessPhase::Terminating { until, next_check: context.now };
    }

    /// Sends SIGKILL, before anything is reaped: until then the group's number belongs to
    /// it.
    fn send_kill(&mut self, context: &mut LoopContext<'a>) {
        self.signal_group(Signal::KILL);
        let members = self.find_members(context);
        process_table::signal_all(&members, Signal::KILL);
        let next_check = context.now + POLL_INTERVAL / 10;
        self.phase = ProcessPhase::Sweeping {
            until: self.deadlines.cap_at_answer(context.now + SWEEP_TIMEOUT),
            next_check,
        };
    }

    /// Signals the group. After a foreign child has ended, another process may have its number.
    fn signal_group(&self, signal: Signal) {
        if self.foreign.is_none_or(process_table::is_alive) {
            process_table::signal_group(self.pid, signal);
        }
    }

    /// Whether no process of it lives. In the last phase, living ones are killed again.
    fn is_gone(&mut self, context: &mut LoopContext<'a>) -> bool {
        let members = self.find_members(context);
        let next = context.now + POLL_INTERVAL;
        match &mut self.phase {
            ProcessPhase::Sweeping { next_check, .. } => {
                *next_check = next;
                process_table::signal_all(&members, Signal::KILL);
            }
            ProcessPhase::Terminating { next_check, .. } => *next_check = next,
            ProcessPhase::Running | ProcessPhase::Draining(_) => {}
        }
        members.is_empty()
    }

    /// Adds remarks about killed processes and those that could not be killed.
    fn report_killed(&mut self, context: &mut LoopContext<'a>) {
        if !self.find_members(context).is_empty() {
            // They may have ended since the table was read.
            context.table = None;
        }

        let alive = self.find_members(context);
        let killed = self.known_members.len().saturating_sub(alive.len());
        if killed > 1 {
            self.remarks.push(format!("killed {killed} processes"));
        }
        if !alive.is_empty() {
            self.remarks.push(format!(
                "leak: {} cannot be killed ({})",
                describe_count(&alive),
                describe_pids(&alive)
            ));
        }
        if !self.isolated && !process_table::proc_shows_own_pids() {
            let unseen = "leak: /proc shows another PID namespace; processes that left the session were not searched";
            self.remarks.push(unseen.to_owned());
        }
        self.stdout.read_available(&mut context.scratch, false);
        self.stderr.read_available(&mut context.scratch, false);
    }

    fn reap_timed_out(&self) -> ProcessEnd {
        // A process blocked in the kernel cannot be waited for; init reaps it after this process
        // ends.
        let _ = waitid(WaitId::Pid(self.pid), WaitIdOptions::EXITED | WaitIdOptions::NOHANG);
        ProcessEnd::TimedOut
    }

    fn reap_exited(&self) -> ProcessEnd {
        let lost_exit_code = || {
            let is_ignored = posix_spawn::exit_codes_are_lost();
            ProcessEnd::CodeLost(if is_ignored { CODE_IGNORED } else { CODE_TAKEN })
        };

        loop {
            match waitid(WaitId::Pid(self.pid), WaitIdOptions::EXITED) {
                Ok(Some(status)) => {
                    return ProcessEnd::from_status(&status).unwrap_or_else(lost_exit_code);
                }
                Err(Errno::INTR) => {}
                // Only its parent can see the exit code, and the parent is gone.
                Err(Errno::CHILD) if self.foreign.is_some() => return ProcessEnd::Unobserved,
                Ok(None) | Err(_) => return lost_exit_code(),
            }
        }
    }

    /// After an exit by itself: hands remaining processes to the watchdog until the leftover
    /// deadline.
    fn hand_off_leftovers(&mut self, context: &mut LoopContext<'a>) -> Vec<ProcessId> {
        // The leader is reaped, so only other processes can make the group answer.
        let group = !matches!(test_kill_process_group(self.pid), Err(Errno::SRCH));
        if !group && !self.has_open_output() {
            return Vec::new();
        }
        context.table = None;
        let processes = self.process_set(group);
        let leftovers = context.process_table().find_members(&processes);
        let trace = LeftoverTrace {
            tag: &self.tag,
            deadline: self.deadlines.leftover_deadline,
            leak_record: self.leak_record,
        };
        if let Some(remark) = hand_to_watchdog(&leftovers, &trace, context) {
            self.remarks.push(remark);
        } else if self.has_open_output() {
            self.remarks.push("leak: an unknown process held the output open".to_owned());
        }
        leftovers
    }
}

/// Describes processes that were left running.
pub struct LeftoverTrace<'t> {
    /// The tag in their environment.
    pub tag: &'t str,
    /// The time at which they are killed.
    pub deadline: Instant,
    /// Identifies their owner in the record of the leak.
    pub leak_record: Option<&'t str>,
}

/// Hands remaining processes to the watchdog. Returns a remark about them.
pub fn hand_to_watchdog(
    leftovers: &[ProcessId],
    trace: &LeftoverTrace<'_>,
    context: &LoopContext<'_>,
) -> Option<String> {
    if leftovers.is_empty() {
        return None;
    }
    let (count, list) = (describe_count(leftovers), describe_pids(leftovers));
    if Instant::now() >= trace.deadline {
        process_table::signal_all(leftovers, Signal::KILL);
        return Some(format!("leak: {count} killed at the deadline ({list})"));
    }

    let verb = if leftovers.len() == 1 { "runs" } else { "run" };
    let handed_over = context.watchdog.kill_leftovers_at(leftovers, trace);
    let suffix = handed_over.err().map(|reason| format!("; {reason}")).unwrap_or_default();
    Some(format!("leak: {count} still {verb} ({list}){suffix}"))
}

fn describe_count(members: &[ProcessId]) -> String {
    let plural = if members.len() == 1 { "" } else { "es" };
    format!("{} process{plural}", members.len())
}

fn describe_pids(members: &[ProcessId]) -> String {
    let shown: Vec<String> = members.iter().take(8).map(|member| member.pid.to_string()).collect();
    let more = if members.len() > shown.len() { ", …" } else { "" };
    format!("pid {}{more}", shown.join(", "))
}
