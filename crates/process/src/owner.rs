//! Owns the processes of one module or program: starts them, lets them outlive a successful call
//! for a limited time, and has everything killed that they leave.

use std::os::fd::{AsFd, OwnedFd};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

use rustix::io::Errno;

use crate::command::ProcessCommand;
use crate::error::StartError;
use crate::group::{GroupMembers, ProcessGroup};
use crate::lock::lock;
use crate::orphans;
use crate::process::{LeftoverTrace, move_above_stdio, open_pipe};
use crate::process_table::{self, ProcessId};
use crate::watchdog_client::WatchdogClient;

/// Where a stream of a process leads.
pub enum StreamEnd {
    /// To `/dev/null`.
    Null,
    /// To a pipe whose other end belongs to this process.
    Pipe,
    /// To an open file.
    File(OwnedFd),
}

/// This process's ends of the pipes of a process.
pub type ParentEnds = [Option<OwnedFd>; 3];

/// The owner of process groups.
#[derive(Debug, Clone, Default)]
pub struct ProcessOwner(Arc<OwnerRecord>);

#[derive(Debug, Default)]
struct OwnerRecord {
    watchdog: Arc<WatchdogClient>,
    subreaper: bool,
    state: Mutex<OwnerState>,
}

#[derive(Debug, Default)]
struct OwnerState {
    groups: Vec<OwnedGroup>,
    /// What groups may have left that ended by themselves, until their call has succeeded.
    ended: Vec<Remains>,
}

#[derive(Debug)]
struct OwnedGroup {
    /// `None` for a process that is not reported to the user.
    name: Option<String>,
    group: Weak<GroupMembers>,
}

/// What may be left of a group.
#[derive(Debug)]
struct Remains {
    tag: String,
    /// Processes that are known only by their number.
    hidden: Vec<ProcessId>,
}

impl ProcessOwner {
    /// An owner without processes. `subreaper` makes orphans of its processes children of this
    /// process, which must have no other children than started processes and helpers.
    pub fn new(watchdog: Arc<WatchdogClient>, subreaper: bool) -> Self {
        Self(Arc::new(OwnerRecord { watchdog, subreaper, state: Mutex::default() }))
    }

    /// Starts a process that leads a group. The watchdog knows its tag before the start. `name` is
    /// what [`Self::allow_leftovers`] reports.
    pub fn start(
        &self,
        command: ProcessCommand<'_>,
        streams: [StreamEnd; 3],
        name: Option<&str>,
    ) -> Result<(ProcessGroup, ParentEnds), StartError> {
        if self.0.subreaper {
            orphans::become_subreaper();
        }
        let (ours, theirs) = open_streams(streams).map_err(|e| StartError::NoPipe(e.into()))?;
        let tag = command.tag().to_owned();
        // Without a watchdog it only outlives this process if that is killed.
        let _ = self.0.watchdog.expect_tag(&tag);

        let since = process_table::ticks_now();
        let spawn_lock = orphans::lock_spawns();
        let streams = theirs.each_ref().map(|end| end.as_ref().map(AsFd::as_fd));
        let started = command.start(streams);
        let started = started.inspect_err(|_| self.0.watchdog.release_tag(&tag))?;
        orphans::add_leader(started.pid, since);
        drop(spawn_lock);

        let group = ProcessGroup::new(self.clone(), started, since);
        group.watch();
        let owned = OwnedGroup { name: name.map(str::to_owned), group: group.downgrade() };
        self.lock_state().groups.push(owned);
        Ok((group, ours))
    }

    /// After a successful call: running groups and what ended ones left may outlive this process
    /// until the deadline. Returns the names of the processes that are left running for the first
    /// time.
    pub fn allow_leftovers(&self, duration: Duration) -> Vec<String> {
        let mut state = self.lock_state();
        let deadline = Instant::now() + duration;
        let mut names = Vec::new();
        for owned in &state.groups {
            let Some(group) = owned.group.upgrade().map(ProcessGroup::from) else { continue };
            if group.allow_until(deadline, owned.name.is_none()) {
                names.extend(owned.name.clone());
            }
        }
        let ended = std::mem::take(&mut state.ended);
        ended.iter().for_each(|remains| self.kill_remains_at(remains, deadline));
        names
    }

    /// Ties all running groups to the life of this process again.
    pub fn revoke_leftovers(&self) {
        let groups: Vec<_> =
            self.lock_state().groups.iter().filter_map(|owned| owned.group.upgrade()).collect();
        groups.into_iter().map(ProcessGroup::from).for_each(|group| group.revoke_leftovers());
    }

    pub(crate) fn watchdog(&self) -> &WatchdogClient {
        &self.0.watchdog
    }

    pub(crate) fn is_subreaper(&self) -> bool {
        self.0.subreaper
    }

    /// Records a group that ended by itself. What it left ends with its owner, or at the deadline
    /// if its call has succeeded.
    pub(crate) fn record_ended(&self, tag: &str, deadline: Option<Instant>) {
        let hidden = if self.0.subreaper { orphans::find_hidden_since_busy() } else { Vec::new() };
        let remains = Remains { tag: tag.to_owned(), hidden };
        match deadline {
            Some(deadline) => self.kill_remains_at(&remains, deadline),
            None => self.lock_state().ended.push(remains),
        }
    }

    fn kill_remains_at(&self, remains: &Remains, deadline: Instant) {
        let trace = LeftoverTrace { tag: &remains.tag, deadline, leak_record: None };
        // Without a watchdog they run on, as every process that left its group.
        let _ = self.0.watchdog.kill_tagged_at(&remains.hidden, &trace);
        self.0.watchdog.release_tag(&remains.tag);
    }

    fn lock_state(&self) -> MutexGuard<'_, OwnerState> {
        let mut state = lock(&self.0.state);
        state.groups.retain(|owned| owned.group.strong_count() > 0);
        state
    }
}

impl Drop for OwnerRecord {
    /// No group is left, because each of them has a reference to this.
    fn drop(&mut self) {
        let state = self.state.get_mut().unwrap_or_else(PoisonError::into_inner);
        for remains in state.ended.drain(..) {
            let trace =
                LeftoverTrace { tag: &remains.tag, deadline: Instant::now(), leak_record: None };
            if self.watchdog.kill_tagged_at(&remains.hidden, &trace).is_err() {
                process_table::kill_set(&process_table::ProcessSet {
                    tag: remains.tag,
                    roots: remains.hidden,
                    ..Default::default()
                });
            } else {
                self.watchdog.release_tag(&remains.tag);
            }
        }
    }
}

/// Opens the pipes, and returns the ends of both sides.
fn open_streams(streams: [StreamEnd; 3]) -> Result<(ParentEnds, ParentEnds), Errno> {
    let (mut ours, mut theirs) = ([None, None, None], [None, None, None]);
    for (number, stream) in streams.into_iter().enumerate() {
        (ours[number], theirs[number]) = match stream {
            StreamEnd::Null => (None, None),
            StreamEnd::File(file) => (None, Some(move_above_stdio(file))),
            StreamEnd::Pipe => {
                let (read, write) = open_pipe()?;
                let (parent, child) = if number == 0 { (write, read) } else { (read, write) };
                (Some(parent), Some(child))
            }
        };
    }
    Ok((ours, theirs))
}
