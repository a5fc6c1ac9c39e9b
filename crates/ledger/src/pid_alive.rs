//! Checks whether the process that wrote a record still runs. Without `/proc`, it only checks that
//! the pid exists.

use std::path::PathBuf;

use gambrel_model::ledger::{Claim, ProcessOrigin};
use rustix::io::Errno;
use rustix::process::{Pid, test_kill_process};

/// Unit of start times in `/proc`, on every common architecture.
const TICKS_PER_SECOND: u64 = 100;
/// Tolerance: the boot time has whole seconds, and clocks are adjusted.
const SLACK_MS: u64 = 2_000;

/// True while the process that wrote a record at `at` runs.
pub(crate) fn wrote_record(origin: &ProcessOrigin, at: u64) -> bool {
    match origin.start_time {
        0 => is_running(origin.pid, at),
        start => has_start_time(origin.pid, start),
    }
}

/// True while the process of an origin runs.
pub(crate) fn is_alive(origin: &ProcessOrigin) -> bool {
    wrote_record(origin, u64::MAX / 2)
}

/// True while process `pid` runs.
pub(crate) fn is_pid_running(pid: u32) -> bool {
    is_running(pid, u64::MAX / 2)
}

/// True while process `pid` runs. A process that started after `at` reuses the pid and does not
/// count.
fn is_running(pid: u32, at: u64) -> bool {
    let Some(number) = i32::try_from(pid).ok().and_then(Pid::from_raw) else { return false };
    if matches!(test_kill_process(number), Err(Errno::SRCH)) {
        return false;
    }
    match stat_of(pid) {
        Some((b'Z' | b'X', _)) => false,
        Some((_, ticks)) => {
            let began = ticks * 1_000 / TICKS_PER_SECOND;
            boot_ms().is_none_or(|boot| boot + began <= at + SLACK_MS)
        }
        None => true,
    }
}

/// Creates a claim of this process.
pub(crate) fn new_claim(firing: &str) -> Claim {
    let pid = std::process::id();
    let start = stat_of(pid).map_or(0, |(_, ticks)| ticks);
    Claim { firing: firing.to_owned(), pid, start }
}

/// True while the process that made a claim runs.
pub(crate) fn is_held(claim: &Claim) -> bool {
    has_start_time(claim.pid, claim.start)
}

fn has_start_time(pid: u32, start: u64) -> bool {
    match stat_of(pid) {
        Some((state, ticks)) => ticks == start && !matches!(state, b'Z' | b'X'),
        // Without `/proc`, only the pid can be checked.
        None => start == 0 && is_running(pid, u64::MAX / 2),
    }
}

/// The state of a process, and the ticks from boot to its start.
fn stat_of(pid: u32) -> Option<(u8, u64)> {
    let path = PathBuf::from("/proc").join(pid.to_string()).join("stat");
    let text = std::fs::read_to_string(path).ok()?;
    // The name in parentheses may contain spaces and parentheses.
    let (_, after) = text.rsplit_once(')')?;
    let mut fields = after.split_ascii_whitespace();
    let state = *fields.next()?.as_bytes().first()?;
    let ticks: u64 = fields.nth(18)?.parse().ok()?;
    Some((state, ticks))
}

fn boot_ms() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/stat").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("btime "))?;
    Some(line.trim().parse::<u64>().ok()? * 1_000)
}
