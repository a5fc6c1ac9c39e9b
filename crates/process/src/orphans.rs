//! For a process that is a subreaper: a descendant that left its session and lost its parent
//! becomes a child of this process. One system call shows whether there is any.

use std::sync::{Mutex, Once, PoisonError, RwLock, RwLockReadGuard};
use std::time::Instant;

use rustix::io::Errno;
use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};

use crate::lock::lock;
use crate::process::{LeftoverTrace, LoopContext, hand_to_watchdog};
use crate::process_table::{self, ProcessId, ProcessSet, ProcessTable};
use crate::watchdog_client;

/// Held while a child starts, so that no other thread takes it for an orphan before it is listed.
static SPAWN_LOCK: RwLock<()> = RwLock::new(());
/// The processes that this one started and has not reaped.
static LEADERS: Mutex<Leaders> = Mutex::new(Leaders { pids: Vec::new(), since: 0 });

struct Leaders {
    pids: Vec<Pid>,
    /// When the first of them started after a time without any, in the kernel's ticks.
    since: u64,
}

/// Makes this process the parent of orphans, once.
pub fn become_subreaper() {
    static DONE: Once = Once::new();
    DONE.call_once(|| {
        // On failure orphans go to init. Their tags still show them while they hold a pipe.
        let _ = rustix::process::set_child_subreaper(Some(rustix::process::getpid()));
    });
}

/// Holds off the search for orphans while a child is started and listed.
pub fn lock_spawns() -> RwLockReadGuard<'static, ()> {
    SPAWN_LOCK.read().unwrap_or_else(PoisonError::into_inner)
}

/// Lists a started process, under [`lock_spawns`].
pub fn add_leader(leader: Pid, since: u64) {
    let mut leaders = lock(&LEADERS);
    if leaders.pids.is_empty() {
        leaders.since = since;
    }
    leaders.pids.push(leader);
}

/// Removes a process that its owner has reaped.
pub fn remove_leader(leader: Pid) {
    let leaders = &mut lock(&LEADERS).pids;
    // One entry only: the kernel may have given the number to the next process already.
    if let Some(index) = leaders.iter().position(|entry| *entry == leader) {
        leaders.swap_remove(index);
    }
}

/// Who started processes that may have left orphans.
pub struct OrphanOwner<'a> {
    /// The tags of its processes, and until when those may run.
    pub tags: &'a [(String, Instant)],
    /// Processes that the watchdog already knows.
    pub leftovers: &'a [ProcessId],
    /// Identifies it in the record of a leak.
    pub leak_record: Option<&'a str>,
}

/// Finds processes that these owners left, and hands them to the watchdog. Returns remarks, each
/// with the position of its owner.
pub fn hand_off_orphans(
    owners: &[OrphanOwner<'_>],
    context: &LoopContext<'_>,
) -> Vec<(usize, String)> {
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    if matches!(waitid(WaitId::All, options), Err(Errno::CHILD)) {
        return Vec::new();
    }

    let orphans = find_orphans();
    let mut remarks = Vec::from_iter(hand_off_hidden(owners, &orphans, context));
    let tags: Vec<_> = orphans.iter().map(|member| process_table::read_tag(member.pid)).collect();

    for (index, owner) in owners.iter().enumerate() {
        for (tag, until) in owner.tags {
            let tagged = orphans.iter().zip(&tags);
            let own = tagged.filter(|(_, own_tag)| own_tag.as_deref() == Some(tag.as_bytes()));
            let own = own.map(|(member, _)| member);
            // The watchdog already has those of the process's own group.
            let new = own.filter(|member| !owner.leftovers.contains(member)).copied();
            let trace = LeftoverTrace { tag, deadline: *until, leak_record: owner.leak_record };
            let remark = hand_to_watchdog(&new.collect::<Vec<_>>(), &trace, context);
            remarks.extend(remark.map(|remark| (index, remark)));
        }
    }
    remarks
}

/// Living untagged children of this process: they left their session, emptied their environment and
/// lost their parents. While only one started process runs they belong to it. Otherwise the end of
/// the last one looks for them.
pub fn find_hidden(since: u64) -> Vec<ProcessId> {
    if lock(&LEADERS).pids.len() > 1 { Vec::new() } else { filter_untagged(&find_orphans(), since) }
}

/// Hidden processes since the time when no started process ran.
pub(crate) fn find_hidden_since_busy() -> Vec<ProcessId> {
    let since = lock(&LEADERS).since;
    find_hidden(since)
}

/// The living processes of a set; in a subreaper also the hidden ones.
pub(crate) fn find_members(mut set: ProcessSet, subreaper: bool) -> Vec<ProcessId> {
    // Read first: a process that loses its parent afterwards is found as an orphan.
    let table = ProcessTable::read_proc();
    if subreaper {
        set.roots.extend(find_hidden_since_busy());
    }
    table.find_members(&set)
}

/// Selects untagged children outside this process's session: a started process never shares it, so
/// a process in it is another helper.
fn filter_untagged(orphans: &[ProcessId], since: u64) -> Vec<ProcessId> {
    let own_session = process_table::session_id(std::process::id() as i32);
    let is_hooks = |member: &&ProcessId| {
        member.start >= since
            && process_table::session_id(member.pid) != own_session
            && process_table::read_tag(member.pid).is_none()
    };
    orphans.iter().filter(is_hooks).copied().collect()
}

/// Has untagged processes killed at the last deadline of all owners.
fn hand_off_hidden(
    owners: &[OrphanOwner<'_>],
    orphans: &[ProcessId],
    context: &LoopContext<'_>,
) -> Option<(usize, String)> {
    let hidden = filter_untagged(orphans, context.since);
    if hidden.is_empty() || !lock(&LEADERS).pids.is_empty() {
        return None;
    }
    let tags = owners.iter().enumerate();
    let tags = tags.flat_map(|(index, owner)| owner.tags.iter().map(move |tag| (index, tag)));
    let (index, (tag, deadline)) = tags.max_by_key(|(_, (_, until))| *until)?;

    let members = ProcessTable::read_proc()
        .find_members(&ProcessSet { roots: hidden, ..ProcessSet::default() });
    let leak_record = owners.get(index)?.leak_record;
    let trace = LeftoverTrace { tag, deadline: *deadline, leak_record };
    hand_to_watchdog(&members, &trace, context).map(|remark| (index, remark))
}

/// Living children that no batch or helper started. Reaps the dead ones.
fn find_orphans() -> Vec<ProcessId> {
    let _guard = SPAWN_LOCK.write().unwrap_or_else(PoisonError::into_inner);
    let known = lock(&LEADERS).pids.clone();
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
