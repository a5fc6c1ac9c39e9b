//! One job from its first attempt to its last: files before, retries with their pauses, and the
//! budget over all of it. It knows no pipes; `process` runs the single attempt.

use std::time::{Duration, Instant};

use gambrel_model::action::Job;
use gambrel_model::call::{Call, Limits};
use gambrel_model::outcome::{End, Outcome};
use rustix::process::Pid;

use crate::detach::Sent;
use crate::handover;

use crate::limits::{Deadlines, later};
use crate::process::{Ended, Process, World};
use crate::recheck::changed_file;
use crate::sidefile;
use crate::tree::Member;

/// A job and how far it is.
pub(crate) struct Attempt<'a> {
    call: &'a Call,
    errand: Option<&'a (dyn Fn() -> String + Sync)>,
    begun: Instant,
    budget: Option<Instant>,
    made: u32,
    /// Nothing more is tried.
    hastened: bool,
    state: State<'a>,
    remarks: Vec<String>,
    command: Vec<String>,
    /// The trusted file that changed while it ran.
    changed: Option<String>,
    /// The marks of its attempts and until when these may run, for whoever looks for their orphans.
    pub marks: Vec<(String, Instant)>,
    /// What they left running, as far as it has been handed over.
    pub left: Vec<Member>,
}

enum State<'a> {
    Waiting(Instant),
    Live(Box<Process<'a>>),
    /// Given to somebody else while it ran.
    Left(Box<(Pid, Sent, Outcome)>),
    Over(Box<Outcome>),
}

impl<'a> Attempt<'a> {
    /// Of a job that has not started.
    pub fn new(job: &Job<'a>, now: Instant) -> Self {
        let call = job.call;
        Self {
            call,
            errand: job.record,
            begun: now,
            budget: call.limits.budget.map(|budget| later(now, budget)),
            made: 0,
            hastened: false,
            state: State::Waiting(now),
            remarks: Vec::new(),
            command: Vec::new(),
            changed: None,
            marks: Vec::new(),
            left: Vec::new(),
        }
    }

    /// Of a process that somebody else has started: there is no other attempt after it.
    pub fn adopted(call: &'a Call, process: Process<'a>) -> Self {
        let mut this = Self::new(&Job { call, record: None }, Instant::now());
        (this.made, this.hastened) = (1, true);
        this.command.clone_from(&process.command);
        this.state = State::Live(Box::new(process));
        this
    }

