//! Finds the descendants of a started process in `/proc`, and signals them without hitting another process that
//! got the same number.

use std::cell::RefCell;
use std::collections::HashMap;
use std::fs::{self, File};
use std::io::Read;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use rustix::time::{ClockId, clock_gettime};

use crate::environ::TAG_VAR;
use crate::settings::SWEEP_TIMEOUT;

/// Between two rounds of SIGKILL.
const KILL_INTERVAL: Duration = Duration::from_millis(2);

/// A process id with a start time, which tells it from a later process with the same number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProcessId {
    /// Its number.
    pub pid: i32,
    /// When it started, in the kernel's ticks.
    pub start: u64,
}

/// Identifies a started process and its descendants.
#[derive(Debug, Clone, Default)]
pub struct ProcessSet {
    /// Session and group id; only while the leader has not been reaped.
    pub session: Option<i32>,
    /// Processes known by id.
    pub roots: Vec<ProcessId>,
    /// The value of the tag in their environment.
    pub tag: String,
    /// Whether `tag` is only the beginning of their tags.
    pub prefix: bool,
    /// Processes that started earlier do not belong to the set.
    pub since: u64,
}

/// One line of the process table.
#[derive(Debug, Clone, Copy)]
struct ProcessRow {
    pid: i32,
    parent: i32,
    group: i32,
    session: i32,
    start: u64,
    dead: bool,
}

/// The process table at one moment.
pub struct ProcessTable {
    rows: Vec<ProcessRow>,
    /// Tags already read, by process: a hundred sets may ask for each.
    tags: RefCell<HashMap<i32, Option<Vec<u8>>>>,
}

impl ProcessTable {
    /// Reads the process table.
    pub fn read_proc() -> Self {
        let entries = proc_shows_own_pids().then(|| fs::read_dir("/proc")).into_iter().flatten();
        let entries = entries.flatten();
        let pids = entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
        Self { rows: pids.filter_map(read_row).collect(), tags: RefCell::default() }
    }

    fn belongs_to(&self, row: &ProcessRow, processes: &ProcessSet) -> bool {
        let by_session = processes.session.is_some_and(|id| row.session == id || row.group == id);
        let by_name =
            processes.roots.iter().any(|root| root.pid == row.pid && root.start == row.start);
        let by_tag = !processes.tag.is_empty() && row.start >= processes.since && !row.dead;
        by_session || by_name || (by_tag && self.has_tag(row, processes))
    }

    fn has_tag(&self, row: &ProcessRow, processes: &ProcessSet) -> bool {
        let mut tags = self.tags.borrow_mut();
        let tag = tags.entry(row.pid).or_insert_with(|| read_tag(row.pid));
        let wanted = processes.tag.as_bytes();
        tag.as_deref().is_some_and(|tag| match processes.prefix {
            true => tag.starts_with(wanted),
            false => tag == wanted,
        })
    }

    /// The living processes of a set and their descendants. Never this process.
    pub fn find_members(&self, processes: &ProcessSet) -> Vec<ProcessId> {
        let own = std::process::id() as i32;
        let rows: Vec<&ProcessRow> = self.rows.iter().filter(|row| row.pid != own).collect();
        let mut inside: Vec<bool> =
            rows.iter().map(|row| self.belongs_to(row, processes)).collect();
        loop {
            let parents: Vec<i32> =
                rows.iter().zip(&inside).filter(|(_, yes)| **yes).map(|(row, _)| row.pid).collect();
            let mut changed = false;
            for (row, yes) in rows.iter().zip(&mut inside) {
                if !*yes && parents.contains(&row.parent) {
                    *yes = true;
                    changed = true;
                }
            }
            if !changed {
                break;
            }
        }
        let living = rows.iter().zip(inside).filter(|(row, yes)| *yes && !row.dead);
        living.map(|(row, _)| ProcessId { pid: row.pid, start: row.start }).collect()
    }

    /// The processes that a signal to the group does not reach.
    pub fn outside_group(&self, members: &[ProcessId], group: i32) -> Vec<ProcessId> {
        let inside = |pid| self.rows.iter().any(|row| row.pid == pid && row.group == group);
        members.iter().filter(|member| !inside(member.pid)).copied().collect()
    }
}

/// Now, in the kernel's ticks like start times. Includes the time the machine slept.
pub fn ticks_now() -> u64 {
    // USER_HZ is 100 on every supported architecture.
    const PER_SECOND: u64 = 100;
    let up = clock_gettime(ClockId::Boottime);
    up.tv_sec as u64 * PER_SECOND + up.tv_nsec as u64 * PER_SECOND / 1_000_000_000
}

/// When a process started, in the kernel's ticks; `None` if it is gone.
pub fn start_time(pid: i32) -> Option<u64> {
    read_row(pid).map(|row| row.start)
}

