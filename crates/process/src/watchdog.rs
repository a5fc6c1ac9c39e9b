//! The watchdog process: it kills running hooks if gambrel dies, and kills the processes that ended
//! hooks left at their deadline. It knows process ids and times, not hooks.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Read};
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

use rustix::process::{Pid, Signal};
use rustix::time::{ClockId, clock_gettime};

use crate::posix_spawn;
use crate::process_table::{self, ProcessId, ProcessSet, ProcessTable};
use crate::running_file;

const KILL_GRACE: Duration = Duration::from_millis(300);
const SWEEP_TIMEOUT: Duration = Duration::from_secs(2);
const POLL_INTERVAL: Duration = Duration::from_millis(10);
/// How often it checks whether leftover processes have ended by themselves.
const LEFTOVER_CHECK_INTERVAL: Duration = Duration::from_secs(1);

/// Entry point of the re-executed program after the word [`crate::WATCHDOG_WORD`]. Reads orders
/// until the pipe ends, and returns when nothing is left to kill. `record` gets a hook's leak
/// record and the number of its killed processes.
pub fn watchdog_main(input: impl Read + Send + 'static, record: &mut dyn FnMut(&str, usize)) {
    // Already a session leader when gambrel started it; by hand it may not be.
    let _ = rustix::process::setsid();
    let _ = rustix::process::chdir("/");
    posix_spawn::ignore_polite_signals();
    let (sender, orders) = channel();
    thread::spawn(move || {
        for line in BufReader::new(input).lines() {
            let Ok(line) = line else { return };
            if sender.send(line).is_err() {
                return;
            }
        }
    });
    Watchdog::default().serve_orders(&orders, record);
}

/// Milliseconds of the monotonic clock, which all processes share.
pub(crate) fn monotonic_ms() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    (now.tv_sec as u64) * 1000 + (now.tv_nsec as u64) / 1_000_000
}

#[derive(Default)]
struct Watchdog {
    /// Hooks that are killed with their owner, by tag.
    watched: HashMap<String, ProcessSet>,
    leftovers: Vec<LeftoverProcess>,
    /// Running-process files to sweep when the owner is gone.
    sweep_files: Vec<PathBuf>,
}

/// Processes that a hook left running.
struct LeftoverProcess {
    /// When they are killed.
    kill_at: u64,
    processes: ProcessSet,
    leak_record: String,
}

