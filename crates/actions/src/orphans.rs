//! For a process that is a subreaper: a hook's process that left its session and lost its parent
//! becomes a child of this process. One system call shows whether there is any.

use std::sync::{Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard};

use rustix::io::Errno;
use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};

use crate::attempt::Attempt;
use crate::process::{LeftoverTrace, LoopContext, hand_to_watchdog};
use crate::process_table::{self, HookProcesses, ProcessId, ProcessTable};
use crate::watchdog_client;

/// Held while a child starts, so that no other thread takes it for an orphan before it is listed.
static SPAWN_LOCK: RwLock<()> = RwLock::new(());
/// The hooks that run in this process, of all batches.
static LEADERS: Mutex<Vec<Pid>> = Mutex::new(Vec::new());

/// Holds off the search for orphans while a child is started and listed.
pub(crate) fn lock_spawns() -> RwLockReadGuard<'static, ()> {
    SPAWN_LOCK.read().unwrap_or_else(PoisonError::into_inner)
}

/// Lists a hook's first process, under [`lock_spawns`].
pub(crate) fn add_leader(leader: Pid) {
    lock_leaders().push(leader);
}

/// Removes a process that its own batch has reaped.
pub(crate) fn remove_leader(leader: Pid) {
    let mut leaders = lock_leaders();
    // One entry only: the kernel may have given the number to the next hook already.
    if let Some(index) = leaders.iter().position(|entry| *entry == leader) {
        leaders.swap_remove(index);
    }
}

/// Finds processes that the hooks of a batch left, and hands them to the watchdog.
pub(crate) fn hand_off_orphans(jobs: &mut [Attempt<'_>], context: &LoopContext<'_>) {
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    if matches!(waitid(WaitId::All, options), Err(Errno::CHILD)) {
        return;
    }

    let orphans = find_orphans();
    hand_off_hidden(jobs, &orphans, context);
    let tags: Vec<_> = orphans.iter().map(|member| process_table::read_tag(member.pid)).collect();

    for job in jobs {
        for (tag, until) in job.tags.clone() {
            let tagged = orphans.iter().zip(&tags);
            let own = tagged.filter(|(_, own_tag)| own_tag.as_deref() == Some(tag.as_bytes()));
            let own = own.map(|(member, _)| member);
            // The watchdog already has those of the hook's own group.
            let new = own.filter(|member| !job.leftovers.contains(member)).copied();
            let trace =
                LeftoverTrace { tag: &tag, deadline: until, leak_record: job.leak_record() };
            if let Some(remark) = hand_to_watchdog(&new.collect::<Vec<_>>(), &trace, context) {
                job.add_remark(remark);
            }
        }
    }
}

/// Living untagged children of this process: they left a hook's session, emptied their environment
/// and lost their parents. While only one hook runs here they belong to it. Otherwise the last
/// hook's end looks for them.
pub(crate) fn find_hidden(since: u64) -> Vec<ProcessId> {
    if lock_leaders().len() > 1 { Vec::new() } else { filter_untagged(&find_orphans(), since) }
}

/// Selects untagged children outside this process's session: a hook never shares it, so a process
/// in it is another helper.
fn filter_untagged(orphans: &[ProcessId], since: u64) -> Vec<ProcessId> {
    let own_session = process_table::session_id(std::process::id() as i32);
    let is_hooks = |member: &&ProcessId| {
        member.start >= since
            && process_table::session_id(member.pid) != own_session
            && !process_table::is_tagged(member.pid)
    };
    orphans.iter().filter(is_hooks).copied().collect()
}

/// Has untagged processes killed at the deadline of the last hook.
fn hand_off_hidden(jobs: &mut [Attempt<'_>], orphans: &[ProcessId], context: &LoopContext<'_>) {
    let hidden = filter_untagged(orphans, context.since);
    if hidden.is_empty() || !lock_leaders().is_empty() {
        return;
    }
    let last_deadline = |job: &&mut Attempt<'_>| job.tags.iter().map(|(_, until)| *until).max();
    let Some(job) = jobs.iter_mut().max_by_key(last_deadline) else { return };
    let Some((tag, until)) = job.tags.iter().max_by_key(|(_, until)| *until).cloned() else {
        return;
    };

    let members = ProcessTable::read_proc()
        .find_members(&HookProcesses { roots: hidden, ..HookProcesses::default() });
    let trace = LeftoverTrace { tag: &tag, deadline: until, leak_record: job.leak_record() };
    if let Some(remark) = hand_to_watchdog(&members, &trace, context) {
        job.add_remark(remark);
    }
}

/// Living children that no batch or helper started. Reaps the dead ones.
fn find_orphans() -> Vec<ProcessId> {
    let _guard = SPAWN_LOCK.write().unwrap_or_else(PoisonError::into_inner);
    let known = lock_leaders().clone();
    let pids = process_table::own_children().into_iter().filter_map(Pid::from_raw);
    let unknown = pids.filter(|pid| !known.contains(pid) && !watchdog_client::is_helper(*pid));

    let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG;
    let living = unknown.filter(|pid| matches!(waitid(WaitId::Pid(*pid), options), Ok(None)));
    let member = |pid: Pid| {
        let pid = pid.as_raw_nonzero().get();
        Some(ProcessId { pid, start: process_table::start_time(pid)? })
    };
    living.filter_map(member).collect()
}

fn lock_leaders() -> MutexGuard<'static, Vec<Pid>> {
    LEADERS.lock().unwrap_or_else(PoisonError::into_inner)
}
