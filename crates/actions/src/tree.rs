//! Which processes belong to a hook, as `/proc` tells it, and how they are signalled without ever
//! hitting a stranger that got the same number. It decides nothing about when.

use std::cell::RefCell;
use std::collections::HashMap;
use std::fs::{self, File};
use std::io::Read;
use std::sync::OnceLock;

use rustix::process::{Pid, Signal, kill_process, kill_process_group};

use rustix::time::{ClockId, clock_gettime};

use crate::environ::{MARK, PROGRAM_MARK};

/// A process that is told from a later one with the same number by its start time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Member {
    pub pid: i32,
    pub start: u64,
}

/// By what the processes of one hook are known.
#[derive(Debug, Clone, Default)]
pub(crate) struct Kin {
    /// Session and group number; only while its leader has not been reaped.
    pub session: Option<i32>,
    /// Processes that are known by name.
    pub roots: Vec<Member>,
    /// The value of the mark in their environment.
    pub mark: String,
    /// Whether that is only what their marks begin with.
    pub prefix: bool,
    /// Nothing that started earlier can be one of them.
    pub since: u64,
}

/// One line of the process table.
#[derive(Debug, Clone, Copy)]
struct Row {
    pid: i32,
    parent: i32,
    group: i32,
    session: i32,
    start: u64,
    dead: bool,
}

/// The process table at one moment.
pub(crate) struct Snapshot {
    rows: Vec<Row>,
    /// The marks that were looked at, by process: a hundred hooks ask for each.
    marks: RefCell<HashMap<i32, Option<Vec<u8>>>>,
}

impl Snapshot {
    /// Reads it.
    pub fn take() -> Self {
        let entries = proc_shows_our_numbers().then(|| fs::read_dir("/proc")).into_iter().flatten();
        let entries = entries.flatten();
        let pids = entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
        Self { rows: pids.filter_map(row).collect(), marks: RefCell::default() }
    }

    fn belongs(&self, row: &Row, kin: &Kin) -> bool {
        let by_session = kin.session.is_some_and(|id| row.session == id || row.group == id);
        let by_name = kin.roots.iter().any(|root| root.pid == row.pid && root.start == row.start);
        let by_mark = !kin.mark.is_empty() && row.start >= kin.since && !row.dead;
        by_session || by_name || (by_mark && self.carries(row, kin))
    }

    fn carries(&self, row: &Row, kin: &Kin) -> bool {
        let mut marks = self.marks.borrow_mut();
        let mark = marks.entry(row.pid).or_insert_with(|| mark(row.pid));
        let wanted = kin.mark.as_bytes();
        mark.as_deref().is_some_and(|mark| match kin.prefix {
            true => mark.starts_with(wanted),
            false => mark == wanted,
        })
    }

    /// The living processes of a hook, its leader included. Never ourselves.
    pub fn members(&self, kin: &Kin) -> Vec<Member> {
        let own = std::process::id() as i32;
        let rows: Vec<&Row> = self.rows.iter().filter(|row| row.pid != own).collect();
        let mut inside: Vec<bool> = rows.iter().map(|row| self.belongs(row, kin)).collect();
        loop {
            let parents: Vec<i32> =
                rows.iter().zip(&inside).filter(|(_, yes)| **yes).map(|(row, _)| row.pid).collect();
            let mut grown = false;
            for (row, yes) in rows.iter().zip(&mut inside) {
                if !*yes && parents.contains(&row.parent) {
                    *yes = true;
                    grown = true;
                }
            }
            if !grown {
                break;
            }
        }
        let living = rows.iter().zip(inside).filter(|(row, yes)| *yes && !row.dead);
        living.map(|(row, _)| Member { pid: row.pid, start: row.start }).collect()
    }

    /// Those of them that a signal to the group does not reach.
    pub fn outside(&self, members: &[Member], group: i32) -> Vec<Member> {
        let inside = |pid| self.rows.iter().any(|row| row.pid == pid && row.group == group);
        members.iter().filter(|member| !inside(member.pid)).copied().collect()
    }
}

