//! One job from its first attempt to its last: side files, retries with their delays, and the
//! budget over all attempts. `process` runs a single attempt.

use std::time::{Duration, Instant};

use gambrel_model::action::Job;
use gambrel_model::async_marker::{AsyncMarker, AsyncRequest};
use gambrel_model::call::{Call, Limits, WatchdogStart};
use gambrel_model::outcome::{CutShort, End, Outcome};
use rustix::process::Pid;

use crate::command::prepare_command;
use crate::detach::PendingStart;
use crate::error::{ActionError, ActionResult};
use crate::handoff;
use crate::outcome::{captured, cut_short, end_of, tee_file, time_limits};
use crate::recheck::changed_file;
use crate::sidefile;
use gambrel_process::deadlines::{Deadlines, add_duration};
use gambrel_process::orphans::OrphanOwner;
use gambrel_process::process::{EndedProcess, LoopContext, Process, ProcessRequest};
use gambrel_process::process_table::ProcessId;

/// A job and its current attempt.
pub(crate) struct Attempt<'a> {
    call: &'a Call,
    record: Option<&'a (dyn Fn() -> String + Sync)>,
    started_at: Instant,
    budget: Option<Instant>,
    attempts_made: u32,
    /// No further attempt follows.
    terminating: bool,
    state: AttemptState<'a>,
    remarks: Vec<String>,
    command: Vec<String>,
    /// The trusted file that changed while the hook ran.
    changed: Option<String>,
    /// How it may ask to continue in the background, until its output rules that out.
    async_marker: Option<&'a AsyncMarker>,
    /// The tags of its attempts and their deadlines, to find their orphans.
    tags: Vec<(String, Instant)>,
    /// Processes that its attempts left running and the watchdog already knows.
    leftovers: Vec<ProcessId>,
}

enum AttemptState<'a> {
    Waiting(Instant),
    Running(Box<Process<'a>>),
    /// Handed to a supervisor while it ran.
    HandedOff(Box<(Pid, PendingStart, Outcome)>),
    Done(Box<Outcome>),
}

impl<'a> Attempt<'a> {
    /// A job that has not started.
    pub fn new(job: &Job<'a>, now: Instant) -> Self {
        let call = job.call;
        Self {
            call,
            record: job.record,
            started_at: now,
            budget: call.limits.budget.map(|budget| add_duration(now, budget)),
            attempts_made: 0,
            terminating: false,
            state: AttemptState::Waiting(now),
            remarks: Vec::new(),
            command: Vec::new(),
            changed: None,
            async_marker: None,
            tags: Vec::new(),
            leftovers: Vec::new(),
        }
    }

    /// A process that another process has started. No further attempt follows it.
    pub fn from_adopted(call: &'a Call, process: Process<'a>) -> Self {
        let mut this = Self::new(&Job { call, record: None }, Instant::now());
        (this.attempts_made, this.terminating) = (1, true);
        this.command.clone_from(&process.command);
        this.state = AttemptState::Running(Box::new(process));
        this
    }

