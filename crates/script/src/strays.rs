//! Processes that left the group they were started in: a session of their own keeps them from a
//! signal to the group, but not the mark that they have in their environment from whoever started
//! them. One that emptied its environment as well is not found.

use std::fs;
use std::hash::{BuildHasher, RandomState};

use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

/// The variable that a program of a module, and whatever it starts, carries.
pub const VARIABLE: &str = "GAMBREL_PROGRAM";
/// What is started while others are killed is found in a later round; who is faster than all of
/// them is given up.
const ROUNDS: usize = 16;

/// A value for the variable that nobody else has.
pub fn mark() -> String {
    // Keyed anew by the system's randomness for each.
    let half = |word: &str| RandomState::new().hash_one(word);
    format!("{:016x}{:016x}", half("one"), half("two"))
}

/// Kills everything that carries a mark.
pub fn kill(mark: &str) {
    for _ in 0..ROUNDS {
        if kill_round(mark) == 0 {
            return;
        }
    }
}

/// Whether anything carries a mark.
pub fn any(mark: &str) -> bool {
    numbers().any(|number| carries(number, mark))
}

fn kill_round(mark: &str) -> usize {
    numbers().filter(|number| kill_one(*number, mark).is_some()).count()
}

/// All processes.
fn numbers() -> impl Iterator<Item = i32> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}

fn kill_one(number: i32, mark: &str) -> Option<()> {
    let pid = Pid::from_raw(number)?;
    if !carries(number, mark) {
        return None;
    }
    // Held and looked at once more: the number may have become somebody else's.
    let held = pidfd_open(pid, PidfdFlags::empty()).ok()?;
    carries(number, mark).then(|| pidfd_send_signal(held, Signal::KILL).ok()).flatten()
}

/// A process that has ended has no environment any more.
fn carries(number: i32, mark: &str) -> bool {
    let environ = fs::read(format!("/proc/{number}/environ")).unwrap_or_default();
    let ours = |entry: &[u8]| {
        let value = entry.strip_prefix(VARIABLE.as_bytes());
        value.and_then(|value| value.strip_prefix(b"=")) == Some(mark.as_bytes())
    };
    environ.split(|byte| *byte == 0).any(ours)
}