impl Watchdog {
    fn serve_orders(&mut self, orders: &Receiver<String>, record: &mut dyn FnMut(&str, usize)) {
        loop {
            let wait = if self.leftovers.is_empty() {
                Duration::from_secs(3600)
            } else {
                self.next_wait()
            };
            match orders.recv_timeout(wait) {
                Ok(line) => {
                    self.apply_order(&line);
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
            self.kill_overdue(record);
        }

        kill_sets(self.watched.drain().map(|(_, processes)| processes).collect());
        self.sweep_files
            .drain(..)
            .for_each(|file| running_file::sweep_dead_entries(&file, kill_sets));
        while !self.leftovers.is_empty() {
            thread::sleep(self.next_wait());
            self.kill_overdue(record);
        }
    }

    fn apply_order(&mut self, line: &str) -> Option<()> {
        let mut words = line.splitn(6, ' ');
        match words.next()? {
            "watch" => {
                let (root, tag) = (parse_process_id(&mut words)?, words.next()?.to_owned());
                let processes = ProcessSet {
                    session: Some(root.pid),
                    roots: vec![root],
                    tag: tag.clone(),
                    since: root.start,
                    prefix: false,
                };
                self.leftovers.retain(|left| left.processes.tag != tag);
                self.watched.insert(tag, processes);
            }
            "expect" => {
                let tag = words.next()?.to_owned();
                self.watched.insert(tag.clone(), ProcessSet { tag, ..ProcessSet::default() });
            }
            "done" => {
                self.watched.remove(words.next()?);
            }
            "sweep" => self.sweep_files.push(running_file::path_from_hex(words.next()?)?),
            "until" => {
                let until = words.next()?.parse().ok()?;
                let (root, tag) = (parse_process_id(&mut words)?, words.next()?.to_owned());
                let leak_record = words.next().unwrap_or_default().to_owned();
                self.add_leftover(LeftoverProcess {
                    kill_at: until,
                    leak_record,
                    processes: ProcessSet { roots: vec![root], tag, ..ProcessSet::default() },
                });
            }
            _ => {}
        }
        Some(())
    }

    /// Adds leftover processes; those of one hook form one entry.
    fn add_leftover(&mut self, new: LeftoverProcess) {
        match self.leftovers.iter_mut().find(|left| left.processes.tag == new.processes.tag) {
            Some(left) => left.processes.roots.extend(new.processes.roots),
            None => self.leftovers.push(new),
        }
    }

    fn next_wait(&self) -> Duration {
        let now = monotonic_ms();
        let next =
            self.leftovers.iter().map(|left| left.kill_at.saturating_sub(now)).min().unwrap_or(0);
        Duration::from_millis(next).min(LEFTOVER_CHECK_INTERVAL)
    }

    /// Kills leftover processes past their deadline and drops those that have ended.
    fn kill_overdue(&mut self, record: &mut dyn FnMut(&str, usize)) {
        let now = monotonic_ms();
        let (over, rest): (Vec<_>, Vec<_>) =
            std::mem::take(&mut self.leftovers).into_iter().partition(|left| left.kill_at <= now);

        let mut table = None;
        let mut count_members = |processes: &ProcessSet| {
            table.get_or_insert_with(ProcessTable::read_proc).find_members(processes).len()
        };
        let found: Vec<usize> = over.iter().map(|left| count_members(&left.processes)).collect();
        let (hooks, leak_records): (Vec<_>, Vec<_>) =
            over.into_iter().map(|left| (left.processes, left.leak_record)).unzip();
        kill_sets(hooks);
        let killed = leak_records
            .iter()
            .zip(found)
            .filter(|(leak_record, count)| !leak_record.is_empty() && *count > 0);
        killed.for_each(|(leak_record, count)| record(leak_record, count));
        self.leftovers = rest;
        self.leftovers.retain(|LeftoverProcess { processes, .. }| {
            processes.roots.iter().any(|root| process_table::is_alive(*root))
                || count_members(processes) > 0
        });
    }
}

fn parse_process_id<'a>(words: &mut impl Iterator<Item = &'a str>) -> Option<ProcessId> {
    Some(ProcessId { pid: words.next()?.parse().ok()?, start: words.next()?.parse().ok()? })
}

/// Sends SIGTERM, waits for the grace, and sends SIGKILL until no process is left.
fn kill_sets(mut hooks: Vec<ProcessSet>) {
    if hooks.is_empty() {
        return;
    }
    for hook in &mut hooks {
        // Without its leader, a session number may belong to another process.
        hook.session =
            hook.session.filter(|_| hook.roots.iter().any(|root| process_table::is_alive(*root)));
    }
    let find_members = |hooks: &[ProcessSet]| -> Vec<ProcessId> {
        let table = ProcessTable::read_proc();
        hooks.iter().flat_map(|hook| table.find_members(hook)).collect()
    };

    let mut members = find_members(&hooks);
    if members.is_empty() && hooks.iter().any(|hook| hook.roots.is_empty()) {
        // A child that has not executed its program yet does not carry its tag.
        thread::sleep(POLL_INTERVAL);
        members = find_members(&hooks);
    }
    process_table::signal_all(&members, Signal::TERM);
    process_table::signal_all(&members, Signal::CONT);
    // A process known now stays known when its parents are gone.
    if let Some(first) = hooks.first_mut() {
        first.roots.extend(members);
    }

    let (started_at, mut waited) = (monotonic_ms(), Duration::ZERO);
    while waited < KILL_GRACE && !find_members(&hooks).is_empty() {
        thread::sleep(POLL_INTERVAL);
        waited = Duration::from_millis(monotonic_ms() - started_at);
    }
    while waited < KILL_GRACE + SWEEP_TIMEOUT {
        let members = find_members(&hooks);
        if members.is_empty() {
            return;
        }
        for leader in hooks.iter().filter_map(|hook| hook.session).filter_map(Pid::from_raw) {
            if members.iter().any(|member| member.pid == leader.as_raw_nonzero().get()) {
                process_table::signal_group(leader, Signal::KILL);
            }
        }
        process_table::signal_all(&members, Signal::KILL);
        thread::sleep(POLL_INTERVAL);
        waited = Duration::from_millis(monotonic_ms() - started_at);
    }
}