    /// How the killing of what it leaves running is recorded.
    pub fn slip(&self) -> Option<&'a str> {
        self.call.leak_record.as_deref()
    }

    /// The child that runs now.
    pub fn live(&self) -> Option<&Process<'a>> {
        if let State::Live(process) = &self.state { Some(process) } else { None }
    }

    /// The child that runs now, to be changed.
    pub fn live_mut(&mut self) -> Option<&mut Process<'a>> {
        if let State::Live(process) = &mut self.state { Some(process) } else { None }
    }

    /// Whether its outcome stands.
    pub fn is_over(&self) -> bool {
        matches!(self.state, State::Over(_) | State::Left(_))
    }

    /// When it has something to do by itself.
    pub fn next_wake(&self, now: Instant) -> Option<Instant> {
        match &self.state {
            State::Waiting(at) => Some(*at),
            State::Live(process) => Some(process.next_wake(now)),
            State::Over(_) | State::Left(_) => None,
        }
    }

    /// Whether it wants to start a child now.
    pub fn is_due(&self, now: Instant) -> bool {
        matches!(self.state, State::Waiting(at) if at <= now)
    }

    /// Starts an attempt; what was started is the answer, or why it was not.
    pub fn start(&mut self, world: &mut World<'a>) -> Result<&[String], String> {
        if self.budget.is_some_and(|budget| world.now >= budget) {
            let cut = "no time was left to start it".to_owned();
            self.close(Outcome {
                cut_short_by: Some(cut.clone()),
                ..Outcome::from_end(End::TimedOut)
            });
            return Err(cut);
        }
        let files = match self.made {
            0 => sidefile::write(&self.call.files).map(|remarks| self.remarks.extend(remarks)),
            _ => Ok(()),
        };
        self.made += 1;
        let limits = Deadlines::of(&self.call.limits, world.now, self.budget);
        match files.and_then(|()| Process::start(self.call, limits, world)) {
            Ok(process) => {
                self.command.clone_from(&process.command);
                self.marks.push((process.mark.clone(), limits.deadline));
                self.state = State::Live(Box::new(process));
                Ok(&self.command)
            }
            Err(reason) => {
                let end = End::FailedToStart(reason.clone());
                self.settle(Outcome::from_end(end), world);
                Err(reason)
            }
        }
    }

    /// Does what is due for the child that runs.
    pub fn step(&mut self, world: &mut World<'a>) {
        if let Some(time) = self.live_mut().and_then(Process::goes) {
            return self.part(time, world);
        }
        let over = self.live_mut().is_some_and(|process| process.step(world));
        if !over || self.ends_changed(world) {
            return;
        }
        let state = std::mem::replace(&mut self.state, State::Waiting(world.now));
        if let State::Live(process) = state {
            let Ended { end, stdout, stderr, cut, remarks, left, linger } = process.finish(world);
            self.left.extend(left);
            if let Some((_, until)) = self.marks.last_mut() {
                *until = linger;
            }
            self.remarks.extend(remarks);
            self.settle(
                Outcome { stdout, stderr, cut_short_by: cut, ..Outcome::from_end(end) },
                world,
            );
        }
    }

    /// Looks at the trusted files once it is over. If one changed, what is left of it is ended
    /// first: true while that goes on.
    fn ends_changed(&mut self, world: &mut World<'a>) -> bool {
        if self.changed.is_some() {
            return false;
        }
        self.changed = self.call.watched.as_ref().and_then(changed_file);
        let State::Live(process) = &mut self.state else { return false };
        self.changed.is_some() && process.kill_rest(world)
    }

    /// Gives the child away as it runs. If nobody takes it, it is waited for as before.
    fn part(&mut self, time: Option<Duration>, world: &mut World<'a>) {
        let State::Live(process) = &mut self.state else { return };
        let left = process.time_left(self.call.limits.timeout, world.now);
        let pace = Limits {
            timeout: time.unwrap_or(left),
            leftover_timeout: None,
            budget: None,
            ..self.call.limits.clone()
        };
        let call = Call { limits: pace, ..self.call.clone() };
        let sent = process
            .leaving()
            .and_then(|leaving| handover::send(leaving, &call, self.errand, world.settings));
        match sent {
            Ok(sent) => {
                process.forget(world);
                let remark = "left running: it asked not to be waited for".to_owned();
                let outcome = Outcome {
                    stdout: process.printed(),
                    elapsed: self.begun.elapsed(),
                    attempts: self.made,
                    command: std::mem::take(&mut self.command),
                    remarks: self.remarks.drain(..).chain([remark]).collect(),
                    ..Outcome::from_end(End::Detached)
                };
                // What belongs to it is its new owner's to look for.
                self.marks.clear();
                self.state = State::Left(Box::new((process.pid(), sent, outcome)));
            }
            Err(error) => self.remarks.push(format!("not left running: {error}")),
        }
    }

    /// Ends it because this process is told to go: what runs is given a moment, nothing begins.
    pub fn hasten(&mut self, world: &mut World<'a>) {
        self.hastened = true;
        match &mut self.state {
            State::Live(process) => process.hasten(world),
            State::Waiting(_) => {
                let end = End::FailedToStart("a signal ended gambrel".to_owned());
                self.close(Outcome::from_end(end));
            }
            State::Over(_) | State::Left(_) => {}
        }
    }

    /// Ends it because our own code failed; the other jobs go on.
    pub fn fail(&mut self, world: &World<'_>) {
        let state = std::mem::replace(&mut self.state, State::Waiting(world.now));
        if let State::Live(process) = state {
            process.abandon();
        }
        let end = End::FailedToStart("a fault inside gambrel ended this call".to_owned());
        self.close(Outcome::from_end(end));
    }

    /// Something that was learnt after its end.
    pub fn remark(&mut self, remark: String) {
        if let State::Over(outcome) = &mut self.state {
            outcome.remarks.push(remark);
        }
    }

    /// The outcome of the last attempt.
    pub fn into_outcome(self) -> Outcome {
        match self.state {
            State::Over(outcome) => *outcome,
            State::Left(left) => {
                let (pid, sent, mut outcome) = *left;
                let settled = handover::settle(pid, sent);
                outcome.end = settled.end;
                outcome.remarks.extend(settled.remarks);
                outcome
            }
            State::Waiting(_) | State::Live(_) => {
                Outcome::from_end(End::FailedToStart("the call was not carried out".to_owned()))
            }
        }
    }

    /// Another attempt after the pause, or the end.
    fn settle(&mut self, outcome: Outcome, world: &World<'_>) {
        let ends = self.hastened || self.changed.is_some() || self.made > self.call.limits.retries;
        if ends || outcome.is_success() {
            return self.close(outcome);
        }
        let next = later(Instant::now().max(world.now), self.call.limits.retry_delay);
        if self.budget.is_some_and(|budget| next >= budget) {
            self.remarks.push("budget: no time for another attempt".to_owned());
            return self.close(outcome);
        }
        for spill in [&outcome.stdout.spill, &outcome.stderr.spill].into_iter().flatten() {
            let _ = std::fs::remove_file(spill);
        }
        self.state = State::Waiting(next);
    }

    fn close(&mut self, outcome: Outcome) {
        sidefile::remove_temporary(&self.call.files);
        self.state = State::Over(Box::new(Outcome {
            elapsed: self.begun.elapsed(),
            attempts: self.made,
            command: std::mem::take(&mut self.command),
            remarks: std::mem::take(&mut self.remarks),
            changed: self.changed.take(),
            ..outcome
        }));
    }
}
