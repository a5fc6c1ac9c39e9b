//! A started process with its descendants, wherever they went: one session, one tag. It is killed
//! before its leader is reaped, because the number may then belong to another process.

use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Instant;

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, waitid};

use crate::command::StartedProcess;
use crate::lock::lock;
use crate::orphans;
use crate::owner::ProcessOwner;
use crate::posix_spawn::wait_for_exit;
use crate::process::{LeftoverTrace, ProcessEnd};
use crate::process_table::{self, ProcessId, ProcessSet};

/// A running process and its descendants. Every clone is the same group.
#[derive(Debug, Clone)]
pub struct ProcessGroup(Arc<GroupMembers>);

/// The state that all clones of a [`ProcessGroup`] share.
#[derive(Debug)]
pub(crate) struct GroupMembers {
    owner: ProcessOwner,
    pid: Pid,
    start: Option<u64>,
    command: Vec<String>,
    tag: String,
    since: u64,
    state: Mutex<GroupState>,
}

#[derive(Debug, Default)]
struct GroupState {
    /// Its number may belong to another process.
    reaped: bool,
    /// All its processes were killed.
    swept: bool,
    /// Until when it may outlive its owner.
    leftover_deadline: Option<Instant>,
}

impl From<Arc<GroupMembers>> for ProcessGroup {
    fn from(members: Arc<GroupMembers>) -> Self {
        Self(members)
    }
}

impl ProcessGroup {
    pub(crate) fn new(owner: ProcessOwner, started: StartedProcess, since: u64) -> Self {
        let start = process_table::start_time(started.pid.as_raw_nonzero().get());
        let StartedProcess { pid, command, tag } = started;
        let state = Mutex::default();
        Self(Arc::new(GroupMembers { owner, pid, start, command, tag, since, state }))
    }

    pub(crate) fn downgrade(&self) -> Weak<GroupMembers> {
        Arc::downgrade(&self.0)
    }

    /// The process id of its leader.
    pub fn id(&self) -> i32 {
        self.0.pid.as_raw_nonzero().get()
    }

    /// The executed command.
    pub fn command(&self) -> &[String] {
        &self.0.command
    }

    /// Signals the whole group.
    pub fn signal(&self, signal: Signal) {
        if !lock(&self.0.state).reaped {
            process_table::signal_group(self.0.pid, signal);
        }
    }

    /// Signals all its processes, also those that left the group.
    pub fn signal_tree(&self, signal: Signal) {
        self.signal(signal);
        process_table::signal_all(&self.find_members(), signal);
    }

    /// Whether all its processes were killed.
    pub fn is_swept(&self) -> bool {
        lock(&self.0.state).swept
    }

    /// Kills all its processes, also those that left the group.
    pub fn kill_tree(&self) {
        lock(&self.0.state).swept = true;
        process_table::kill_until_gone(|| {
            self.signal(Signal::KILL);
            self.find_members()
        });
    }

    /// Ends it, unless it may outlive its owner; then returns until when. Kills it on this thread,
    /// because this process may be about to exit.
    pub fn end_unless_left(&self) -> Option<Instant> {
        let deadline = self.leftover_deadline();
        if deadline.is_none() {
            self.kill_tree();
        }
        deadline
    }

    /// Until when it may outlive its owner, if it may.
    pub fn leftover_deadline(&self) -> Option<Instant> {
        lock(&self.0.state).leftover_deadline
    }

    /// Ties it to the life of this process again.
    pub fn revoke_leftovers(&self) {
        if lock(&self.0.state).leftover_deadline.take().is_some() {
            self.watch();
        }
    }

    /// Whether a process of it lives, inside the group or outside.
    pub fn has_members(&self) -> bool {
        !self.find_members().is_empty()
    }

    /// Whether its leader has ended.
    pub fn has_exited(&self) -> bool {
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT | WaitIdOptions::NOHANG;
        lock(&self.0.state).reaped || !matches!(waitid(WaitId::Pid(self.0.pid), options), Ok(None))
    }

    /// Waits for the end of the leader and does not reap it, so that its number is not reused.
    pub fn wait_for_exit(&self) -> Option<ProcessEnd> {
        self.wait_with(WaitIdOptions::EXITED | WaitIdOptions::NOWAIT)
    }

    /// Waits for the leader and reaps it. `None` if another clone has done so.
    pub fn reap(&self) -> Option<ProcessEnd> {
        // Without the lock: a clone may signal it meanwhile.
        self.wait_for_exit();
        let deadline = {
            let mut state = lock(&self.0.state);
            if std::mem::replace(&mut state.reaped, true) {
                return None;
            }
            (!state.swept).then_some(state.leftover_deadline)
        };
        let end = self.wait_with(WaitIdOptions::EXITED);
        orphans::remove_leader(self.0.pid);
        match deadline {
            Some(deadline) => self.0.owner.record_ended(&self.0.tag, deadline),
            None => self.0.owner.watchdog().release_tag(&self.0.tag),
        }
        end
    }

    /// Has it killed if this process dies.
    pub(crate) fn watch(&self) {
        if let Some(start) = self.0.start {
            let leader = ProcessId { pid: self.id(), start };
            let _ = self.0.owner.watchdog().watch_process(leader, &self.0.tag);
        }
    }

    /// Lets it outlive its owner until the deadline. An earlier deadline stays, unless `again`.
    /// True if it has a new one.
    pub(crate) fn allow_until(&self, deadline: Instant, again: bool) -> bool {
        let mut state = lock(&self.0.state);
        if state.reaped || (state.leftover_deadline.is_some() && !again) {
            return false;
        }
        state.leftover_deadline = Some(deadline);
        let leader = self.0.start.map(|start| ProcessId { pid: self.id(), start });
        let trace = LeftoverTrace { tag: &self.0.tag, deadline, leak_record: None };
        let watchdog = self.0.owner.watchdog();
        let _ = watchdog.kill_tagged_at(&Vec::from_iter(leader), &trace);
        watchdog.release_tag(&self.0.tag);
        true
    }

    fn wait_with(&self, options: WaitIdOptions) -> Option<ProcessEnd> {
        let status = rustix::io::retry_on_intr(|| waitid(WaitId::Pid(self.0.pid), options));
        ProcessEnd::from_status(&status.ok().flatten()?)
    }

    fn find_members(&self) -> Vec<ProcessId> {
        let session = (!lock(&self.0.state).reaped).then(|| self.id());
        let (tag, since) = (self.0.tag.clone(), self.0.since);
        let set = ProcessSet { session, tag, since, ..ProcessSet::default() };
        orphans::find_members(set, self.0.owner.is_subreaper())
    }
}

impl Drop for GroupMembers {
    /// Kills and reaps a group that its user forgot.
    fn drop(&mut self) {
        let state = self.state.get_mut().unwrap_or_else(PoisonError::into_inner);
        if !state.reaped {
            process_table::signal_group(self.pid, Signal::KILL);
            wait_for_exit(self.pid);
            orphans::remove_leader(self.pid);
            self.owner.record_ended(&self.tag, None);
        }
    }
}