    /// Describes it to the search for orphans.
    pub fn orphan_owner(&self) -> OrphanOwner<'_> {
        let leak_record = self.call.leak_record.as_deref();
        OrphanOwner { tags: &self.tags, leftovers: &self.leftovers, leak_record }
    }

    /// The running process, if there is one.
    pub fn running_process(&self) -> Option<&Process<'a>> {
        if let AttemptState::Running(process) = &self.state { Some(process) } else { None }
    }

    /// The running process, mutable.
    pub fn running_process_mut(&mut self) -> Option<&mut Process<'a>> {
        if let AttemptState::Running(process) = &mut self.state { Some(process) } else { None }
    }

    /// Whether its outcome is known.
    pub fn is_done(&self) -> bool {
        matches!(self.state, AttemptState::Done(_) | AttemptState::HandedOff(_))
    }

    /// The next time at which it must act without an event.
    pub fn next_wake(&self, now: Instant) -> Option<Instant> {
        match &self.state {
            AttemptState::Waiting(at) => Some(*at),
            AttemptState::Running(process) => Some(process.next_wake(now)),
            AttemptState::Done(_) | AttemptState::HandedOff(_) => None,
        }
    }

    /// Whether an attempt must start now.
    pub fn is_due(&self, now: Instant) -> bool {
        matches!(self.state, AttemptState::Waiting(at) if at <= now)
    }

    /// Starts an attempt. Returns the command, or why it did not start.
    pub fn start_attempt(&mut self, context: &mut LoopContext<'a>) -> ActionResult<&[String]> {
        if self.budget.is_some_and(|budget| context.now >= budget) {
            let reason = ActionError::NoTime;
            self.finish_call(Outcome {
                cut_short_by: Some(CutShort::Other(reason.to_string())),
                ..Outcome::from_end(End::TimedOut)
            });
            return Err(reason);
        }

        let files = match self.attempts_made {
            0 => sidefile::write_side_files(&self.call.files)
                .map(|remarks| self.remarks.extend(remarks)),
            _ => Ok(()),
        };

        self.attempts_made += 1;
        let deadlines =
            Deadlines::from_limits(&time_limits(&self.call.limits), context.now, self.budget);
        match files.and_then(|()| start_process(self.call, deadlines, context)) {
            Ok(process) => {
                self.async_marker = self.call.async_marker.as_ref();
                self.command.clone_from(&process.command);
                self.tags.push((process.tag.clone(), deadlines.deadline));
                self.state = AttemptState::Running(Box::new(process));
                Ok(&self.command)
            }
            Err(reason) => {
                self.finish_attempt(Outcome::failed_to_start(&reason), context);
                Err(reason)
            }
        }
    }

    /// Advances the running process.
    pub fn advance(&mut self, context: &mut LoopContext<'a>) {
        if let Some(time) = self.read_async_request() {
            return self.hand_off(time, context);
        }
        let over = self.running_process_mut().is_some_and(|process| process.advance(context));
        if !over || self.kill_rest_if_changed(context) {
            return;
        }

        let state = std::mem::replace(&mut self.state, AttemptState::Waiting(context.now));
        if let AttemptState::Running(process) = state {
            let EndedProcess {
                end,
                stdout,
                stderr,
                cut_short_by,
                remarks,
                leftovers,
                leftover_deadline,
            } = process.finish(context);
            self.leftovers.extend(leftovers);
            if let Some((_, until)) = self.tags.last_mut() {
                *until = leftover_deadline;
            }
            self.remarks.extend(remarks);
            let outcome = Outcome {
                stdout: captured(stdout),
                stderr: captured(stderr),
                cut_short_by: cut_short_by.map(cut_short),
                ..Outcome::from_end(end_of(end))
            };
            self.finish_attempt(outcome, context);
        }
    }

    /// Whether its output asks to continue in the background, and for how long. Answers once.
    fn read_async_request(&mut self) -> Option<Option<Duration>> {
        let (marker, process) = (self.async_marker?, self.running_process()?);
        let printed = process.printed_so_far();
        let request = printed.map_or(AsyncRequest::No, |printed| marker.read_marker(printed));
        // A process that has exited cannot continue.
        let exited = process.has_exited();
        if request != AsyncRequest::Incomplete || exited {
            self.async_marker = None;
        }
        match request {
            AsyncRequest::Yes(time) if !exited => Some(time),
            _ => None,
        }
    }

    /// Checks the trusted files after the process has ended. If one changed, kills the remaining
    /// processes first; returns true while that goes on.
    fn kill_rest_if_changed(&mut self, context: &mut LoopContext<'a>) -> bool {
        if self.changed.is_some() {
            return false;
        }
        self.changed = self.call.watched.as_ref().and_then(changed_file);
        let AttemptState::Running(process) = &mut self.state else { return false };
        self.changed.is_some() && process.kill_rest(context)
    }

    /// Hands the running process to a supervisor. If no supervisor takes it, the batch waits for it
    /// as before.
    fn hand_off(&mut self, time: Option<Duration>, context: &mut LoopContext<'a>) {
        let AttemptState::Running(process) = &mut self.state else { return };
        let time_left = process.time_left(self.call.limits.timeout, context.now);
        let limits = Limits {
            timeout: time.unwrap_or(time_left),
            leftover_timeout: None,
            budget: None,
            ..self.call.limits.clone()
        };

        let call = Call { limits, ..self.call.clone() };
        let pending = process
            .prepare_handoff()
            .and_then(|handoff| handoff::hand_off(handoff, &call, self.record, context.settings));

        match pending {
            Ok(pending) => {
                process.release(context);
                let remark = "left running: it asked not to be waited for".to_owned();
                let outcome = Outcome {
                    stdout: captured(process.stdout_so_far()),
                    elapsed: self.started_at.elapsed(),
                    attempts: self.attempts_made,
                    command: std::mem::take(&mut self.command),
                    remarks: self.remarks.drain(..).chain([remark]).collect(),
                    ..Outcome::from_end(End::Detached)
                };
                // The supervisor now looks for its processes.
                self.tags.clear();
                self.state = AttemptState::HandedOff(Box::new((process.pid(), pending, outcome)));
            }
            Err(error) => self.remarks.push(format!("not left running: {error}")),
        }
    }

    /// Ends it because a signal asked this process to end: a running process gets a short grace,
    /// and nothing starts.
    pub fn terminate_soon(&mut self, context: &mut LoopContext<'a>) {
        self.terminating = true;
        match &mut self.state {
            AttemptState::Running(process) => process.terminate_soon(context),
            AttemptState::Waiting(_) => {
                self.finish_call(Outcome::interrupted());
            }
            AttemptState::Done(_) | AttemptState::HandedOff(_) => {}
        }
    }

    /// Ends it after a panic in gambrel; the other jobs go on.
    pub fn fail_call(&mut self, context: &LoopContext<'_>) {
        let state = std::mem::replace(&mut self.state, AttemptState::Waiting(context.now));
        if let AttemptState::Running(process) = state {
            process.kill_at_once();
        }

        self.finish_call(Outcome::failed_to_start("a fault inside gambrel ended this call"));
    }

    /// Adds a remark after its end.
    pub fn add_remark(&mut self, remark: String) {
        if let AttemptState::Done(outcome) = &mut self.state {
            outcome.remarks.push(remark);
        }
    }

    /// The outcome of the last attempt.
    pub fn into_outcome(self) -> Outcome {
        match self.state {
            AttemptState::Done(outcome) => *outcome,
            AttemptState::HandedOff(handed_off) => {
                let (pid, pending, mut outcome) = *handed_off;
                let confirmed = handoff::confirm_handoff(pid, pending);
                outcome.end = confirmed.end;
                outcome.remarks.extend(confirmed.remarks);
                outcome
            }
            AttemptState::Waiting(_) | AttemptState::Running(_) => {
                Outcome::failed_to_start("the call did not run")
            }
        }
    }

    /// Schedules another attempt, or finishes the call.
    fn finish_attempt(&mut self, outcome: Outcome, context: &LoopContext<'_>) {
        let is_last = self.terminating
            || self.changed.is_some()
            || self.attempts_made > self.call.limits.retries;
        if is_last || outcome.is_success() {
            return self.finish_call(outcome);
        }
        let next = add_duration(Instant::now().max(context.now), self.call.limits.retry_delay);
        if self.budget.is_some_and(|budget| next >= budget) {
            self.remarks.push("budget: no time for another attempt".to_owned());
            return self.finish_call(outcome);
        }

        for spill in [&outcome.stdout.spill, &outcome.stderr.spill].into_iter().flatten() {
            let _ = std::fs::remove_file(spill);
        }
        self.state = AttemptState::Waiting(next);
    }

    fn finish_call(&mut self, outcome: Outcome) {
        sidefile::remove_temporary(&self.call.files);
        self.state = AttemptState::Done(Box::new(Outcome {
            elapsed: self.started_at.elapsed(),
            attempts: self.attempts_made,
            command: std::mem::take(&mut self.command),
            remarks: std::mem::take(&mut self.remarks),
            changed: self.changed.take(),
            ..outcome
        }));
    }
}

fn start_process<'a>(
    call: &'a Call,
    deadlines: Deadlines,
    context: &LoopContext<'a>,
) -> ActionResult<Process<'a>> {
    let request = ProcessRequest {
        command: prepare_command(call, !context.settings.always_uses_shell)?,
        stdin: call.stdin.as_ref().map(|bytes| bytes.as_slice()),
        may_detach: call.async_marker.is_some(),
        leak_record: call.leak_record.as_deref(),
        tee_stdout: tee_file(call),
        watch_at_once: call.limits.watchdog == WatchdogStart::Immediately,
    };
    Ok(Process::start(request, deadlines, context)?)
}
