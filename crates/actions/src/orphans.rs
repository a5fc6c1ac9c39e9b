//! For a process that is the reaper of its hooks' orphans: whoever left its session and lost its
//! parent is our child now, and one system call tells whether there is any.

use std::sync::{Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard};

use rustix::io::Errno;
use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};

use crate::attempt::Attempt;
use crate::guard;
use crate::process::{Trace, World, leave};
use crate::tree::{self, Kin, Member, Snapshot};

/// Between the birth of a leader and its entry nobody may take it for an orphan.
static BIRTH: RwLock<()> = RwLock::new(());
/// The hooks that run in this process, of all batches.
static LEADERS: Mutex<Vec<Pid>> = Mutex::new(Vec::new());

/// Held while a child is started and entered somewhere.
pub(crate) fn hold() -> RwLockReadGuard<'static, ()> {
    BIRTH.read().unwrap_or_else(PoisonError::into_inner)
}

/// Enters a leader, under [`hold`].
pub(crate) fn enter(leader: Pid) {
    leaders().push(leader);
}

/// Strikes out a leader that its own batch has reaped.
pub(crate) fn strike(leader: Pid) {
    let mut leaders = leaders();
    // One entry only: the number may have been given to the next hook already.
    if let Some(index) = leaders.iter().position(|entry| *entry == leader) {
        leaders.swap_remove(index);
    }
}

/// Finds what the hooks of a batch left to us, and hands it to the watchdog.
pub(crate) fn look(jobs: &mut [Attempt<'_>], world: &World<'_>) {
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    if matches!(waitid(WaitId::All, options), Err(Errno::CHILD)) {
        return;
    }
    let strangers = strangers();
    leave_hidden(jobs, &strangers, world);
    let marks: Vec<_> = strangers.iter().map(|member| tree::mark(member.pid)).collect();
    for job in jobs {
        for (mark, until) in job.marks.clone() {
            let marked = strangers.iter().zip(&marks);
            let own = marked.filter(|(_, own)| own.as_deref() == Some(mark.as_bytes()));
            let own = own.map(|(member, _)| member);
            // Those of the hook's own group were handed over when it ended.
            let new = own.filter(|member| !job.left.contains(member)).copied();
            let trace = Trace { mark: &mark, until, slip: job.slip() };
            if let Some(remark) = leave(&new.collect::<Vec<_>>(), &trace, world) {
                job.remark(remark);
            }
        }
    }
}

/// Our living children that belong to a hook although nothing shows to which: they left its
/// session, emptied their environment and lost their parents. While only one hook runs here they
/// are that hook's; otherwise they are looked for when the last one has ended.
pub(crate) fn hidden(since: u64) -> Vec<Member> {
    if leaders().len() > 1 { Vec::new() } else { unmarked(&strangers(), since) }
}

/// A hook never shares our session, so what does is a helper of another kind.
fn unmarked(strangers: &[Member], since: u64) -> Vec<Member> {
    let own = tree::session(std::process::id() as i32);
    let is_hooks = |member: &&Member| {
        member.start >= since && tree::session(member.pid) != own && !tree::is_marked(member.pid)
    };
    strangers.iter().filter(is_hooks).copied().collect()
}

/// Ends what no mark shows to be a certain hook's: when the time of the last hook is over.
fn leave_hidden(jobs: &mut [Attempt<'_>], strangers: &[Member], world: &World<'_>) {
    let hidden = unmarked(strangers, world.since);
    if hidden.is_empty() || !leaders().is_empty() {
        return;
    }
    let last = |job: &&mut Attempt<'_>| job.marks.iter().map(|(_, until)| *until).max();
    let Some(job) = jobs.iter_mut().max_by_key(last) else { return };
    let Some((mark, until)) = job.marks.iter().max_by_key(|(_, until)| *until).cloned() else {
        return;
    };
    let members = Snapshot::take().members(&Kin { roots: hidden, ..Kin::default() });
    let trace = Trace { mark: &mark, until, slip: job.slip() };
    if let Some(remark) = leave(&members, &trace, world) {
        job.remark(remark);
    }
}

/// Our living children that nobody here has started; the dead ones are buried.
fn strangers() -> Vec<Member> {
    let _guard = BIRTH.write().unwrap_or_else(PoisonError::into_inner);
    let known = leaders().clone();
    let pids = tree::own_children().into_iter().filter_map(Pid::from_raw);
    let unknown = pids.filter(|pid| !known.contains(pid) && !guard::is_helper(*pid));
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG;
    let living = unknown.filter(|pid| matches!(waitid(WaitId::Pid(*pid), options), Ok(None)));
    let member = |pid: Pid| {
        let pid = pid.as_raw_nonzero().get();
        Some(Member { pid, start: tree::start_time(pid)? })
    };
    living.filter_map(member).collect()
}

fn leaders() -> MutexGuard<'static, Vec<Pid>> {
    LEADERS.lock().unwrap_or_else(PoisonError::into_inner)
}