/// Whether this process still runs, and not a later one with its number.
pub fn is_alive(member: ProcessId) -> bool {
    read_row(member.pid).is_some_and(|row| row.start == member.start && !row.dead)
}

/// The session of a process; `None` if it is gone.
pub fn session_id(pid: i32) -> Option<i32> {
    read_row(pid).map(|row| row.session)
}

/// Whether the process that had this number at a time has ended since: the number is unused, or its
/// process started later.
pub fn ended_since(pid: i32, ticks: u64) -> bool {
    read_row(pid).is_none_or(|row| row.dead || row.start > ticks)
}

/// The tag that a process started with.
pub fn read_tag(pid: i32) -> Option<Vec<u8>> {
    let environ = read_whole_file(&format!("/proc/{pid}/environ"))?;
    let mut entries = environ.split(|byte| *byte == 0);
    let value =
        |entry: &[u8]| Some(entry.strip_prefix(TAG_VAR.as_bytes())?.strip_prefix(b"=")?.to_vec());
    entries.find_map(value)
}

/// Reads a file of unknown size with few system calls.
fn read_whole_file(path: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(4_096);
    File::open(path).ok()?.take(u64::MAX).read_to_end(&mut bytes).ok()?;
    Some(bytes)
}

/// The children of this process.
pub fn own_children() -> Vec<i32> {
    let Ok(tasks) = fs::read_dir("/proc/self/task") else { return Vec::new() };
    let lists =
        tasks.filter_map(|task| fs::read_to_string(task.ok()?.path().join("children")).ok());
    lists
        .flat_map(|list| {
            list.split_whitespace().filter_map(|pid| pid.parse().ok()).collect::<Vec<i32>>()
        })
        .collect()
}

/// Signals a whole group. Its leader must not have been reaped.
pub fn signal_group(leader: Pid, signal: Signal) {
    let _ = kill_process_group(leader, signal);
}

/// Signals these processes, and no later ones with their numbers.
pub fn signal_all(members: &[ProcessId], signal: Signal) {
    for member in members {
        if let Some(pid) = Pid::from_raw(member.pid).filter(|_| is_alive(*member)) {
            let _ = kill_process(pid, signal);
        }
    }
}

/// Kills the processes that `find_members` returns until there is none, for at most the sweep
/// timeout, and at least once.
pub(crate) fn kill_until_gone(mut find_members: impl FnMut() -> Vec<ProcessId>) {
    let until = Instant::now() + SWEEP_TIMEOUT;
    loop {
        let members = find_members();
        signal_all(&members, Signal::KILL);
        if members.is_empty() || Instant::now() >= until {
            return;
        }
        std::thread::sleep(KILL_INTERVAL);
    }
}

/// Kills a set of processes.
pub(crate) fn kill_set(set: &ProcessSet) {
    kill_until_gone(|| ProcessTable::read_proc().find_members(set));
}

/// Whether `/proc` shows the process ids of this PID namespace. Inside an isolated hook it shows
/// those of the machine, and a signal would hit another process.
pub fn proc_shows_own_pids() -> bool {
    static SHOWS: OnceLock<bool> = OnceLock::new();
    *SHOWS.get_or_init(|| {
        let own = fs::read_link("/proc/self").ok();
        own.is_some_and(|own| own.to_str() == Some(&std::process::id().to_string()))
    })
}

fn read_row(pid: i32) -> Option<ProcessRow> {
    let stat = proc_shows_own_pids().then(|| read_whole_file(&format!("/proc/{pid}/stat")))??;
    // The name stands in parentheses and may contain any byte: find the last parenthesis.
    let end = stat.iter().rposition(|byte| *byte == b')')?;
    let rest = std::str::from_utf8(stat.get(end + 1..)?).ok()?;
    let mut fields = rest.split_ascii_whitespace();
    let state = fields.next()?;
    let parent = fields.next()?.parse().ok()?;
    let group = fields.next()?.parse().ok()?;
    let session = fields.next()?.parse().ok()?;
    // starttime is field 22; the four above were fields 3 to 6.
    let start = fields.nth(15)?.parse().ok()?;
    Some(ProcessRow { pid, parent, group, session, start, dead: matches!(state, "Z" | "X" | "x") })
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::ExitStatusExt;
    use std::process::Command;

    use super::{ProcessId, SWEEP_TIMEOUT, kill_until_gone, start_time};

    #[test]
    fn kills_a_process_that_a_slow_scan_finds() {
        let mut child = Command::new("sleep").arg("20").spawn().unwrap();
        let pid = i32::try_from(child.id()).unwrap();
        let member = ProcessId { pid, start: start_time(pid).unwrap() };
        kill_until_gone(|| {
            std::thread::sleep(SWEEP_TIMEOUT);
            vec![member]
        });
        assert_eq!(child.wait().unwrap().signal(), Some(9));
    }
}