/// The present in the kernel's ticks, as start times are given. Goes on while the machine sleeps.
pub(crate) fn ticks_now() -> u64 {
    // The unit is the same on every architecture that matters.
    const PER_SECOND: u64 = 100;
    let up = clock_gettime(ClockId::Boottime);
    up.tv_sec as u64 * PER_SECOND + up.tv_nsec as u64 * PER_SECOND / 1_000_000_000
}

/// When a process started, in the kernel's ticks; `None` if it is gone.
pub(crate) fn start_time(pid: i32) -> Option<u64> {
    row(pid).map(|row| row.start)
}

/// Whether this very process still runs.
pub(crate) fn lives(member: Member) -> bool {
    row(member.pid).is_some_and(|row| row.start == member.start && !row.dead)
}

/// The session of a process; `None` if it is gone.
pub(crate) fn session(pid: i32) -> Option<i32> {
    row(pid).map(|row| row.session)
}

/// Whether the process of this number that ran at a time has ended since: the number is nobody's,
/// or that of a process that started later.
pub(crate) fn ended_since(pid: i32, ticks: u64) -> bool {
    row(pid).is_none_or(|row| row.dead || row.start > ticks)
}

/// The mark that a process carries.
pub(crate) fn mark(pid: i32) -> Option<Vec<u8>> {
    variable(pid, MARK)
}

/// Whether it is a hook's by its mark, or a module's program, which has an owner of its own.
pub(crate) fn is_marked(pid: i32) -> bool {
    mark(pid).is_some() || variable(pid, PROGRAM_MARK).is_some()
}

/// The value of a variable that a process started with.
fn variable(pid: i32, name: &str) -> Option<Vec<u8>> {
    let environ = whole(&format!("/proc/{pid}/environ"))?;
    let mut entries = environ.split(|byte| *byte == 0);
    let value =
        |entry: &[u8]| Some(entry.strip_prefix(name.as_bytes())?.strip_prefix(b"=")?.to_vec());
    entries.find_map(value)
}

/// All of a file that does not tell its size, in few reads.
fn whole(path: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(4_096);
    File::open(path).ok()?.take(u64::MAX).read_to_end(&mut bytes).ok()?;
    Some(bytes)
}

/// Our own children, whoever started them.
pub(crate) fn own_children() -> Vec<i32> {
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
pub(crate) fn signal_group(leader: Pid, signal: Signal) {
    let _ = kill_process_group(leader, signal);
}

/// Signals these very processes.
pub(crate) fn signal_all(members: &[Member], signal: Signal) {
    for member in members {
        if let Some(pid) = Pid::from_raw(member.pid).filter(|_| lives(*member)) {
            let _ = kill_process(pid, signal);
        }
    }
}

/// Whether `/proc` has the numbers by which we know processes. Within an isolated hook it has those
/// of the machine, under which we would signal somebody else.
pub(crate) fn proc_shows_our_numbers() -> bool {
    static SHOWS: OnceLock<bool> = OnceLock::new();
    *SHOWS.get_or_init(|| {
        let own = fs::read_link("/proc/self").ok();
        own.is_some_and(|own| own.to_str() == Some(&std::process::id().to_string()))
    })
}

fn row(pid: i32) -> Option<Row> {
    let stat = proc_shows_our_numbers().then(|| whole(&format!("/proc/{pid}/stat")))??;
    // The name stands in parentheses and may contain anything: look for the last one.
    let end = stat.iter().rposition(|byte| *byte == b')')?;
    let rest = std::str::from_utf8(stat.get(end + 1..)?).ok()?;
    let mut fields = rest.split_ascii_whitespace();
    let state = fields.next()?;
    let parent = fields.next()?.parse().ok()?;
    let group = fields.next()?.parse().ok()?;
    let session = fields.next()?.parse().ok()?;
    // starttime is field 22; the four above were fields 3 to 6.
    let start = fields.nth(15)?.parse().ok()?;
    Some(Row { pid, parent, group, session, start, dead: matches!(state, "Z" | "X" | "x") })
}
